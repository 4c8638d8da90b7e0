"""The embedded store as a process of its own, for tests: started, killed and started again on one folder and url."""

import os
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
from qdrant_client import AsyncQdrantClient

from afterturn.consumers.dev.child import Child
from afterturn.consumers.dev.store import ENVIRONMENT

_MODULE = "afterturn.consumers.dev.store"


class StoreProcess:
    """One store: its data folder and its url stay the same over `kill`, `stop` and `restart`."""

    def __init__(self, data_dir: Path, *options: str) -> None:
        self.data_dir = data_dir
        self._options = options
        self._port = 0
        self._child = self._new_child()

    def _new_child(self) -> Child:
        command = [sys.executable, "-m", _MODULE, "--data-dir", str(self.data_dir), "--port", str(self._port)]
        log = self.data_dir.with_name(f"{self.data_dir.name}.log")
        return Child("the embedded store", [*command, *self._options], log, _is_ready, {**os.environ, **ENVIRONMENT})

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._port}"

    @property
    def pid(self) -> int | None:
        """The process id, None while it is down."""
        return self._child.pid

    @property
    def log(self) -> str:
        """What the process has written since its last start."""
        return self._child.log_text()

    def start(self) -> None:
        """Start it and wait until it answers."""
        if self._port and not self._child.running():
            self._child = self._new_child()
        self._child.start()
        line = next(line for line in self.log.splitlines() if line.startswith("ready "))
        self._port = int(line.rsplit(":", 1)[1])

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self._child.kill()

    def stop(self) -> None:
        """End it in order (SIGTERM)."""
        self._child.stop()

    def restart(self) -> None:
        """Start it again with the same folder and url, after ending it in order if it runs."""
        self.stop()
        self.start()


def _is_ready(child: Child) -> bool:
    return any(line.startswith("ready ") for line in child.log_text().splitlines(keepends=True) if line.endswith("\n"))


@contextmanager
def start_store(data_dir: Path, *options: str) -> Iterator[StoreProcess]:
    """A running store with its data in `data_dir`; it is stopped at the end.

    Its log is beside the folder. `options` go to its command line (``"--log-level", "debug"``).
    """
    store = StoreProcess(data_dir, *options)
    store.start()
    try:
        yield store
    finally:
        store.stop()


@asynccontextmanager
async def connect(url: str, timeout: int = 10) -> AsyncIterator[AsyncQdrantClient]:
    """A client as our services make it: kept connections, and answers that are not compressed."""
    client = AsyncQdrantClient(
        url=url,
        check_compatibility=False,
        limits=httpx.Limits(max_connections=20, keepalive_expiry=3),
        timeout=timeout,
        headers={"accept-encoding": "identity"},
    )
    try:
        yield client
    finally:
        await client.close()
