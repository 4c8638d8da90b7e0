"""What a lane has been given and not yet committed: bounded by records and bytes."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from afterturn.streams.errors import Reopen
from afterturn.streams.records import Record


@dataclass(frozen=True, slots=True)
class QueueLimits:
    """When a partition is paused (any limit reached), and resumed (below half of all)."""

    records: int = 1_000
    bytes: int = 8 * 2**20


class LaneQueue:
    """Records of one partition in offset order."""

    def __init__(self, limits: QueueLimits = QueueLimits()) -> None:
        self._limits = limits
        self._records: deque[Record] = deque()
        self._bytes = 0
        self._filled = asyncio.Event()
        self._failure: Reopen | None = None

    def __len__(self) -> int:
        return len(self._records)

    @property
    def full(self) -> bool:
        """Whether its partition should be paused."""
        return len(self._records) >= self._limits.records or self._bytes >= self._limits.bytes

    @property
    def low(self) -> bool:
        """Whether a paused partition should be resumed."""
        return len(self._records) * 2 < self._limits.records and self._bytes * 2 < self._limits.bytes

    def offer(self, records: Sequence[Record]) -> None:
        """Add records at the end."""
        self._records.extend(records)
        self._bytes += sum(map(_size, records))
        if self._records:
            self._filled.set()

    async def head(self, count: int, wait: float = 0.0) -> list[Record]:
        """The first records, at most ``count``, once there is one, and ``wait`` seconds later; they stay.

        They are let go of by ``drop_below``.

        Raises:
            Reopen: nothing more comes, as ``fail`` has said.
        """
        await self._filled.wait()
        if self._failure is not None:
            raise self._failure
        if wait and len(self._records) < count:
            await asyncio.sleep(wait)
        return list(islice(self._records, count))

    def fail(self, error: Reopen) -> None:
        """Nothing more comes: whoever waits, or looks next, is told why."""
        self._failure = error
        self._filled.set()

    def drop_below(self, offset: int) -> None:
        """Let go of all records below an offset."""
        while self._records and self._records[0].offset < offset:
            self._bytes -= _size(self._records.popleft())
        if not self._records and self._failure is None:
            self._filled.clear()

    def clear(self) -> None:
        """Let go of everything, and begin anew."""
        self._records.clear()
        self._failure = None
        self._bytes = 0
        self._filled.clear()


def _size(record: Record) -> int:
    return len(record.value or b"") + len(record.key or b"") + 100
