"""`afterturn dev`: one command, everything up, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import httpx
import pytest
from support.commandline import CommandLine, clean_environment

pytestmark = pytest.mark.timeout(300)
PORTS = ("--kafka-port", "0", "--qdrant-port", "0", "--recall-port", "0", "--recorder-port", "0")


class Dev:
    """A running `afterturn dev`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process = CommandLine(clean_environment()).start("dev", "--folder", str(folder), *PORTS)
        self.environment: dict[str, str] = {}
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if found := re.match(r"\s+([A-Z_]+)=(\S+)", line):
                self.environment[found[1]] = found[2]
            if "logs:" in line:
                break

    def children(self) -> set[int]:
        """The processes it has started."""
        found = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True, check=False)
        return {int(pid) for pid in found.stdout.split()}

    def end(self, number: int) -> str:
        """Send a signal, and wait until it has ended; what it said on stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=60)
        return errors


def gone(pids: set[int], seconds: float = 20.0) -> bool:
    """Whether these processes end within so many seconds."""
    deadline = time.monotonic() + seconds
    while any(_runs(pid) for pid in pids):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def _runs(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def test_ctrl_c_ends_everything_and_data_are_kept(tmp_path: Path) -> None:
    first = Dev(tmp_path / "data")
    children = first.children()
    assert len(children) == 4
    cli = CommandLine(clean_environment() | first.environment)
    turn = (
        '{"tenant":"ada","thread":"t","turn_id":"1","occurred_at":"2026-01-01T00:00:00Z",'
        '"messages":[{"role":"user","content":"The boat is called Nightjar."}]}'
    )
    assert cli.run("publish", "-", "--wait", stdin=turn).returncode == 0
    errors = first.end(signal.SIGINT)
    assert first.process.returncode == 0, errors
    assert "Traceback" not in errors
    assert gone(children)
    second = Dev(tmp_path / "data")
    try:
        asked = CommandLine(clean_environment() | second.environment).run("ask", "ada", "What is the boat called?")
        assert "Nightjar" in asked.stdout
        again = CommandLine(clean_environment() | second.environment).run("publish", "-", "--wait", stdin=turn)
        assert again.returncode == 0, "the same turn again is safe"
    finally:
        second.end(signal.SIGTERM)


@pytest.mark.skipif(not Path("/usr/bin/setpriv").exists(), reason="children end with their parent by setpriv")
def test_killed_at_once_it_leaves_no_process_behind(tmp_path: Path) -> None:
    dev = Dev(tmp_path / "data")
    children = dev.children()
    dev.end(signal.SIGKILL)
    assert gone(children)


def test_a_child_that_dies_is_started_again(tmp_path: Path) -> None:
    dev = Dev(tmp_path / "data")
    try:
        recall = dev.environment["AFTERTURN_RECALL_URL"]
        victim = next(pid for pid in dev.children() if b"recall" in Path(f"/proc/{pid}/cmdline").read_bytes())
        os.kill(victim, signal.SIGKILL)
        assert gone({victim})
        deadline = time.monotonic() + 60
        while not _ready(recall):
            assert time.monotonic() < deadline
            time.sleep(0.1)
    finally:
        dev.end(signal.SIGINT)


def _ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health/ready", timeout=2).is_success
    except httpx.TransportError:
        return False
