"""`afterturn dev`: one command, everything up, and nothing left behind."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from support.commandline import CommandLine, clean_environment

pytestmark = pytest.mark.timeout(300)
BOAT = (
    '{"tenant":"ada","thread":"t","turn_id":"1","occurred_at":"2026-01-01T00:00:00Z",'
    '"messages":[{"role":"user","content":"The boat is called Nightjar."}]}'
)
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
    assert cli.run("publish", "-", "--wait", stdin=BOAT).returncode == 0
    errors = first.end(signal.SIGINT)
    assert first.process.returncode == 0, errors
    assert "Traceback" not in errors
    assert gone(children)
    second = Dev(tmp_path / "data")
    try:
        asked = CommandLine(clean_environment() | second.environment).run("ask", "ada", "What is the boat called?")
        assert "Nightjar" in asked.stdout
        again = CommandLine(clean_environment() | second.environment).run("publish", "-", "--wait", stdin=BOAT)
        assert again.returncode == 0, "the same turn again is safe"
    finally:
        second.end(signal.SIGTERM)


@pytest.mark.skipif(not Path("/usr/bin/setpriv").exists(), reason="children end with their parent by setpriv")
def test_killed_at_once_it_leaves_no_process_behind(tmp_path: Path) -> None:
    dev = Dev(tmp_path / "data")
    children = dev.children()
    dev.end(signal.SIGKILL)
    assert gone(children)


CHILDREN = ("afterturn.consumers\0recall", "afterturn.consumers\0recorder", "afterturn.consumers.dev.store", "noida-db")


def test_children_that_die_are_started_again_and_the_job_goes_on(tmp_path: Path) -> None:
    dev = Dev(tmp_path / "data")
    try:
        cli = CommandLine(clean_environment() | dev.environment)
        assert cli.run("publish", "-", "--wait", stdin=BOAT).returncode == 0
        for number, child in enumerate(CHILDREN):
            _wait_until_written(tmp_path / "data" / "kafka" / "kafka.json", time.time())
            victim = next(pid for pid in dev.children() if child.encode() in Path(f"/proc/{pid}/cmdline").read_bytes())
            os.kill(victim, signal.SIGKILL)
            assert gone({victim})
            dog = BOAT.replace('"1"', f'"after {number}"').replace(
                "boat is called Nightjar", f"dog {number} is called Fennel"
            )
            published = cli.run("publish", "-", "--wait", "--timeout", "100", stdin=dog)
            assert published.returncode == 0, f"{child}: {published.stderr}"
            deadline = time.monotonic() + 60
            while f"dog {number}" not in cli.run("ask", "ada", f"What is dog {number} called?").stdout:
                assert time.monotonic() < deadline, child
    finally:
        dev.end(signal.SIGINT)


def _wait_until_written(file: Path, since: float) -> None:
    """Killed, the embedded broker loses what came since it last wrote its file, about a second: guarantees.md.

    It writes what has changed: a file that is three seconds old holds all there is.
    """
    deadline = time.monotonic() + 30
    while since - 3 < file.stat().st_mtime <= since and time.time() - file.stat().st_mtime < 3:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_a_second_stack_on_the_same_folder_or_port_says_so(tmp_path: Path) -> None:
    dev = Dev(tmp_path / "data")
    try:
        cli = CommandLine(clean_environment())
        same_folder = cli.run("dev", "--folder", str(tmp_path / "data"), *PORTS)
        assert same_folder.returncode == 1
        assert "Another afterturn runs on" in same_folder.stderr
        taken = dev.environment["AFTERTURN_RECALL_URL"].rpartition(":")[2]
        ports = (*PORTS[:4], "--recall-port", taken, *PORTS[6:])
        same_port = cli.run("dev", "--folder", str(tmp_path / "other"), *ports)
        assert same_port.returncode == 1
        assert "--recall-port 0" in same_port.stderr
    finally:
        dev.end(signal.SIGINT)
