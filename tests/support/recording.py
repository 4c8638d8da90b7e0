"""A recorder process on the session's Kafka and an embedded store, with topics of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson
from qdrant_client import models as m

from afterturn.consumers.preparing import prepare
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.schemas.codec import Headers, decode_event
from afterturn.schemas.events import MemoryEvent, UnknownEvent
from afterturn.schemas.ids import checkpoint_id
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.kafka import LogReader, OutRecord, Position, Producer, Record
from support.kafka import KafkaBroker
from support.log import until
from support.recorders import RecorderProcess, service_environment, service_settings
from support.store import StoreProcess, connect, start_store

ANYONE = "anyone"
"""The tenant in a test's turns that stands for the test's own."""


@dataclass
class Recording:
    """A running recorder, and what a test asks of it."""

    kafka: KafkaSettings
    service: ServiceSettings
    store: StoreProcess
    recorder: RecorderProcess
    publisher: TurnPublisher
    producer: Producer
    tenant: str = ANYONE
    before: Mapping[str, int] = field(default_factory=dict)
    marks: dict[str, dict[int, int]] = field(default_factory=dict)

    async def mark(self, tenant: str) -> None:
        """Count from here: what was consumed, announced and buried before belongs to another test."""
        self.tenant = tenant
        self.before = await asyncio.to_thread(self.recorder.endings)
        for topic in (self.service.topics.memory_events, self.service.topics.dead_letter):
            async with LogReader(self.kafka, topic) as reader:
                self.marks[topic] = await reader.end_offsets(range(await reader.partitions()))

    def endings(self) -> dict[str, int]:
        """How many records ended how since the mark."""
        now = self.recorder.endings()
        return {name: n - self.before.get(name, 0) for name, n in now.items() if n != self.before.get(name, 0)}

    async def publish(self, *turns: dict[str, Any]) -> list[Token]:
        """Publish turns in order; those of ``ANYONE`` as this test's tenant's."""
        return [await self.publisher.publish(self.own(turn)) for turn in turns]

    def own(self, turn: dict[str, Any]) -> dict[str, Any]:
        """A turn of ``ANYONE`` as this test's tenant's."""
        return turn | {"tenant": self.tenant} if turn.get("tenant") == ANYONE else turn

    def own_bytes(self, value: bytes | None) -> bytes | None:
        """The same over an encoded body."""
        return value and value.replace(orjson.dumps(ANYONE), orjson.dumps(self.tenant))

    async def raw(self, value: bytes | None, headers: Headers, key: bytes | None = None) -> Position:
        """Put any record on partition 0 of the turn log; the key is the tenant unless another is given."""
        key = key or self.tenant.encode()
        record = OutRecord(self.service.topics.turns, key, self.own_bytes(value), headers, 0)
        return await self.producer.send(record)

    async def consumed(self, count: int, seconds: float = 60) -> None:
        """Wait until the recorder has consumed so many records since it started."""

        async def so() -> bool:
            return sum((await asyncio.to_thread(self.endings)).values()) >= count

        await until(so, seconds, tick=0.05)

    async def events(self) -> list[MemoryEvent]:
        """All outcome events since the mark, in order."""
        decoded = [decode_event(r.headers, r.value)[1] for r in await self._since(self.service.topics.memory_events)]
        return [event for event in decoded if not isinstance(event, UnknownEvent)]

    async def dead_letters(self) -> list[Record]:
        """All dead letters since the mark, by partition and offset."""
        return await self._since(self.service.topics.dead_letter)

    async def _since(self, topic: str) -> list[Record]:
        found: list[Record] = []
        async with LogReader(self.kafka, topic) as reader:
            partitions = range(await reader.partitions())
            ends = await reader.end_offsets(partitions)
            await reader.assign(self.marks.get(topic) or dict.fromkeys(partitions, 0))
            while any([await reader.position(p) < ends[p] for p in partitions]):
                for records in (await reader.getmany(timeout=0.5)).values():
                    found += records
        return sorted(found, key=lambda r: (r.partition, r.offset))

    async def ends(self, topic: str) -> dict[int, int]:
        """The offsets after the last readable records of a topic."""
        async with LogReader(self.kafka, topic) as reader:
            return await reader.end_offsets(range(await reader.partitions()))

    async def checkpoint(self, partition: int = 0) -> int:
        """The offset that comes next by a partition's checkpoint."""
        async with connect(self.store.url) as client:
            found = await client.retrieve("memories", [checkpoint_id(partition)])
        return int((found[0].payload or {})["next"]) if found else 0

    async def memories(self, tenant: str | None = None) -> list[dict[str, Any]]:
        """A tenant's memories (this test's, unless another is named) as stored, in the order they were recorded."""
        only = m.Filter(
            must=[
                m.FieldCondition(key="tenant", match=m.MatchValue(value=tenant or self.tenant)),
                m.FieldCondition(key="point", match=m.MatchValue(value="memory")),
            ]
        )
        async with connect(self.store.url) as client:
            found, _ = await client.scroll("memories", scroll_filter=only, limit=2_000)
        return sorted((dict(p.payload or {}) for p in found), key=lambda p: (p["rev"], p["ordinal"]))


@asynccontextmanager
async def recording(kafka: KafkaBroker, prefix: str, folder: Path, **settings: str) -> AsyncIterator[Recording]:
    """A recorder that is ready, on an empty store."""
    with start_store(folder / "store") as store:
        environment = service_environment(kafka.bootstrap, store.url, prefix, **({"partitions": "1"} | settings))
        service, client = service_settings(environment), KafkaSettings(bootstrap_servers=kafka.bootstrap)
        assert (await prepare(service, client, StoreSettings(url=store.url))).fine
        recorder = RecorderProcess(folder, environment)
        await asyncio.to_thread(recorder.start)
        try:
            publishing = TurnPublisher(client, source="test", topics=service.topics)
            async with publishing as publisher, Producer(client) as producer:
                yield Recording(client, service, store, recorder, publisher, producer)
        finally:
            await asyncio.to_thread(recorder.child.stop)
