"""Lanes on a real log over a store in memory: a writer that remembers and can be disturbed, and who is told."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from afterturn.streams.errors import ForeignWrite, Reopen, Retry, Stop
from afterturn.streams.kafka import Admin, LogReader, OutRecord, Producer, Record, TopicInfo, TransactionalProducer
from afterturn.streams.lanes.group import LaneGroup, LaneSettings
from afterturn.streams.lanes.lane import Home
from afterturn.streams.lanes.seam import Applied, Start
from support.kafka import KafkaBroker
from support.log import Log, until

Point = Literal["open", "write", "written", "count"]
"""Where a writer can be disturbed: opening, before a write, after it has landed, and counting in its checkpoint."""
StillOurs = Callable[[], None]
Disturbance = Callable[[StillOurs], Awaitable[None]]


@dataclass
class Shelves:
    """What all lanes of a log write to: by partition a checkpoint, and the offsets that were applied, in order."""

    events: str
    batch: int = 7
    checkpoints: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    applied: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    recognised: list[tuple[int, int]] = field(default_factory=list)
    strangers: dict[int, Stop] = field(default_factory=dict)
    collections: dict[int, OutRecord] = field(default_factory=dict)
    looks: list[tuple[int, int]] = field(default_factory=list)
    letters: str = ""
    told: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    heeded: list[tuple[int, frozenset[int]]] = field(default_factory=list)
    poison: dict[int, Exception] = field(default_factory=dict)
    kept: set[int] = field(default_factory=set)
    _disturbances: dict[tuple[Point, int], deque[Disturbance]] = field(default_factory=lambda: defaultdict(deque))

    def disturb(self, point: Point, partition: int, *disturbances: Disturbance | Exception) -> None:
        """Each of these happens once, in this order: it is awaited, or raised."""
        self._disturbances[point, partition].extend(
            _raising(each) if isinstance(each, Exception) else each for each in disturbances
        )

    def reach(self, ends: Mapping[int, int]) -> Callable[[], bool]:
        """Whether these are the checkpoints."""
        return lambda: all(self.checkpoints[partition] == end for partition, end in ends.items())

    def put_back(self, partition: int, checkpoint: int) -> None:
        """Put a copy back: what was applied up to a checkpoint is there, nothing else."""
        self.checkpoints[partition] = self.told[partition] = checkpoint
        self.applied[partition] = [offset for offset in self.applied[partition] if offset < checkpoint]

    async def meet(self, point: Point, partition: int, still_ours: StillOurs = lambda: None) -> None:
        """What was to happen here."""
        if waiting := self._disturbances[point, partition]:
            await waiting.popleft()(still_ours)


class Gate:
    """A disturbance that holds its lane until it is opened."""

    def __init__(self) -> None:
        self.reached = False
        self._open = asyncio.Event()

    async def __call__(self, _: StillOurs) -> None:
        self.reached = True
        await self._open.wait()

    def open(self) -> None:
        """Let the lane go on."""
        self._open.set()


class RecordingWriter:
    """Applies what is at and beyond the checkpoint, a bounded batch at once; announces every record it is shown."""

    def __init__(self, shelves: Shelves, partition: int) -> None:
        self._shelves = shelves
        self._partition = partition
        self._next = 0
        self._dead: frozenset[int] = frozenset()

    async def open(self) -> Start:
        shelves, partition = self._shelves, self._partition
        await shelves.meet("open", partition)
        self._next = shelves.checkpoints[partition]
        opens, begun = shelves.counts.get(partition, (0, 0))
        shelves.counts[partition] = (opens + 1, begun)
        return Start(self._next, shelves.told[partition], opens + 1, begun)

    def heed(self, dead: frozenset[int]) -> None:
        self._shelves.heeded.append((self._partition, dead))
        self._dead = dead

    async def count(self, opens: int, begun: int) -> None:
        await self._shelves.meet("count", self._partition)
        self._shelves.counts[self._partition] = (opens, begun)

    async def told(self, offset: int) -> None:
        self._shelves.told[self._partition] = offset

    async def skip(self, offset: int) -> None:
        self._next = self._shelves.checkpoints[self._partition] = self._shelves.told[self._partition] = offset

    async def bury(self, record: Record, reason: str, detail_type: str, attempts: int) -> tuple[OutRecord, ...]:
        if record.offset in self._shelves.kept:
            return ()
        said = {
            "afterturn_topic": record.topic, "afterturn_partition": record.partition, "afterturn_offset": record.offset,
            "afterturn_reason": reason, "afterturn_error": detail_type, "afterturn_attempts": attempts,
        }  # fmt: skip
        headers = tuple((name, str(value).encode()) for name, value in said.items())
        return (OutRecord(self._shelves.letters, record.key, record.value, headers, record.partition),)

    def recognise(self, record: Record) -> None:
        self._shelves.recognised.append((record.partition, record.offset))
        if (error := self._shelves.strangers.get(record.partition)) is not None:
            raise error

    def collect(self, log_start: int, now_ms: int) -> OutRecord | None:
        assert now_ms > 0
        self._shelves.looks.append((self._partition, log_start))
        return self._shelves.collections.pop(self._partition, None)

    async def apply(self, records: Sequence[Record], still_ours: Callable[[], None]) -> Applied:
        shelves, partition = self._shelves, self._partition
        batch = records[: shelves.batch]
        await shelves.meet("write", partition, still_ours)
        still_ours()
        if (found := shelves.checkpoints[partition]) != self._next:
            raise ForeignWrite(partition, self._next, found)
        for record in batch:
            if (error := shelves.poison.get(record.offset)) is not None and record.offset not in self._dead:
                raise error
        new = [r.offset for r in batch if r.offset >= found and r.offset not in self._dead]
        if batch[-1].offset >= found:
            shelves.told[partition], shelves.counts[partition] = found, (0, 0)
        shelves.applied[partition] += new
        self._next = shelves.checkpoints[partition] = max(found, batch[-1].offset + 1)
        await shelves.meet("written", partition, still_ours)
        return Applied(
            batch[-1].offset + 1,
            tuple((record.offset, self._event(record)) for record in batch),
            {"applied": len(new), "duplicate": len(batch) - len(new)},
        )

    def _event(self, record: Record) -> OutRecord:
        return OutRecord(self._shelves.events, b"k", b"%d" % record.offset, partition=self._partition)


class Told:
    """Remembers what lanes say of themselves."""

    def __init__(self) -> None:
        self.openings: list[tuple[int, int, int | None]] = []
        self.batches: dict[int, list[Applied]] = defaultdict(list)
        self.retries: list[tuple[int, Retry, float]] = []
        self.reopenings: list[tuple[int, Reopen]] = []
        self.closings: list[int] = []
        self.waitings: list[tuple[int, float]] = []
        self.moves: list[tuple[int, int, int]] = []

    def opened(self, partition: int, checkpoint: int, committed: int | None) -> None:
        self.openings.append((partition, checkpoint, committed))

    def applied(self, partition: int, applied: Applied, seconds: float) -> None:
        assert seconds >= 0
        self.batches[partition].append(applied)

    def retried(self, partition: int, error: Retry, delay: float) -> None:
        self.retries.append((partition, error, delay))

    def reopened(self, partition: int, error: Reopen) -> None:
        self.reopenings.append((partition, error))

    def waits(self, partition: int, seconds: float) -> None:
        self.waitings.append((partition, seconds))

    def moved(self, partition: int, committed: int, position: int, why: str) -> None:
        assert why
        self.moves.append((partition, committed, position))

    def closed(self, partition: int) -> None:
        self.closings.append(partition)


@dataclass
class Member:
    """A running lane group."""

    group: LaneGroup
    told: Told
    stop: asyncio.Event
    task: asyncio.Task[None]

    async def until(self, so: Callable[[], bool], seconds: float = 30.0) -> None:
        """Wait until it is so; what ends the group meanwhile is raised."""

        async def running_and_so() -> bool:
            if self.task.done():
                self.task.result()
                raise AssertionError("the group has ended")
            return so()

        await until(running_and_so, seconds)

    async def polls(self, seconds: float = 30.0) -> None:
        """Wait for a poll of the group that has not been yet."""
        last = self.group._pulse._last
        await self.until(lambda: self.group._pulse._last > last, seconds)

    async def ended(self, seconds: float = 30.0) -> BaseException | None:
        """Wait until it has ended by itself; the error it ended by."""
        await asyncio.wait({self.task}, timeout=seconds)
        assert self.task.done(), f"it still runs after {seconds} s"
        return self.task.exception()

    async def end(self, seconds: float = 30.0) -> None:
        """Ask it to end, and wait for that; raises what it raises."""
        self.stop.set()
        await asyncio.wait_for(self.task, seconds)


@dataclass(frozen=True)
class LaneLog:
    """A topic of three partitions, one for events, a store in memory, and groups of lanes between them."""

    log: Log
    shelves: Shelves
    admin: Admin

    @classmethod
    @asynccontextmanager
    async def on(cls, broker: KafkaBroker, prefix: str) -> AsyncIterator[LaneLog]:
        """Make the topics."""
        async with Log.on(broker, prefix) as log, Admin(log.settings) as admin:
            events = f"{prefix}.memory-events"
            letters = f"{prefix}.dead-letter"
            assert await admin.create(TopicInfo(events, 3, 1))
            assert await admin.create(TopicInfo(letters, 3, 1))
            yield cls(log, Shelves(events, letters=letters), admin)

    @property
    def session(self) -> float:
        """As short as the broker lets it be: the embedded one, and one we know nothing of, take Kafka's minimum."""
        return 6.0 if self.log.broker.kind in {"embedded", "env"} else 1.5

    @asynccontextmanager
    async def member(self, ending: type[Exception] | None = None, **changes: Any) -> AsyncIterator[Member]:
        """A lane group that runs; it is ended on the way out, unless it has ended by the error that is expected."""
        told, stop = Told(), asyncio.Event()
        group = self.group(told, **changes)
        task = asyncio.create_task(group.run(stop, on_start=lambda: None, on_wait=lambda _, __: None))
        member = Member(group, told, stop, task)
        try:
            yield member
        finally:
            stop.set()
            await asyncio.wait({task}, timeout=40.0)
            task.cancel()
            await asyncio.wait({task})
        if ending is None:
            task.result()
        else:
            assert isinstance(task.exception(), ending)

    def group(self, told: Told, **changes: Any) -> LaneGroup:
        """A lane group over the store, not yet running."""
        settings = {"drain": 10.0, "session": self.session, "dead_letters": self.shelves.letters, **changes}
        return LaneGroup(
            self.log.settings,
            LaneSettings(self.log.topic, self.log.group, **settings),
            lambda partition: RecordingWriter(self.shelves, partition),
            told,
        )

    def producer(self, partition: int) -> TransactionalProducer:
        """A producer with a lane's transactional id."""
        return TransactionalProducer(
            self.log.settings, Home(self.log.group, self.log.topic, partition).transactional_id
        )

    async def fill(self, counts: Mapping[int, int]) -> None:
        """Write so many records to each partition."""
        async with Producer(self.log.settings) as producer:
            await asyncio.gather(
                *(
                    producer.send_nowait(OutRecord(self.log.topic, b"k", b"%d" % at, partition=partition))
                    for partition, count in counts.items()
                    for at in range(count)
                )
            )

    async def commit(self, partition: int, offset: int) -> None:
        """Commit an offset as a lane of the group does."""
        async with self.producer(partition) as producer:
            await producer.commit([], {(self.log.topic, partition): offset}, self.log.group)
        await self.committed_is({partition: offset})

    async def committed(self) -> dict[int, int | None]:
        """The group's committed offsets."""
        return await self.admin.committed(self.log.group, self.log.topic, [0, 1, 2])

    async def committed_is(self, wanted: Mapping[int, int | None]) -> None:
        """Wait until these are committed: a broker shows a transaction's offsets a little after its commit."""

        async def so() -> bool:
            return wanted.items() <= (await self.committed()).items()

        await until(so, 10.0)

    async def announced(self, wanted: Mapping[int, Sequence[int]]) -> None:
        """The events a read-committed reader sees by partition, each once and in order, are these and no more."""
        found: dict[int, list[int]] = {partition: [] for partition in wanted}
        async with LogReader(self.log.settings, self.shelves.events) as reader:
            await reader.assign(dict.fromkeys(wanted, 0))

            async def take() -> bool:
                for partition, records in (await reader.getmany(0.1)).items():
                    found[partition] += [int(record.value or b"") for record in records]
                return all(len(found[partition]) >= len(wanted[partition]) for partition in wanted)

            await until(take)
            await reader.getmany(0.0)
            ends = await reader.end_offsets(list(wanted))

            async def at_end() -> bool:
                await take()
                return all([await reader.position(partition) >= end for partition, end in ends.items()])

            await until(at_end)
        assert found == {partition: list(offsets) for partition, offsets in wanted.items()}


def _raising(error: Exception) -> Disturbance:
    async def disturb(_: StillOurs) -> None:
        raise error

    return disturb
