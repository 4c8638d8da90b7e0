"""A child process with a log file: it ends with its parent, and says why it did not start."""

import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

__all__ = ("Child", "ChildFailed")

# Linux ties the parent-death signal to the thread that forked. One thread that lives as long as the
# process starts every child, so that a caller's short-lived worker thread cannot take a child with it.
_spawner = ThreadPoolExecutor(max_workers=1, thread_name_prefix="afterturn-spawn")


class ChildFailed(RuntimeError):  # noqa: N818 - what happened, not another Error
    """A child process ended, or did not become ready in time; the end of its log is in the text."""

    def __init__(self, name: str, what: str, log: Path) -> None:
        super().__init__(f"{name} {what}. The end of its log ({log}):\n{_tail(log)}")
        self.name = name
        self.log = log


class Child:
    """One child process that can be killed and started again with the same command.

    Every start begins a log anew, so that `ready` never reads what an earlier life wrote, and keeps the last one.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        log: Path,
        ready: Callable[["Child"], bool],
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.command = tuple(command)
        self.log = log
        self._ready = ready
        self._environment = None if environment is None else dict(environment)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def earlier_log(self) -> Path:
        """What its last life has written."""
        return self.log.with_name(f"{self.log.name}.1")

    def last_words(self) -> str:
        """The last error it has said on its way out, or nothing."""
        said = [line for line in self.log_text().splitlines() if line.startswith("error: ")]
        return said[-1].removeprefix("error: ") if said else ""

    @property
    def pid(self) -> int | None:
        """The process id, None when it has not been started or was stopped."""
        return self._process.pid if self._process else None

    def running(self) -> bool:
        """Whether the process is there; a stopped (SIGSTOP) process is."""
        return self._process is not None and self._process.poll() is None

    def start(self, timeout: float = 60.0) -> None:
        """Start it and wait up to `timeout` seconds until it is ready.

        Raises:
            ChildFailed: when it ends or is not ready in time (it is killed then).
        """
        if self.running():
            return
        self.log.parent.mkdir(parents=True, exist_ok=True)
        if self.log.exists():
            self.log.replace(self.earlier_log)  # it says why this process's last life ended
        self._process = process = _spawner.submit(_spawn, self.command, self.log, self._environment).result()
        deadline = time.monotonic() + timeout
        # What answers where it should may be another process: only a child that runs can be ready.
        while not (self._ready(self) and process.poll() is None):
            if (code := process.poll()) is not None:
                self._process = None
                raise ChildFailed(self.name, f"ended with exit code {code} before it was ready", self.log)
            if time.monotonic() > deadline:
                self.kill()
                raise ChildFailed(self.name, f"was not ready after {timeout:g} s", self.log)
            time.sleep(0.02)

    def stop(self, grace: float = 10.0) -> None:
        """Ask it to end, and kill it when it has not after `grace` seconds."""
        if self._process is None:
            return
        self._process.terminate()
        try:
            self._process.wait(grace)
        except subprocess.TimeoutExpired:
            self.kill()
        self._process = None

    def kill(self) -> None:
        """End it at once (SIGKILL); nothing is flushed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def log_text(self) -> str:
        """What this life of the process has written so far."""
        return self.log.read_text(encoding="utf-8", errors="replace") if self.log.exists() else ""


def _spawn(command: tuple[str, ...], log: Path, environment: dict[str, str] | None) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        # A session of its own: Ctrl-C reaches the parent only, which ends its children in order.
        return subprocess.Popen(
            [*_dies_with_parent(), *command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env=environment,
        )


def _dies_with_parent() -> tuple[str, ...]:
    setpriv = shutil.which("setpriv") if sys.platform == "linux" else None
    return (setpriv, "--pdeathsig", "KILL") if setpriv else ()


def _tail(log: Path, characters: int = 2000) -> str:
    if not log.exists():
        return "(empty)"
    return log.read_text(encoding="utf-8", errors="replace")[-characters:] or "(empty)"
