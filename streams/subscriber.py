"""What dashboards, and agents that are curious, subscribe to memory events with."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Self

from afterturn.schemas.codec import Attributes, decode_event
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import MemoryEvent, UnknownEvent
from afterturn.schemas.settings import Partitioner
from afterturn.schemas.types import as_utc
from afterturn.streams.errors import Retry
from afterturn.streams.kafka import KafkaSettings, LogReader, start_when_available
from afterturn.streams.lifetime import Startable
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import Position, Record
from afterturn.streams.topics import TopicNames

Since = Literal["beginning", "now"] | datetime | Position


@dataclass(frozen=True, slots=True)
class Received:
    """An event as it was received; ``attributes.id`` is the same however often the event was published."""

    event: MemoryEvent | UnknownEvent
    attributes: Attributes
    partition: int
    offset: int
    published_at: datetime


class MemoryEventSubscriber(Startable):
    """Memory events as an async iterator and context manager; only what was committed is seen, in order per tenant.

    ``types`` (as ``memory.recorded``, with or without a version) and ``tenants`` select; ``since`` is ``"now"``,
    ``"beginning"``, a time, or the position of an event: what came after it in its partition, as far as the topic
    holds it, and what comes from now on elsewhere. With ``follow=False`` the iteration ends at what was there when it
    began.
    """

    def __init__(
        self,
        kafka: KafkaSettings | None = None,
        *,
        types: Collection[str] | None = None,
        tenants: Collection[str] | None = None,
        since: Since = "now",
        follow: bool = True,
        topics: TopicNames = TopicNames(),  # noqa: B008 - frozen
        partitioner: Partitioner = "murmur2",
    ) -> None:
        _check(since)
        self._reader = LogReader(kafka or KafkaSettings(), topics.memory_events)
        self._selection = Selection(
            None if types is None else frozenset(types), None if tenants is None else frozenset(tenants)
        )
        self._since = since
        self._follow = follow
        self._partitioner: Partitioner = partitioner
        self._ends: dict[int, int] = {}
        self._positions: dict[int, int] = {}
        self._waiting: deque[Received] = deque()
        self.malformed = 0

    async def start(self, on_wait: Callable[[Retry, float], None] | None = None) -> None:
        """Connect and take position; waits for a broker that is away, and says so to ``on_wait``.

        Raises:
            Stop: the settings are wrong, or the topic is not there.
        """
        await start_when_available(self._connect, on_wait=on_wait)

    async def close(self) -> None:
        """Disconnect."""
        await self._reader.close()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Received:
        while not self._waiting:
            if not self._follow and self._at_end():
                raise StopAsyncIteration
            for partition, records in (await self._reader.getmany(timeout=0.2)).items():
                self._positions[partition] = records[-1].offset + 1
                self._waiting.extend(filter(None, map(self._received, records)))
            if not self._follow:
                await self._catch_up()
        return self._waiting.popleft()

    def _received(self, record: Record) -> Received | None:
        if not self._follow and record.offset >= self._ends[record.partition]:
            return None
        try:
            attributes, event = decode_event(record.headers, record.value)
        except ContractError:
            self.malformed += 1
            return None
        if not self._selection.wants(attributes.type, event.tenant):
            return None
        return Received(event, attributes, record.partition, record.offset, record.appended_at)

    def _at_end(self) -> bool:
        return all(self._positions[p] >= end for p, end in self._ends.items())

    async def _catch_up(self) -> None:
        """Markers take offsets too: the consumer's own position tells that nothing readable is left."""
        for partition in self._ends:
            self._positions[partition] = max(self._positions[partition], await self._reader.position(partition))

    async def _connect(self) -> None:
        await self._reader.start()
        count = await self._reader.partitions()
        wanted = self._selection.partitions(count, self._partitioner)
        self._ends = await self._reader.end_offsets(wanted)
        self._positions = await self._begin(wanted)
        await self._reader.assign(self._positions)

    async def _begin(self, wanted: list[int]) -> dict[int, int]:
        if isinstance(self._since, str):
            return dict(self._ends) if self._since == "now" else await self._reader.beginning_offsets(wanted)
        if isinstance(self._since, Position):
            return await self._after(self._since)
        moment = max(0, int(as_utc(self._since).timestamp() * 1_000))
        found = await self._reader.offsets_for_times(dict.fromkeys(wanted, moment))
        return {p: self._ends[p] if offset is None else offset for p, offset in found.items()}

    async def _after(self, last: Position) -> dict[int, int]:
        begins = await self._reader.beginning_offsets(self._ends)
        resumed = {p: min(max(begins[p], last.offset + 1), end) for p, end in self._ends.items() if p == last.partition}
        return dict(self._ends) | resumed


def _check(since: object) -> None:
    if not isinstance(since, datetime | Position) and since not in ("beginning", "now"):
        raise ContractError("invalid", "since", 'must be "beginning", "now", a time or a position')
    try:
        if isinstance(since, datetime):
            as_utc(since)
    except ValueError as error:
        raise ContractError("invalid", "since", str(error)) from None


@dataclass(frozen=True, slots=True)
class Selection:
    """Which events are wanted; None wants all."""

    types: frozenset[str] | None
    tenants: frozenset[str] | None

    def wants(self, type_: str, tenant: str) -> bool:
        """Whether an event of this CloudEvents type and tenant is wanted."""
        if self.types is not None and type_ not in self.types and type_.rpartition(".v")[0] not in self.types:
            return False
        return self.tenants is None or tenant in self.tenants

    def partitions(self, count: int, partitioner: Partitioner) -> list[int]:
        """The partitions these tenants' events are in."""
        if self.tenants is None:
            return list(range(count))
        return sorted({partition_for(tenant.encode(), count, partitioner) for tenant in self.tenants})
