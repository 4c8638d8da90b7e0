"""The recorder, killed three times on the way: the store holds exactly what the log folds to."""

from __future__ import annotations

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from qdrant_client import AsyncQdrantClient
from support.fold_checks import assert_same_endings, assert_same_points
from support.kafka import KafkaBroker
from support.naive_model import naive_fold
from support.recorders import RecorderProcess, service_environment, service_settings
from support.store import connect, start_store
from support.whole_log import WholeLog, fold_log

from afterturn.consumers.preparing import prepare
from afterturn.consumers.recorder.decoding import decode
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.codec import Attributes
from afterturn.schemas.commands import Command, Configure, Erase, Forget, Pin, Remember, TurnCompleted
from afterturn.schemas.events import MemoryEvent, Skipped, UnknownEvent
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.parts import Derived, Filter, Source
from afterturn.schemas.points import Checkpoint, StoredPoint, point_of
from afterturn.schemas.settings import Bounds, FoldSettings
from afterturn.streams import KafkaSettings, MemoryEventSubscriber, TurnPublisher
from afterturn.streams.kafka import LogReader, OutRecord, Producer
from afterturn.streams.records import Record

TURNS, TENANTS, KILLS = 1_000, 50, 3
PARTITIONS = 4
BOUND = 25
"""Below what a tenant gets, so that memories leave all the time."""

UNKNOWN = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"

pytestmark = pytest.mark.timeout(300)


async def test_three_kills_leave_the_store_exactly_the_fold_of_the_log(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    with start_store(tmp_path / "store") as store:
        environment = service_environment(
            kafka.bootstrap, store.url, topic_prefix, partitions=str(PARTITIONS), max_memories=str(BOUND)
        )
        service, client = service_settings(environment), KafkaSettings(bootstrap_servers=kafka.bootstrap)
        assert (await prepare(service, client, StoreSettings(url=store.url))).fine
        recorder = RecorderProcess(tmp_path, environment)
        events = MemoryEventSubscriber(client, since="beginning", topics=service.topics)
        await events.start()
        try:
            await _publish_and_kill(client, service, recorder, events)
            await asyncio.to_thread(recorder.child.stop)
        finally:
            recorder.child.kill()
            await events.close()
        log = await _read_log(client, service.topics.turns)
        letters = await _read_log(client, service.topics.dead_letter)
        told = await _events(client, service)
        fold = await _fold_settings(service)
        async with connect(store.url) as connection:
            stored, checkpoints = await _all_points(connection, fold)
    _check_plan(log, fold, stored, checkpoints)
    _check_told(log, fold, told, letters)
    _check_naive(log, fold, stored)


async def _publish_and_kill(
    client: KafkaSettings, service: ServiceSettings, recorder: RecorderProcess, events: MemoryEventSubscriber
) -> None:
    """Publish everything; kill the recorder whenever another quarter has its outcome; return once all have one."""
    await asyncio.to_thread(recorder.start)
    readable = await _publish(client, service)
    seen: Counter[tuple[int, int]] = Counter()
    kills = [readable * (n + 1) // (KILLS + 1) for n in range(KILLS)]
    async with asyncio.timeout(240):
        async for received in events:
            assert not isinstance(received.event, UnknownEvent)
            command = received.event.command
            assert command is not None
            seen[command.partition, command.offset] += 1
            if kills and len(seen) >= kills[0]:
                kills.pop(0)
                recorder.child.kill()
                await asyncio.to_thread(recorder.start)
            if len(seen) == readable:
                break


async def _publish(client: KafkaSettings, service: ServiceSettings) -> int:
    """1,000 turns and what comes with them in life; returns how many records can be read as commands."""
    rng = random.Random(4)
    readable = 0
    async with TurnPublisher(client, source="e2e", topics=service.topics) as publisher, Producer(client) as producer:
        for number in range(TURNS):
            turn = _turn(rng, number)
            await publisher.publish_command(turn)
            readable += 1
            if number % 10 == 0:  # the same turn again, and the same key with other content
                await publisher.publish_command(turn)
                other = turn.model_copy(update={"messages": turn.messages[:0]})
                await publisher.publish_command(other)
                readable += 2
            for command in _commands(rng, turn, number):
                await publisher.publish_command(command, ce_id=f"command-{number}-{rng.randint(1, 3)}")
                readable += 1
            if number % 25 == 0:
                headers = (("ce_id", b"x"),)
                await producer.send(OutRecord(service.topics.turns, turn.tenant.encode(), b"\xff\x00not-json", headers))
                await producer.send(_misrouted(service.topics.turns, turn))
                readable += 1
    return readable


def _turn(rng: random.Random, number: int) -> TurnCompleted:
    messages: list[dict[str, Any]] = [
        {
            "role": rng.choice(["user", "assistant", "user", "tool"]),
            "author": rng.choice(["Ann", "Bo", None]),
            "content": rng.choice(["", "  ", f"message {number}", "word " * rng.randint(1, 60), "long text. " * 900]),
            "importance": rng.choice([0.1, 0.5, 0.5, 0.9]),
        }
        for _ in range(rng.randint(1, 3))
    ]
    return TurnCompleted.model_validate(
        {
            "tenant": f"tenant-{number % TENANTS}",
            "scope": {"user": rng.choice(["u1", "u2"])},
            "thread": f"thread-{rng.randint(1, 3)}",
            "turn_id": str(number),
            "occurred_at": "2026-01-01T00:00:00Z",
            "messages": messages,
        }
    )


def _commands(rng: random.Random, turn: TurnCompleted, number: int) -> Iterator[Command]:
    """What else is done to this turn's tenant: facts under keys, forgetting, pins, settings, sometimes an erasure."""
    tenant, own = turn.tenant, memory_id(turn.tenant, turn_key(turn.scope, turn.thread, turn.turn_id), 0)
    if number % 7 == 0:
        source = Source(type="user", id="u1")
        yield Remember(tenant=tenant, content=f"fact {number}", key=f"key {number % 3}", source=source)
        derived = Derived(source_ids=(own,), based_on=1_000_000)
        yield Remember(tenant=tenant, content=f"derived {number}", source=source, derived=derived)
    if number % 11 == 0:
        yield Pin(tenant=tenant, ids=(own, UNKNOWN), pinned=rng.random() < 0.8)
    if number % 13 == 0:
        yield Forget(tenant=tenant, ids=(own, UNKNOWN), reason="asked", confirm=rng.random() < 0.9)
    if number % 17 == 0:
        chosen = Filter(threads=(turn.thread,), authors=("Ann",))
        yield Forget(tenant=tenant, filter=chosen, reason="asked", confirm=rng.random() < 0.8)
    if number % 41 == 0:
        bounds = Bounds(max_memories=rng.choice((8, 15, 25)), max_episodes=rng.choice((None, 6)))
        yield Configure(tenant=tenant, bounds=bounds)
    if number % 173 == 0:
        yield Erase(tenant=tenant, confirm=tenant, reason="asked")


def _misrouted(topic: str, turn: TurnCompleted) -> OutRecord:
    body = orjson.dumps(turn.model_dump(mode="json", exclude_none=True) | {"tenant": "elsewhere"})
    attributes = Attributes("m", "e2e", turn.TYPE, turn.occurred_at)
    return OutRecord(topic, b"another key", body, attributes.headers(), 0)


async def _read_log(client: KafkaSettings, topic: str) -> dict[int, list[Record]]:
    """All that can be read of a topic, by partition."""
    log: dict[int, list[Record]] = defaultdict(list)
    async with LogReader(client, topic) as reader:
        partitions = range(await reader.partitions())
        ends = await reader.end_offsets(partitions)
        await reader.assign(dict.fromkeys(partitions, 0))
        while any([await reader.position(p) < ends[p] for p in partitions]):
            for partition, records in (await reader.getmany(timeout=1)).items():
                log[partition].extend(records)
    return log


async def _events(client: KafkaSettings, service: ServiceSettings) -> list[MemoryEvent]:
    """Every event there is, also what came after the last one that was waited for."""
    found: list[MemoryEvent] = []
    topics = service.topics
    async with MemoryEventSubscriber(client, since="beginning", follow=False, topics=topics) as events:
        async for received in events:
            assert not isinstance(received.event, UnknownEvent)
            found.append(received.event)
    return found


async def _fold_settings(service: ServiceSettings) -> FoldSettings:
    embedder = await open_embedder(service.embedder)
    try:
        return service.fold(embedder)
    finally:
        await embedder.close()


async def _all_points(
    connection: AsyncQdrantClient, fold: FoldSettings
) -> tuple[dict[int, dict[str, StoredPoint]], dict[int, Checkpoint]]:
    """Every point of the store by partition, and the checkpoints; vectors are there exactly where there is content."""
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
            assert ("dense" in vectors) == ("content" in payload)
            dense = vectors.get("dense")
            assert dense is None or (isinstance(dense, list) and len(dense) == fold.dimension)
        if offset is None:
            return points, checkpoints


def _check_plan(
    log: dict[int, list[Record]],
    fold: FoldSettings,
    stored: dict[int, dict[str, StoredPoint]],
    checkpoints: dict[int, Checkpoint],
) -> None:
    endings: Counter[str] = Counter()
    for partition, records in log.items():
        whole = fold_all(records, fold)
        assert whole.points == stored[partition]
        assert checkpoints[partition].next == records[-1].offset + 1
        endings.update("evicted" for p in whole.points.values() if getattr(p, "status", None) == "evicted")
    assert endings["evicted"] > 100, "the bound was at work"


def _check_told(
    log: dict[int, list[Record]], fold: FoldSettings, told: list[MemoryEvent], letters: dict[int, list[Record]]
) -> None:
    """Every command that can be read has one outcome event, which says how it ended; so have dead letters."""
    expected: Counter[object] = Counter()
    buried: Counter[tuple[str, str]] = Counter()
    for partition, records in log.items():
        for decision in fold_all(records, fold).decisions:
            offset = decision.item.record.offset
            if decision.outcome is not None:
                expected[partition, offset, decision.outcome.event, decision.outcome.reason] += 1
            if decision.fault is not None:
                buried[str(partition), str(offset)] += 1
    found: Counter[object] = Counter()
    for event in told:
        assert event.command is not None
        reason = event.reason if isinstance(event, Skipped) else None
        found[event.command.partition, event.command.offset, event.TYPE, reason] += 1
    assert found == expected, "one outcome event a command, whatever was killed"
    assert len(buried) > 50
    where = (dict(letter.headers) for each in letters.values() for letter in each)
    assert buried == Counter((h["afterturn_partition"].decode(), h["afterturn_offset"].decode()) for h in where)


def fold_all(records: list[Record], fold: FoldSettings) -> WholeLog:
    """The whole log of a partition folded in one go, with nothing before it."""
    return fold_log([decode(record, fold) for record in records], fold)


def _check_naive(log: dict[int, list[Record]], fold: FoldSettings, stored: dict[int, dict[str, StoredPoint]]) -> None:
    for partition, records in log.items():
        expected = naive_fold(records, fold)
        assert_same_points(stored[partition], expected.points)
        assert_same_endings(fold_all(records, fold).decisions, expected.ended)
        assert len(expected.ended) == len(records)
        assert {e.ending for e in expected.ended} <= {"applied", "duplicate", "skipped", "dead_lettered"}
