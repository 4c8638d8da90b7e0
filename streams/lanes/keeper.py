"""Keeps one partition's lane alive while the partition is ours: opens it, retries, reopens, and lets stops through."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import Buried, CommitUnknown, Fenced, ForeignWrite, LogCut, Refused, Reopen, Retry, Stop
from afterturn.streams.lanes.caution import BOUNDS, Bounds, Caution
from afterturn.streams.lanes.lane import Lane, Offsets, Opened
from afterturn.streams.lanes.queue import LaneQueue
from afterturn.streams.lanes.seam import LaneObserver
from afterturn.streams.records import Record


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a lane waits, in seconds: after a failed try, after a refusal, and to take back what another fenced.

    ``bounds`` say when a refused record is given up, and ``own_fault`` how long a lane waits once records are refused
    one after another.
    """

    retry: Backoff = Backoff(first=0.1, cap=10.0)  # noqa: RUF009 - frozen
    refused: Backoff = Backoff(first=0.5, cap=10.0)  # noqa: RUF009 - frozen
    reopen: Backoff = Backoff(first=0.1, cap=10.0)  # noqa: RUF009 - frozen
    fenced: float = 10.0
    own_fault: float = 60.0
    bounds: Bounds = BOUNDS


class PositionLost(Reopen):
    """The log was cut beyond where this process was reading: while it stood still, others may have gone on."""

    def __init__(self, error: LogCut) -> None:
        super().__init__(f"Partition {error.partition} is read anew: the log no longer holds offset {error.wanted}.")


class Keeper:
    """One partition's lane, its queue, and the task that runs it.

    Positions change only in the task that polls: ``wanted`` is where it has to seek to before records are taken.
    ``next`` is the offset after the last record that is done with.
    """

    def __init__(
        self,
        partition: int,
        make_lane: Callable[[], Lane],
        offsets: Offsets,
        observer: LaneObserver,
        patience: Patience,
    ) -> None:
        self.partition = partition
        self.queue = LaneQueue()
        self.wanted: int | None = None
        self.taking = False
        self.next: int | None = None
        self._make_lane = make_lane
        self._offsets = offsets
        self._observer = observer
        self._patience = patience
        self._stopping = asyncio.Event()
        self._busy = False
        self._failures = 0
        self._caution = Caution(patience.bounds)
        self._task = asyncio.get_running_loop().create_task(self._keep(), name=f"lane-{partition}")

    def offer(self, records: Sequence[Record]) -> None:
        """Take records that were read; while the lane isn't open they are dropped and read again later."""
        if self.taking:
            self.queue.offer(records)

    def lost(self, error: LogCut) -> None:
        """The log no longer holds what the consumer was to read next: the opening finds out whether that is a gap."""
        if self.taking:
            self.queue.fail(PositionLost(error))

    def sought(self) -> None:
        """The consumer stands at ``wanted``: what comes next is the lane's."""
        self.wanted = None
        self.taking = True

    def raise_failure(self) -> None:
        """Raise what ended the lane, if something did."""
        if self._task.done() and not self._task.cancelled():
            self._task.result()

    async def close(self, deadline: float) -> None:
        """Finish the batch at hand within so many seconds, or drop it; then let the partition go."""
        self.taking = False
        self._stopping.set()
        if self._busy:
            await asyncio.wait({self._task}, timeout=deadline)
        self._task.cancel()
        await asyncio.wait({self._task})
        self._observer.closed(self.partition)
        self.raise_failure()

    async def _keep(self) -> None:
        while not self._stopping.is_set():
            # What is not told apart here is a mistake of ours: to the count of openings a death like any other.
            lane, delay, orderly = self._make_lane(), 0.0, False
            try:
                await self._open(lane)
                await self._run(lane)
                orderly = True
            except Retry as error:
                orderly = True
                delay = self._retrying(error, self._patience.retry)
            except Reopen as error:
                orderly = not isinstance(error, Fenced | ForeignWrite)
                delay = self._reopening(error)
                self._observer.reopened(self.partition, error)
            except (Stop, asyncio.CancelledError):
                orderly = True
                raise
            finally:
                self._halt()
                await lane.close(orderly=orderly)
            await self._pause(delay)

    async def _open(self, lane: Lane) -> None:
        opened = await lane.open(self._offsets)
        self._observer.opened(self.partition, opened.checkpoint, opened.found)
        if opened.why is not None:
            self._observer.moved(self.partition, opened.found or 0, opened.committed, opened.why)
        self._caution.opened(opened.start.opens)
        self._start(opened)

    async def _run(self, lane: Lane) -> None:
        """Batch after batch until the lane is asked to close."""
        while not self._stopping.is_set():
            await self.queue.head(1)
            self._busy = True
            try:
                applied, seconds = await lane.step(self.queue, self._caution.width)
            except Refused as error:
                await self._refused(lane, error)
                continue
            except Retry as error:
                await self._pause(self._retrying(error, self._patience.retry))
                continue
            finally:
                self._busy = False
            self._failures, self.next = 0, applied.next
            self._caution.went_well(applied=applied.endings.get("applied", 0) > 0)
            self._observer.applied(self.partition, applied, seconds)

    async def _refused(self, lane: Lane, error: Refused) -> None:
        """Find the record at fault by trying each alone; give it up only while all is healthy."""
        verdict = self._caution.refused() if await lane.healthy() else "again"
        if verdict == "wait":
            self._observer.waits(self.partition, self._patience.own_fault)
            await self._pause(self._patience.own_fault)
            return
        if verdict == "bury":
            (record,) = await self.queue.head(1)
            await lane.bury(record, "refused", type(error).__name__, self._patience.bounds.attempts)
        await self._pause(self._retrying(error, self._patience.refused))

    def _start(self, opened: Opened) -> None:
        self.queue.clear()
        self.wanted = self.next = opened.position

    def _halt(self) -> None:
        self.taking = False
        self.wanted = None
        self.queue.clear()

    def _retrying(self, error: Retry, backoff: Backoff) -> float:
        self._failures += 1
        delay = backoff.delay(self._failures, random.random())  # noqa: S311 - jitter
        self._observer.retried(self.partition, error, delay)
        return delay

    def _reopening(self, error: Reopen) -> float:
        if isinstance(error, Buried):
            self._caution.buried()
            self._failures = 0
        self._failures += 1
        if isinstance(error, Fenced | CommitUnknown):
            return self._patience.fenced
        return self._patience.reopen.delay(self._failures, random.random())  # noqa: S311 - jitter

    async def _pause(self, seconds: float) -> None:
        if seconds > 0:
            stopping = asyncio.create_task(self._stopping.wait())
            await asyncio.wait({stopping}, timeout=seconds)
            stopping.cancel()
