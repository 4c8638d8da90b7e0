"""Turns that wait in a file: bounded, in order, and there after the process has died."""

from __future__ import annotations

import os
import signal
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.agent.spool import Spool
from afterturn.streams.errors import BadSettings, Retry


def opened(path: Path, entries: int = 100, size: int = 10_000) -> Spool:
    return Spool(path, entries=entries, size=size)


BODIES = st.lists(st.tuples(st.sampled_from("abc"), st.binary(max_size=50)), max_size=30)


@given(BODIES, st.integers(1, 20), st.integers(1_000, 2_000))
def test_it_keeps_what_fits_in_order_and_says_what_does_not(
    tmp_path_factory: pytest.TempPathFactory, bodies: list[tuple[str, bytes]], entries: int, size: int
) -> None:
    spool = opened(tmp_path_factory.mktemp("spool") / "s.db", entries, size)
    kept = [each for each in bodies if spool.add(*each)]
    assert len(kept) == min(len(bodies), entries), "these are too few bytes to matter"
    assert [(each.tenant, each.body) for each in spool.oldest(100)] == kept
    assert [each.tenant for each in spool.oldest(100, ["a", "b"])] == [tenant for tenant, _ in kept if tenant == "c"]
    for tenant in "abc":
        assert spool.holds(tenant) == any(each == tenant for each, _ in kept)
    for each in spool.oldest(100):
        spool.remove(each.seq)
    assert len(spool) == 0
    spool.close()


def test_its_bytes_are_bounded(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s.db", size=1_000)
    assert spool.add("a", b"x" * 600)
    assert not spool.add("a", b"x" * 401)
    assert spool.add("a", b"x" * 400)


def test_what_waits_survives_a_kill(tmp_path: Path) -> None:
    script = (
        "import sys, os, signal; from pathlib import Path\n"
        "from afterturn.streams.agent.spool import Spool\n"
        "spool = Spool(Path(sys.argv[1]), entries=9, size=9999)\n"
        "spool.add('a', b'1'); spool.add('b', b'2'); os.kill(os.getpid(), signal.SIGKILL)"
    )
    path = tmp_path / "deep" / "s.db"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [each.body for each in opened(path).oldest(9)] == [b"1", b"2"]


def test_two_processes_may_share_it(tmp_path: Path) -> None:
    one, other = opened(tmp_path / "s.db", entries=2), opened(tmp_path / "s.db", entries=2)
    assert one.add("a", b"1")
    assert other.add("a", b"2")
    assert not one.add("a", b"3"), "the bound is the file's"
    other.remove(one.oldest(1)[0].seq)
    assert [each.body for each in one.oldest(9)] == [b"2"]


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    opened(path).add("a", b"secret")
    for file in tmp_path.iterdir():
        assert stat.S_IMODE(file.stat().st_mode) == 0o600, file


@pytest.mark.parametrize("content", [b"no database at all, but long enough to be read as one" * 20, None])
def test_what_is_no_spool_is_refused(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "s.db"
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    with pytest.raises(BadSettings, match="AFTERTURN_AGENT_SPOOL"):
        opened(path)


def test_a_later_versions_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with sqlite3.connect(path) as db:
        db.execute("pragma user_version = 7")
    db.close()
    with pytest.raises(BadSettings, match="another version"):
        opened(path)


@pytest.mark.parametrize("version", [0, 1])
@pytest.mark.parametrize("table", ["create table users (id)", "create table turns (id, said)"])
def test_another_programs_database_is_left_alone(tmp_path: Path, version: int, table: str) -> None:
    path = tmp_path / "s.db"
    with closing(sqlite3.connect(path)) as db:
        db.execute(table)
        db.execute(f"pragma user_version = {version}")
    before = path.read_bytes()
    with pytest.raises(BadSettings, match="another program"):
        opened(path)
    assert path.read_bytes() == before


def test_a_full_disk_is_a_retry_and_loses_nothing_that_was_kept(tmp_path: Path) -> None:
    """What was sent meanwhile waits no more, though the file can't forget it yet: no later turn waits behind it."""
    script = (
        "import resource, signal, sys; from pathlib import Path\n"
        "from afterturn.streams.agent.spool import Spool\n"
        "from afterturn.streams.errors import Retry\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "spool = Spool(Path(sys.argv[1]), entries=999, size=10**8)\n"
        "most = resource.getrlimit(resource.RLIMIT_FSIZE)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, most[1]))\n"
        "kept = refused = 0\n"
        "while refused < 3:\n"
        "    try: kept += spool.add('a', b'x' * 5000)\n"
        "    except Retry: refused += 1\n"
        "for each in spool.oldest(3): spool.remove(each.seq)\n"
        "assert [each.seq for each in spool.oldest(1)] == [4]\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, most)\n"
        "spool.add('a', b'last'); spool.remove(4); print(kept - 4)"
    )
    path = tmp_path / "s.db"
    done = subprocess.run([sys.executable, "-c", script, str(path)], check=True, capture_output=True, text=True)
    waiting = [each.body for each in opened(path).oldest(999)]
    assert waiting == [b"x" * 5_000] * int(done.stdout) + [b"last"]
    assert int(done.stdout) > 0


def test_a_file_that_is_away_later_is_a_retry(tmp_path: Path) -> None:
    spool = opened(tmp_path / "s.db")
    spool.close()
    with pytest.raises(Retry):
        spool.add("a", b"1")
    assert os.fspath(tmp_path)
