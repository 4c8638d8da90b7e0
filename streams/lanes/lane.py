"""A lane: the serial writer of one partition of the turn log, with its transactional producer and its checkpoint."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import dataclass, replace
from time import monotonic, time
from typing import Protocol

from afterturn.streams.errors import Buried, LogCut, Retry, Stop
from afterturn.streams.kafka import TransactionalProducer
from afterturn.streams.lanes.caution import DEATHS, SUSPECT_OPENINGS
from afterturn.streams.lanes.pulse import Pulse
from afterturn.streams.lanes.queue import LaneQueue
from afterturn.streams.lanes.seam import Applied, Start, Writer
from afterturn.streams.lanes.turnstile import Turnstile
from afterturn.streams.records import OutRecord, Record

ACCEPT_GAP = "afterturn recorder --accept-gap"
LEAVING_S = 3.0
"""Seconds for what a closing lane has still to say to the store."""


class Offsets(Protocol):
    """What of the group's consumer an opening lane asks."""

    async def committed(self, partition: int) -> int | None:
        """The group's committed next offset."""
        ...

    async def beginning_offsets(self, partitions: list[int]) -> dict[int, int]:
        """The first offset the log still holds."""
        ...

    async def end_offsets(self, partitions: list[int]) -> dict[int, int]:
        """The offset after the last readable record."""
        ...

    async def record_at(self, partition: int, offset: int) -> Record | None:
        """The record at an offset; None where there is none."""
        ...

    async def buried(self, partition: int, offsets: range, since_ms: int | None) -> frozenset[int]:
        """Those of these offsets whose records are dead letters, appended after a time."""
        ...


@dataclass(frozen=True, slots=True)
class Home:
    """Whose partition a lane writes: the group, the topic, the partition; and what an operator allows it.

    Attributes:
        look_every: seconds between two looks at where the log begins.
        wait: seconds a batch waits for more records.
        accept_gap: go on where the log begins, though records before it were never folded in.
        rebuild: fold a log that others have announced into an empty store, and announce nothing of it.
    """

    group: str
    topic: str
    partition: int
    look_every: float = 60.0
    wait: float = 0.0
    accept_gap: bool = False
    rebuild: bool = False

    @property
    def transactional_id(self) -> str:
        """The id that fences this partition's earlier owner."""
        return f"{self.group}-{self.topic}-{self.partition}"


class Condemned(Retry):
    """A record is about to be given up, once no earlier owner of its partition can be writing it any more."""

    def __init__(self, partition: int, offset: int, wait: float) -> None:
        super().__init__(
            f"The record at offset {offset} of partition {partition} ended the process {DEATHS} times; it becomes a "
            f"dead letter in {wait:.0f} s.",
            dependency="record",
        )


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a lane starts: ``committed`` is what it made of what it found, ``found``.

    ``start`` is what the checkpoint said; ``why`` the committed offset was moved, where it was.
    """

    position: int
    checkpoint: int
    committed: int
    found: int | None
    start: Start
    why: str | None = None


class Lane:
    """Opens, then applies batch after batch: steps 1 to 5 are its writer's, step 6 its own.

    While a suspect lane works, the ``turnstile`` keeps all others of the process from it: a death is then that lane's.
    """

    def __init__(
        self, home: Home, writer: Writer, producer: TransactionalProducer, pulse: Pulse, turnstile: Turnstile
    ) -> None:
        self._home = home
        self._writer = writer
        self._producer = producer
        self._pulse = pulse
        self._turnstile = turnstile
        self._gaps = pulse.gaps
        self._start = Start(0)
        self._committed = 0
        self._progressed = True
        self._offsets: Offsets | None = None
        self._look_at = 0.0
        self._opened_at = 0.0

    async def open(self, offsets: Offsets) -> Opened:
        """Take the partition over; where to read from.

        Raises:
            Retry: Kafka or the store is away.
            Reopen: another owner was quicker.
            Stop: log and store do not belong together.
        """
        self._gaps = self._pulse.gaps
        partition = self._home.partition
        # (1) start the producer: it fences the old owner.
        await self._producer.start()
        # (2) read the checkpoint once every earlier write has landed whole, then the committed offset anew;
        # (3) the writer checks that the store is this log's.
        self._start = start = await self._writer.open()
        self._progressed = False
        found = await offsets.committed(partition)
        first = (await offsets.beginning_offsets([partition]))[partition]
        last = (await offsets.end_offsets([partition]))[partition]
        checkpoint, committed, why = await self._reconciled(start, found, first, last)
        if checkpoint > first and (before := await offsets.record_at(partition, checkpoint - 1)) is not None:
            self._writer.recognise(before)
        # (4) behind the committed offset the store heals, over what was decided at run time.
        if checkpoint < committed:
            self._writer.heed(await offsets.buried(partition, range(checkpoint, committed), start.time_ms))
        # (5) read from whichever is earlier.
        self._committed, self._offsets, self._opened_at = committed, offsets, monotonic()
        return Opened(min(committed, checkpoint), checkpoint, committed, found, start, why)

    async def step(self, queue: LaneQueue, most: int) -> tuple[Applied, float]:
        """Apply and commit the next batch of at most so many records; what became of it, and the seconds it took.

        Raises:
            Retry: a dependency is away; nothing is committed, call it again.
            Reopen, Stop: as the writer and the producer say.
        """
        records = await queue.head(most, self._home.wait)
        started = monotonic()
        # 1 decode, 2 read, 3 plan, 4 embed, 5 write.
        if self._suspects(records[0]):
            applied = await self._apply_alone(records[0])
        else:
            async with self._turnstile.beside():
                applied = await self._writer.apply(records, self._still_ours)
        self._progressed = self._progressed or applied.next > self._start.next
        # 6. commit: outcome events, dead letters and the offset in one transaction.
        began = monotonic()
        await self._commit(applied, await self._collection(applied))
        ended = monotonic()
        queue.drop_below(applied.next)
        return replace(applied, phases={**applied.phases, "commit": ended - began}), ended - started

    async def healthy(self) -> bool:
        """Whether the store takes a small write: what it refuses is then refused for what it is."""
        try:
            await self._writer.count(*((0, 0) if self._progressed else (self._start.opens, self._start.begun)))
        except Retry:
            return False
        return True

    async def bury(self, record: Record, reason: str, detail_type: str, attempts: int) -> None:
        """Make a record a dead letter, committed in Kafka before anything is in the store.

        Returns where it can't be given up: it was announced before, a part of it has landed, or an earlier owner may
        still be writing it, who is a zombie for up to the zombie bound, and whose write travels as long.

        Raises:
            Buried: it is one now: open anew, and heal over it.
            Retry, Reopen: as the writer and the producer say.
        """
        if record.offset < self._committed or self._until_alone > 0:
            return
        outgoing = await self._writer.bury(record, reason, detail_type, attempts)
        if outgoing:
            self._still_ours()
            await self._publish(list(outgoing), record.offset + 1)
            raise Buried(self._home.partition, record.offset, reason)

    async def close(self, *, orderly: bool = True) -> None:
        """Abort what is open and let go of the producer.

        An ``orderly`` end says in the checkpoint how far all is told, and takes an opening without progress back.
        """
        try:
            if orderly and self._offsets is not None:
                with suppress(Retry, TimeoutError):  # a death says neither: both cost little
                    async with asyncio.timeout(LEAVING_S):
                        await self._leave()
        finally:
            await self._producer.close()

    async def _leave(self) -> None:
        if not self._progressed:
            await self._writer.count(max(0, self._start.opens - 1), self._start.begun)
        if self._committed > self._start.told:
            await self._writer.told(self._committed)

    @property
    def _until_alone(self) -> float:
        """Seconds until no earlier owner of the partition can write any more."""
        return self._opened_at + 2 * self._pulse.bound - monotonic()

    async def _reconciled(self, start: Start, found: int | None, first: int, last: int) -> tuple[int, int, str | None]:
        """The checkpoint and the committed offset as this lane goes on from them, and why the latter was moved."""
        checkpoint, committed, why = start.next, start.next if found is None else found, None
        if found is None and checkpoint == 0 and self._home.rebuild:
            committed, why = last, "the store is made anew from a log whose outcomes are told already"
        if committed < start.told:
            committed, why = start.told, "it was set back, and what lies between was told before"
        if first > min(checkpoint, committed):
            if not self._home.accept_gap:
                raise LogCut(self._home.topic, self._home.partition, min(checkpoint, committed), ACCEPT_GAP)
            committed, why = max(first, committed), f"the log begins at {first}, and the gap before it is accepted"
        if last < max(committed, checkpoint):
            raise Stop(
                f"Partition {self._home.partition} of {self._home.topic} ends at {last}, before the checkpoint "
                f"{checkpoint} or the committed offset {committed}: the topic was made anew, or this is another log.",
                command_that_helps="afterturn doctor",
            )
        if found != committed:
            # Also where there was none: from here on a missing one means a new group, not a crash before a commit.
            await self._producer.commit([], {(self._home.topic, self._home.partition): committed}, self._home.group)
        if checkpoint < first:
            await self._writer.skip(first)
            checkpoint = first
        return checkpoint, committed, why

    def _suspects(self, record: Record) -> bool:
        """Whether this record may be what ends the process each time."""
        opened = self._start.opens >= SUSPECT_OPENINGS and not self._progressed
        return opened and record.offset >= max(self._start.next, self._committed)

    async def _apply_alone(self, record: Record) -> Applied:
        async with self._turnstile.alone():
            if self._start.begun >= DEATHS:
                if (wait := self._until_alone) > 0:
                    raise Condemned(self._home.partition, record.offset, wait)
                await self.bury(record, "crash", "Crash", self._start.begun)
            await self._writer.count(self._start.opens, self._start.begun + 1)
            return await self._writer.apply([record], self._still_ours)

    async def _collection(self, applied: Applied) -> list[OutRecord]:
        """A collection of this partition, where one is due; asked for now and then only, and never while healing."""
        if self._offsets is None or monotonic() < self._look_at or applied.next <= self._committed:
            return []
        self._look_at = monotonic() + self._home.look_every
        start = (await self._offsets.beginning_offsets([self._home.partition]))[self._home.partition]
        wanted = self._writer.collect(start, int(time() * 1_000))
        return [] if wanted is None else [wanted]

    async def _commit(self, applied: Applied, more: list[OutRecord]) -> None:
        """Below the committed offset nothing is published and nothing committed: that part only heals the store."""
        outgoing = [record for offset, record in applied.outgoing if offset >= self._committed] + more
        if applied.next > self._committed:
            await self._publish(outgoing, applied.next)

    async def _publish(self, outgoing: list[OutRecord], following: int) -> None:
        await self._producer.commit(outgoing, {(self._home.topic, self._home.partition): following}, self._home.group)
        self._committed = following

    def _still_ours(self) -> None:
        self._pulse.check(self._home.partition, self._gaps)
