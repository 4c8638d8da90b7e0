"""Turns that can't be sent yet, in a file: they survive the process and are sent later, oldest first."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from afterturn.streams.errors import BadSettings, Retry

__all__ = ("Spool", "Spooled")

_VERSION = 1
_BUSY_S = 5.0
_TABLE = """
create table if not exists turns (
    seq integer primary key autoincrement, tenant text not null, body blob not null, at real not null)
"""
_WAITING = "select seq, tenant, body from turns where seq not in (select seq from gone)"
_COLUMNS = ("seq", "tenant", "body", "at")
_OURS = frozenset({"turns", "by_tenant"})


@dataclass(frozen=True, slots=True)
class Spooled:
    """A turn that waits: where it stands in the file, whose it is, its body as it will be sent."""

    seq: int
    tenant: str
    body: bytes


class Spool:
    """A bounded queue of turns in an SQLite file, which holds what was said: only its owner may read it.

    Several processes may share one; then a turn may be sent twice, which is recorded once. Its calls block for as long
    as a small write to the disk takes, and raise ``Retry`` where the file can't be read or written now.

    Raises:
        BadSettings: the file can't be made or opened, or is another program's.
    """

    def __init__(self, path: Path, *, entries: int, size: int) -> None:
        self._path = path
        self._entries = entries
        self._size = size
        self._lock = Lock()
        with self._opening():
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            self._db = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            self._prepare()

    def close(self) -> None:
        """Close the file; what waits stays in it."""
        with self._lock:
            self._db.close()

    def add(self, tenant: str, body: bytes) -> bool:
        """Keep a turn; False where the spool is full, and the turn is not in it."""
        with self._naming(), self._lock, self._writing():
            count, size = self._measured()
            if count >= self._entries or size + len(body) > self._size:
                return False
            self._db.execute("insert into turns (tenant, body, at) values (?, ?, ?)", (tenant, body, time.time()))
            return True

    def oldest(self, count: int, besides: Collection[str] = ()) -> list[Spooled]:
        """The turns that have waited longest, those of some tenants left out."""
        marks = ", ".join("?" * len(besides))
        chosen = f"{_WAITING} and tenant not in ({marks}) order by seq limit ?"
        with self._naming(), self._lock:
            rows = self._db.execute(chosen, (*besides, count)).fetchall()
        return [Spooled(*row) for row in rows]

    def remove(self, seq: int) -> None:
        """Forget a turn: it was sent. Where the disk is full this process forgets it alone, until there is room."""
        with self._naming(), self._lock:
            self._db.execute("insert into gone values (?)", (seq,))
            with suppress(sqlite3.OperationalError):
                self._db.execute("delete from turns where seq in (select seq from gone)")
                self._db.execute("delete from gone")

    def holds(self, tenant: str) -> bool:
        """Whether a tenant's turns wait."""
        with self._naming(), self._lock:
            return self._db.execute(f"{_WAITING} and tenant = ? limit 1", (tenant,)).fetchone() is not None

    def __len__(self) -> int:
        """How many turns wait."""
        with self._naming(), self._lock:
            return self._measured()[0]

    def _measured(self) -> tuple[int, int]:
        with closing(self._db.execute("select count(*), coalesce(sum(length(body)), 0) from turns")) as found:
            count, size = found.fetchone()
        return int(count), int(size)

    def _prepare(self) -> None:
        with self._writing():
            self._require_own()
            self._db.execute(_TABLE)
            self._db.execute("create index if not exists by_tenant on turns (tenant)")
            self._db.execute(f"pragma user_version = {_VERSION}")
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.execute("pragma temp_store = memory")
        self._db.execute("create temp table gone (seq integer primary key)")

    def _require_own(self) -> None:
        """Leave a file alone that is another version's, or another program's."""
        (version,) = self._db.execute("pragma user_version").fetchone()
        if version not in (0, _VERSION):
            raise BadSettings("AFTERTURN_AGENT_SPOOL", f"{self._path} was written by another version ({version})")
        there = {name for (name,) in self._db.execute("select name from sqlite_master where name not like 'sqlite_%'")}
        columns = tuple(row[1] for row in self._db.execute("pragma table_info(turns)"))
        if there - _OURS or columns not in ((), _COLUMNS):
            raise BadSettings("AFTERTURN_AGENT_SPOOL", f"{self._path} is another program's database")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """One transaction: how much there is and what is added are seen together, whoever else adds."""
        self._db.execute("begin immediate")
        try:
            yield
            self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:  # a full disk may have ended it already
                self._db.execute("rollback")
            raise

    @contextmanager
    def _opening(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as error:
            named = error.strerror if isinstance(error, OSError) else None
            why = f"{self._path} can't be used as a spool ({named or type(error).__name__})"
            raise BadSettings("AFTERTURN_AGENT_SPOOL", why) from error

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise Retry(f"The spool can't be used now ({type(error).__name__}).", dependency="spool") from error
