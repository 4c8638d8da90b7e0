"""All that is there after a run: the log, the store, the events, the dead letters, the group's offsets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from qdrant_client import AsyncQdrantClient

from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.events import MemoryEvent, UnknownEvent
from afterturn.schemas.points import Checkpoint, StoredPoint, point_of
from afterturn.schemas.settings import FoldSettings
from afterturn.streams import KafkaSettings, MemoryEventSubscriber
from afterturn.streams.kafka import Admin, LogReader
from afterturn.streams.records import Record
from support.store import connect

Log = dict[int, list[Record]]
"""Records by partition."""


_AT_RUN_TIME = (b"refused", b"crash")


@dataclass(frozen=True)
class Stored:
    """Every point of a store by partition, and the checkpoints."""

    points: dict[int, dict[str, StoredPoint]]
    checkpoints: dict[int, Checkpoint]


@dataclass(frozen=True)
class Observed:
    """What a run has left behind."""

    fold: FoldSettings
    log: Log
    letters: Log
    events: list[MemoryEvent]
    stored: Stored
    committed: dict[int, int | None]

    def given_up(self, partition: int) -> dict[int, str]:
        """What was decided at run time, the fold's second input: the offsets, each with its reason."""
        letters = (dict(letter.headers) for each in self.letters.values() for letter in each)
        return {
            int(headers["afterturn_offset"]): headers["afterturn_reason"].decode()
            for headers in letters
            if int(headers["afterturn_partition"]) == partition and headers["afterturn_reason"] in _AT_RUN_TIME
        }


async def observe(client: KafkaSettings, service: ServiceSettings, url: str, log: Log | None = None) -> Observed:
    """Everything there is; ``log``: the turn log as it was read before it was cut, where it was."""
    topics = service.topics
    fold = await fold_settings(service)
    async with Admin(client) as admin:
        committed = await admin.committed(service.group, topics.turns, range(service.partitions))
    return Observed(
        fold,
        await read_log(client, topics.turns) if log is None else log,
        await read_log(client, topics.dead_letter),
        await read_events(client, service),
        await stored_in(url, fold.dimension),
        committed,
    )


async def read_log(client: KafkaSettings, topic: str) -> Log:
    """All that can be read of a topic, by partition."""
    log: Log = defaultdict(list)
    async with LogReader(client, topic) as reader:
        partitions = range(await reader.partitions())
        ends = await reader.end_offsets(partitions)
        await reader.assign(await reader.beginning_offsets(partitions))
        while any([await reader.position(p) < ends[p] for p in partitions]):
            for partition, records in (await reader.getmany(timeout=1)).items():
                log[partition].extend(records)
    return log


async def read_events(client: KafkaSettings, service: ServiceSettings) -> list[MemoryEvent]:
    """Every outcome event a read-committed subscriber sees; what recall tells of its questions is left out."""
    found: list[MemoryEvent] = []
    topics = service.topics
    async with MemoryEventSubscriber(client, since="beginning", follow=False, topics=topics) as events:
        async for received in events:
            assert not isinstance(received.event, UnknownEvent)
            if received.event.command is not None:
                found.append(received.event)
        assert events.malformed == 0
    return found


async def fold_settings(service: ServiceSettings) -> FoldSettings:
    """What shapes the fold under these settings."""
    embedder = await open_embedder(service.embedder)
    try:
        return service.fold(embedder)
    finally:
        await embedder.close()


async def stored_in(url: str, dimension: int) -> Stored:
    """Every point of a store; vectors are there exactly where there is content."""
    async with connect(url) as connection:
        return await _all_points(connection, dimension)


async def _all_points(connection: AsyncQdrantClient, dimension: int) -> Stored:
    points: dict[int, dict[str, StoredPoint]] = defaultdict(dict)
    checkpoints: dict[int, Checkpoint] = {}
    offset = None
    while True:
        found, offset = await connection.scroll("memories", limit=1_000, offset=offset, with_vectors=True)
        for each in found:
            payload = dict(each.payload or {})
            if payload["point"] == "checkpoint":
                checkpoints[payload["partition"]] = Checkpoint.model_validate(payload)
                continue
            points[payload["partition"]][str(each.id)] = point_of(payload)
            vectors = each.vector or {}
            assert isinstance(vectors, dict)
            assert ("dense" in vectors) == ("content" in payload), "vectors exactly where there is content"
            assert "content" in payload or not vectors
            dense = vectors.get("dense")
            assert dense is None or (isinstance(dense, list) and len(dense) == dimension)
        if offset is None:
            return Stored(points, checkpoints)
