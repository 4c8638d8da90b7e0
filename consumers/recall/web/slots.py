"""How many requests are worked on at a time: a bounded number, and a bounded queue before it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.streams.errors import Retry

_RETRY_AFTER_S = 1


class Busy(Retry):
    """As many wait already as may: nothing was done."""

    def __init__(self, text: str = "too many requests wait already; sending it again is safe") -> None:
        super().__init__(text)
        self.retry_after = _RETRY_AFTER_S


class Slots:
    """``most`` are let in at a time, ``waiting`` stand in line; who comes then is refused at once."""

    def __init__(self, most: int, waiting: int, metrics: RecallMetrics) -> None:
        self._free = asyncio.Semaphore(most)
        self._most_waiting = waiting
        self._waiting = 0
        self._metrics = metrics

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        """Hold a place while the block runs.

        Raises:
            Busy: the line is full.
        """
        if self._free.locked() and self._waiting >= self._most_waiting:
            self._metrics.busy.inc()
            raise Busy
        self._waiting += 1
        try:
            await self._free.acquire()
        finally:
            self._waiting -= 1
        self._metrics.in_flight.inc()
        try:
            yield
        finally:
            self._metrics.in_flight.dec()
            self._free.release()
