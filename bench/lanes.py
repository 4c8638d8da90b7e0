"""Lanes in this process, with parts of them exchanged: what the comparisons within one run are made of.

A place is topics with turns on them. Each drain of it has a group and a collection of its own, so that the same turns
are recorded again and again, by variants in turn: whatever slows the machine down slows all of them.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count

from support.kafka import KafkaBroker
from support.recorders import service_environment, service_settings
from support.store import StoreProcess

from afterturn.consumers.preparing import prepare
from afterturn.consumers.recorder.announcing import Announcer
from afterturn.consumers.recorder.cutting import LIMITS, BatchLimits
from afterturn.consumers.recorder.writer import PartitionWriter
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.client import StoreClient, opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.errors import Reopen, Retry
from afterturn.streams.lanes.group import LaneGroup, LaneSettings
from afterturn.streams.lanes.seam import Applied

WARM = 0.2
"""The share of the messages after which measuring begins."""
_LONGEST = 600.0
_numbers = count()
MakeStore = Callable[[StoreClient, FoldSettings], WriteStore]
MakeAnnouncer = Callable[[ServiceSettings, FoldSettings], Announcer]


def plain_store(client: StoreClient, fold: FoldSettings) -> WriteStore:
    """The store as the recorder uses it."""
    return WriteStore(client, dimension=fold.dimension, epoch=fold.epoch)


def plain_announcer(service: ServiceSettings, fold: FoldSettings) -> Announcer:
    """The announcer as the recorder uses it."""
    return Announcer(service.topics, fold)


@dataclass(frozen=True)
class Place:
    """Topics of their own on a broker, and a store beside them."""

    kafka: KafkaSettings
    store: StoreSettings
    service: ServiceSettings
    embedder: Embedder


@dataclass(frozen=True)
class Variant:
    """What a drain does otherwise than the recorder."""

    limits: BatchLimits = LIMITS
    wait: float = 0.0
    store: MakeStore = plain_store
    announcer: MakeAnnouncer = plain_announcer


@dataclass
class Drain:
    """Watches lanes: what was applied when, and how long each batch took."""

    batches: list[tuple[float, int, float]] = field(default_factory=list)
    """When it was committed, how many records it held, seconds from taking it to its commit."""
    reached: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    """By partition: the offset up to which it is committed, and since when."""
    worked: float = 0.0
    """Seconds of processor time of this process: what other processes do to the machine changes it least."""

    def opened(self, partition: int, checkpoint: int, committed: int | None) -> None:
        """A lane opened."""

    def applied(self, partition: int, applied: Applied, seconds: float) -> None:
        """A batch was applied and committed."""
        now = time.perf_counter()
        self.batches.append((now, sum(applied.endings.values()), seconds))
        self.reached.setdefault(partition, []).append((applied.next, now))

    def retried(self, partition: int, error: Retry, delay: float) -> None:
        """A dependency was away."""

    def reopened(self, partition: int, error: Reopen) -> None:
        """A lane opens anew."""

    def waits(self, partition: int, seconds: float) -> None:
        """A lane waits."""

    def moved(self, partition: int, committed: int, position: int, why: str) -> None:
        """An offset was moved."""

    def closed(self, partition: int) -> None:
        """A lane closed."""

    @property
    def consumed(self) -> int:
        """Records that were committed."""
        return sum(records for _, records, _ in self.batches)

    @property
    def rate(self) -> float:
        """Messages a second, from the first fifth on."""
        total, done = self.consumed, 0
        warm: tuple[float, int] | None = None
        for at, records, _ in self.batches:
            done += records
            if warm is None and done >= total * WARM:
                warm = at, done
        assert warm is not None, "nothing was applied"
        return (total - warm[1]) / (self.batches[-1][0] - warm[0])

    @property
    def step(self) -> float:
        """The median batch's seconds."""
        return statistics.median(seconds for _, _, seconds in self.batches)

    def seen(self, token: Token) -> float:
        """When what this token stands for was committed."""
        return next(at for following, at in self.reached[token.partition] if following > token.offset)


async def place(kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, prefix: str, **settings: str) -> Place:
    """Topics made, and nothing on them."""
    service = service_settings(service_environment(kafka.bootstrap, store.url, prefix, **settings))
    made = Place(
        KafkaSettings(bootstrap_servers=kafka.bootstrap), StoreSettings(url=store.url, alias=prefix), service, embedder
    )
    await prepare(service, made.kafka, made.store)
    return made


async def publish(there: Place, turns: Iterable[TurnCompleted], *, window: int = 500) -> list[Token]:
    """Publish turns, so many in flight at most; their tokens."""
    free = asyncio.Semaphore(window)
    async with TurnPublisher(there.kafka, source="bench", topics=there.service.topics) as publisher:

        async def one(turn: TurnCompleted) -> Token:
            try:
                return await publisher.publish(turn)
            finally:
                free.release()

        tasks: list[asyncio.Task[Token]] = []
        for turn in turns:
            await free.acquire()
            tasks.append(asyncio.create_task(one(turn)))
        return list(await asyncio.gather(*tasks))


async def drain(
    there: Place,
    messages: int,
    variant: Variant = Variant(),
    meanwhile: Callable[[], object] | None = None,
) -> Drain:
    """Record what is on the place's log into a collection of its own, which is removed afterwards."""
    number = next(_numbers)
    service = there.service.model_copy(update={"group": f"{there.service.group}-{number}"})
    settings = there.store.model_copy(update={"alias": f"{there.store.alias}-{number}"})
    fold = service.fold(there.embedder)
    watched, stop = Drain(), asyncio.Event()
    async with opened(settings) as client:
        await create_or_check(client, fold)
        memories, announcer = variant.store(client, fold), variant.announcer(service, fold)

        def make(partition: int) -> PartitionWriter:
            return PartitionWriter(partition, memories, there.embedder, fold, announcer, variant.limits)

        group = LaneGroup(there.kafka, LaneSettings(fold.topic, fold.group, wait=variant.wait), make, watched)
        began = time.process_time()
        lanes = asyncio.create_task(group.run(stop, lambda: None, lambda *_: None))
        try:
            if meanwhile is not None:
                await _all_open(group, service.partitions, lanes)
                meanwhile()
            await _until(lambda: watched.consumed >= messages, lanes)
            watched.worked = time.process_time() - began
        finally:
            stop.set()
            await lanes
        async with client.call("removing a collection") as api:
            for each in (await api.get_collection_aliases(settings.alias)).aliases:
                await api.delete_collection(each.collection_name)
    return watched


async def _all_open(group: LaneGroup, partitions: int, lanes: asyncio.Task[None]) -> None:
    await _until(lambda: len(group.taking) == partitions, lanes)


async def _until(done: Callable[[], bool], lanes: asyncio.Task[None]) -> None:
    deadline = time.monotonic() + _LONGEST
    while not done():
        if lanes.done():
            await lanes
        if time.monotonic() > deadline:
            raise TimeoutError(f"not done after {_LONGEST:.0f} s")
        await asyncio.sleep(0.02)


def median(values: Sequence[float]) -> float:
    """The middle one."""
    return statistics.median(values)


def spread(values: Sequence[float]) -> str:
    """How far the rounds of a figure lie apart, for its note."""
    return f"median of {len(values)} rounds, {min(values):.3g} to {max(values):.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """The value below which so large a share lies."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]
