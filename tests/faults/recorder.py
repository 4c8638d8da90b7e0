"""A recorder process that can be killed, stopped for a while, or asked how it ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.dev.child import Child


class Recorder:
    """One `afterturn recorder`, configured by its environment; the same member of its group over its lives."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, stays: bool) -> None:
        self._port = free_port()
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KAFKA_", "QDRANT_", "AFTERTURN_"))}
        own = {"AFTERTURN_RECORDER_PORT": str(self._port)}
        if stays:  # a killed one takes its own place again at once
            own["AFTERTURN_RECORDER_INSTANCE_ID"] = f"recorder-{self._port}"
        command = [sys.executable, "-m", "afterturn.consumers", "recorder"]
        log = folder / f"recorder-{self._port}.log"
        self.child = Child("recorder", command, log, self._listens, clean | own | dict(environment))
        self._process = self.child._process
        self._waits = True
        self.stopped = False

    def start(self, *, wait: bool = True) -> None:
        """Start it, and wait until it answers; where it is to end by itself there is nothing to wait for."""
        self._waits = wait
        self._keep_log()
        self.child.start()
        self._process = self.child._process
        self.stopped = False

    def kill(self) -> None:
        """End it at once."""
        self.child.kill()

    def finish(self, grace: float = 20.0) -> None:
        """Ask it to end (SIGTERM) and wait until it has."""
        if self.child.running():
            self.resume()
            self.child.stop(grace)
            assert self.exit_code == 0, f"the recorder ended with {self.exit_code}:\n{self.tail()}"

    def stop(self) -> None:
        """Let it do nothing until it is resumed (SIGSTOP)."""
        assert self.child.pid is not None
        os.kill(self.child.pid, signal.SIGSTOP)
        self.stopped = True

    def resume(self) -> None:
        """Let it go on."""
        if self.stopped and self.child.pid is not None:
            os.kill(self.child.pid, signal.SIGCONT)
        self.stopped = False

    @property
    def exit_code(self) -> int | None:
        """How its last life ended, None while it runs."""
        return None if self._process is None else self._process.poll()

    def memory(self) -> float:
        """Resident memory in MB; 0 while it is down."""
        if self.child.pid is None or not self.child.running():
            return 0.0
        pages = int(Path(f"/proc/{self.child.pid}/statm").read_text(encoding="ascii").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def tail(self, lines: int = 30) -> str:
        """The end of what it has logged."""
        return "\n".join(self.child.log_text().splitlines()[-lines:])

    def _keep_log(self) -> None:
        """Keep what every life has written, beside the log of the last."""
        with self.child.log.with_suffix(".lives.log").open("a", encoding="utf-8") as lives:
            lives.write(f"{self.child.log_text()}-- started again --\n")

    def _listens(self, _: Child) -> bool:
        if not self._waits:
            return True
        try:
            return httpx.get(f"http://127.0.0.1:{self._port}/health/live", timeout=1).is_success
        except httpx.TransportError:
            return False
