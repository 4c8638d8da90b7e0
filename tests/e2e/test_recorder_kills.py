"""The recorder, killed three times on the way: the store holds exactly what the log folds to."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest
from support.kafka import KafkaBroker
from support.load import Load, LoadPublisher, is_readable
from support.observing import observe
from support.promises import Promises
from support.recorders import RecorderProcess, service_environment, service_settings
from support.store import start_store

from afterturn.consumers.preparing import prepare
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.schemas.events import UnknownEvent
from afterturn.streams import KafkaSettings, MemoryEventSubscriber

KILLS = 3
PARTITIONS = 4
BOUND = 25
"""Below what a tenant gets, so that memories leave all the time."""

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
        promises = Promises(await observe(client, service, store.url))
    promises.hold()
    _something_happened(promises)


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
    entries = list(Load(service.topics.turns).entries())
    async with LoadPublisher(client, service.topics) as publisher:
        for entry in entries:
            await publisher.publish(entry)
    return sum(map(is_readable, entries))


def _something_happened(promises: Promises) -> None:
    points = [p for folded in promises.folds.values() for p in folded.whole.points.values()]
    assert sum(getattr(p, "status", None) == "evicted" for p in points) > 100, "the bound was at work"
    assert sum(map(len, promises.seen.letters.values())) > 50
