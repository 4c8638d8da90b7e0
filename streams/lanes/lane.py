"""A lane: the serial writer of one partition of the turn log, with its transactional producer and its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from time import monotonic, time
from typing import Protocol

from afterturn.streams.errors import LogCut, Stop
from afterturn.streams.kafka import TransactionalProducer
from afterturn.streams.lanes.pulse import Pulse
from afterturn.streams.lanes.queue import LaneQueue
from afterturn.streams.lanes.seam import Applied, Writer
from afterturn.streams.records import OutRecord, Record

MAX_HEAD = 1_000
"""Records a writer is shown at once; it takes as many as one write holds."""


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


@dataclass(frozen=True, slots=True)
class Home:
    """Whose partition a lane writes: the group, the topic, the partition.

    ``look_every``: seconds between two looks at where the log begins.
    """

    group: str
    topic: str
    partition: int
    look_every: float = 60.0

    @property
    def transactional_id(self) -> str:
        """The id that fences this partition's earlier owner."""
        return f"{self.group}-{self.topic}-{self.partition}"


@dataclass(frozen=True, slots=True)
class Opened:
    """Where a lane starts: ``committed`` is what it found, or made where there was none."""

    position: int
    checkpoint: int
    committed: int
    found: int | None


class Lane:
    """Opens, then applies batch after batch: steps 1 to 5 are its writer's, step 6 its own."""

    def __init__(self, home: Home, writer: Writer, producer: TransactionalProducer, pulse: Pulse) -> None:
        self._home = home
        self._writer = writer
        self._producer = producer
        self._pulse = pulse
        self._gaps = pulse.gaps
        self._committed = 0
        self._offsets: Offsets | None = None
        self._look_at = 0.0

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
        checkpoint = await self._writer.open()
        found = await offsets.committed(partition)
        if found is None:
            # From here on a missing committed offset means a new group, not a crash before the first commit.
            await self._producer.commit([], {(self._home.topic, partition): checkpoint}, self._home.group)
        committed = checkpoint if found is None else found
        # (4) behind the committed offset the store heals; (5) read from whichever is earlier.
        position = min(committed, checkpoint)
        first = (await offsets.beginning_offsets([partition]))[partition]
        if first > position:
            raise LogCut(self._home.topic, partition, position)
        last = (await offsets.end_offsets([partition]))[partition]
        if last < max(committed, checkpoint):
            raise Stop(
                f"Partition {partition} of {self._home.topic} ends at {last}, before the checkpoint {checkpoint} or "
                f"the committed offset {committed}: the topic was made anew, or this is another log.",
                command_that_helps="afterturn doctor",
            )
        if checkpoint > first and (before := await offsets.record_at(partition, checkpoint - 1)) is not None:
            self._writer.recognise(before)
        self._committed, self._offsets = committed, offsets
        return Opened(position, checkpoint, committed, found)

    async def step(self, queue: LaneQueue) -> tuple[Applied, float]:
        """Apply and commit the next batch; what became of it, and the seconds it took.

        Raises:
            Retry: a dependency is away; nothing is committed, call it again.
            Reopen, Stop: as the writer and the producer say.
        """
        records = await queue.head(MAX_HEAD)
        started = monotonic()
        # 1 decode, 2 read, 3 plan, 4 embed, 5 write.
        applied = await self._writer.apply(records, self._still_ours)
        # 6. commit: outcome events, dead letters and the offset in one transaction.
        await self._commit(applied, await self._collection(applied))
        queue.drop_below(applied.next)
        return applied, monotonic() - started

    async def close(self) -> None:
        """Abort what is open and let go of the producer."""
        await self._producer.close()

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
        if applied.next <= self._committed:
            return
        await self._producer.commit(
            outgoing, {(self._home.topic, self._home.partition): applied.next}, self._home.group
        )
        self._committed = applied.next

    def _still_ours(self) -> None:
        self._pulse.check(self._home.partition, self._gaps)
