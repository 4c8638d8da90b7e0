"""Lanes on a real log over a store in memory: a writer that remembers and can be disturbed, and who is told."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from afterturn.streams.errors import Reopen, Retry
from afterturn.streams.kafka import Admin, LogReader, OutRecord, Producer, TopicInfo, TransactionalProducer
from afterturn.streams.lanes.group import LaneGroup, LaneSettings
from afterturn.streams.lanes.lane import Home
from afterturn.streams.lanes.seam import Applied
from support.kafka import KafkaBroker
from support.lane_writer import Gate, Point, RecordingWriter, Shelves, StillOurs
from support.log import Log, until

__all__ = ("Gate", "LaneLog", "Member", "Point", "StillOurs", "Told")


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
