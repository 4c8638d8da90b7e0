"""The embedded broker's process: it starts, keeps its data, dies with its parent, and says why it does not start."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from afterturn.consumers.dev import broker as broker_module
from afterturn.consumers.dev.broker import (
    NoEmbeddedBroker,
    embedded_broker_executable,
    free_port,
    start_embedded_broker,
)
from afterturn.consumers.dev.child import Child, ChildFailed


def test_it_starts_stops_and_comes_back(tmp_path: Path) -> None:
    broker = start_embedded_broker(tmp_path, free_port())
    try:
        first = broker.pid
        assert broker.running()
        assert broker.bootstrap == f"127.0.0.1:{broker.port}"
        broker.stop()
        assert not broker.running()
        broker.restart()
        assert broker.running()
        assert broker.pid != first
        broker.kill()
        assert not broker.running()
    finally:
        broker.stop()


def test_a_port_that_is_taken_is_said(tmp_path: Path) -> None:
    broker = start_embedded_broker(tmp_path / "one", free_port())
    try:
        with pytest.raises(NoEmbeddedBroker, match=f"port {broker.port} is in use"):
            start_embedded_broker(tmp_path / "two", broker.port)
    finally:
        broker.stop()


def test_a_platform_without_it_is_told_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broker_module, "find_spec", lambda _: None)
    with pytest.raises(NoEmbeddedBroker, match="KAFKA_BOOTSTRAP_SERVERS"):
        embedded_broker_executable()


def test_a_child_that_ends_at_once_shows_its_log(tmp_path: Path) -> None:
    child = Child(
        "the child", [sys.executable, "-c", "print('no disk'); raise SystemExit(3)"], tmp_path / "log", _never
    )
    with pytest.raises(ChildFailed, match=r"(?s)exit code 3.*no disk"):
        child.start()
    assert not child.running()


def test_a_child_that_is_never_ready_is_ended(tmp_path: Path) -> None:
    child = Child("the child", [sys.executable, "-c", "import time; time.sleep(60)"], tmp_path / "log", _never)
    with pytest.raises(ChildFailed, match=r"not ready after 0\.3 s"):
        child.start(timeout=0.3)
    assert not child.running()


def test_a_child_that_ignores_the_request_to_end_is_killed(tmp_path: Path) -> None:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
    child = Child("the child", [sys.executable, "-c", code], tmp_path / "log", lambda it: "up" in it.log_text())
    child.start()
    child.stop(grace=0.3)
    assert not child.running()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has a parent-death signal")
def test_a_child_dies_with_its_parent(tmp_path: Path) -> None:
    """Also when a short-lived thread started it, and the parent is killed so that it cannot clean up."""
    code = (
        "import sys, threading, time\n"
        "from pathlib import Path\n"
        "from afterturn.consumers.dev.child import Child\n"
        "child = Child('c', [sys.executable, '-c', 'import time; time.sleep(60)'], Path(sys.argv[1]), lambda _: True)\n"
        "thread = threading.Thread(target=child.start); thread.start(); thread.join()\n"
        "time.sleep(0.3); print(child.pid if child.running() else 'dead', flush=True); time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "log")], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    with parent, parent.stdout:
        pid = int(parent.stdout.readline())
        parent.send_signal(signal.SIGKILL)
        parent.wait()
        deadline = time.monotonic() + 5
        while _alive(pid):
            assert time.monotonic() < deadline, "the child outlived its parent"


def _never(_: Child) -> bool:
    return False


def _alive(pid: int) -> bool:
    """Whether it runs; a zombie that nobody has waited for does not."""
    try:
        os.kill(pid, 0)
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (ProcessLookupError, FileNotFoundError):
        return False
