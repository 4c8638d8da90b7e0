"""A writer of lanes that remembers what it applied, and can be disturbed, over a store in memory."""

from __future__ import annotations

import asyncio
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from afterturn.streams.errors import ForeignWrite, Stop
from afterturn.streams.kafka import OutRecord, Record
from afterturn.streams.lanes.seam import Applied, Start

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
            "afterturn_reason": reason, "afterturn_error": detail_type, "afterturn_attempts": attempts,
            "afterturn_topic": record.topic, "afterturn_partition": record.partition, "afterturn_offset": record.offset,
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


def _raising(error: Exception) -> Disturbance:
    async def disturb(_: StillOurs) -> None:
        raise error

    return disturb
