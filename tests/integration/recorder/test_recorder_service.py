"""The recorder as a service: waits for what is away, stops at what is wrong, ends in order, replays harmlessly."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from pathlib import Path

import httpx
from aiokafka.admin import AIOKafkaAdminClient
from support.kafka import KafkaBroker
from support.log import until
from support.recorders import RecorderProcess, service_environment, service_settings
from support.recording import ANYONE, Recording, recording
from support.store import StoreProcess, start_store

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.dev.child import ChildFailed
from afterturn.consumers.preparing import prepare
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.errors import Retry, Stop
from afterturn.streams.kafka import TransactionalProducer


def turn(turn_id: str, content: str = "something to keep") -> dict[str, object]:
    messages = [{"role": "user", "content": content}]
    fields = {"tenant": ANYONE, "thread": "t", "turn_id": turn_id, "messages": messages}
    return {"occurred_at": "2026-01-01T00:00:00Z", **fields}


async def ended(recorder: RecorderProcess, seconds: float = 60) -> None:
    async def so() -> bool:
        return not recorder.child.running()

    await until(so, seconds, tick=0.05)


async def test_it_waits_for_the_store_and_says_so_and_gets_ready_by_itself(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    store = StoreProcess(tmp_path / "store")
    store.start()
    environment = service_environment(kafka.bootstrap, store.url, topic_prefix, partitions="1")
    client = KafkaSettings(bootstrap_servers=kafka.bootstrap)
    await prepare(service_settings(environment), client, StoreSettings(url=store.url))
    store.stop()
    recorder = RecorderProcess(tmp_path, environment)
    await asyncio.to_thread(recorder.start)

    async def says(name: str) -> bool:
        missing = (await asyncio.to_thread(recorder.ready))["missing"]
        assert isinstance(missing, dict)
        return name in missing

    async def is_ready() -> bool:
        return (await asyncio.to_thread(recorder.ready))["status"] == "ready"

    try:
        await until(lambda: says("qdrant"), 60, tick=0.05)
        async with httpx.AsyncClient(base_url=recorder.url) as http:
            assert (await http.get("/health/ready")).status_code == 503
            assert (await http.get("/health/live")).status_code == 200
        await asyncio.to_thread(store.start)
        await until(is_ready, 60, tick=0.05)
    finally:
        recorder.child.stop()
        store.stop()


async def test_asked_to_end_while_it_waits_it_ends(topic_prefix: str, tmp_path: Path) -> None:
    nowhere = free_port()
    environment = service_environment(f"127.0.0.1:{nowhere}", f"http://127.0.0.1:{nowhere}", topic_prefix)
    recorder = RecorderProcess(tmp_path, environment)
    await asyncio.to_thread(recorder.start)

    async def waits() -> bool:
        return "waiting: " in recorder.child.log_text()

    try:
        await until(waits, 60, tick=0.05)
        assert recorder.child.pid is not None
        os.kill(recorder.child.pid, signal.SIGTERM)
        await ended(recorder, 20)
        assert "Traceback" not in recorder.child.log_text()
    finally:
        recorder.child.kill()


async def test_asked_to_end_while_its_group_waits_for_a_dead_member_it_ends(
    embedded_kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    """The embedded broker gives up nobody: another member waits for ever, and must end when it is asked to."""
    async with recording(embedded_kafka, topic_prefix, tmp_path) as it:
        it.recorder.child.kill()
        another = RecorderProcess(tmp_path, {k: v for k, v in it.recorder.environment.items() if "_RECORDER_" not in k})
        await asyncio.to_thread(another.start)

        async def waits() -> bool:
            return "give out partitions" in str(await asyncio.to_thread(another.ready))

        try:
            await until(waits, 60, tick=0.05)
            assert another.child.pid is not None
            os.kill(another.child.pid, signal.SIGTERM)
            await ended(another, 25)
        finally:
            another.child.kill()


async def test_it_waits_for_kafka_and_says_so(topic_prefix: str, tmp_path: Path, kafka: KafkaBroker) -> None:
    with start_store(tmp_path / "store") as store:
        good = service_environment(kafka.bootstrap, store.url, topic_prefix, partitions="1")
        client = KafkaSettings(bootstrap_servers=kafka.bootstrap)
        await prepare(service_settings(good), client, StoreSettings(url=store.url))
        away = {**good, "KAFKA_BOOTSTRAP_SERVERS": f"127.0.0.1:{free_port()}"}
        recorder = RecorderProcess(tmp_path, away)
        await asyncio.to_thread(recorder.start)

        async def says() -> bool:
            missing = (await asyncio.to_thread(recorder.ready))["missing"]
            return isinstance(missing, dict) and "kafka" in missing

        try:
            await until(says, 60, tick=0.05)
        finally:
            recorder.child.stop()


async def test_a_store_that_goes_away_is_waited_for_and_nothing_is_lost(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    async with recording(kafka, topic_prefix, tmp_path) as it:
        await it.publish(turn("1"))
        await it.consumed(1)
        await asyncio.to_thread(it.store.kill)
        await it.publish(turn("2"), turn("3"))

        async def says() -> bool:
            return (await asyncio.to_thread(it.recorder.ready))["status"] == "waiting"

        await until(says, 60, tick=0.05)
        await asyncio.to_thread(it.store.restart)
        await it.consumed(3)
        assert [p["turn_id"] for p in await it.memories()] == ["1", "2", "3"]


async def test_other_settings_stop_it_with_both_values_and_the_command(it: Recording) -> None:
    """What can't work is refused at the start, and nothing is dropped."""
    await asyncio.to_thread(it.recorder.child.stop)
    settings = {"AFTERTURN_MAX_MEMORIES": "5"}
    other = RecorderProcess(it.store.data_dir.parent, {**it.recorder.environment, **settings})
    with contextlib.suppress(ChildFailed):
        await asyncio.to_thread(other.start)
    await ended(other)
    assert "10000" in other.child.log_text()
    assert "afterturn init" in other.child.log_text()
    assert "Traceback" not in other.child.log_text()


async def test_it_ends_in_order_and_goes_on_where_it_was(it: Recording) -> None:
    await it.publish(*(turn(str(n)) for n in range(50)))
    await it.consumed(50)
    await asyncio.to_thread(it.recorder.child.stop)
    await it.publish(*(turn(str(n)) for n in range(50, 60)))
    await asyncio.to_thread(it.recorder.start)
    await it.consumed(10)
    assert it.endings() == {"applied": 10}, "what was committed is not read again"
    assert [p["position"] for p in await it.memories()] == list(range(60))


async def test_a_log_read_again_from_its_start_changes_nothing(it: Recording) -> None:
    """I-12b; and nothing is told twice."""
    for number in range(4):
        await it.publish(*(turn(f"{number}-{n}") for n in range(5)))
        await it.consumed(5 * (number + 1))
    await asyncio.to_thread(it.recorder.child.stop)
    before, told = await it.memories(), await it.events()
    assert len(told) == 20
    await _set_back(it)
    await asyncio.to_thread(it.recorder.start)
    await it.publish(turn("last"))

    async def recorded() -> bool:
        return len(await it.memories()) == 21

    await until(recorded, 60, tick=0.05)
    assert (await it.memories())[:20] == before
    await asyncio.to_thread(it.recorder.child.stop)
    assert [e.command.offset for e in (await it.events())[20:] if e.command] == [20]


async def _set_back(it: Recording) -> None:
    """Set the group's committed offset back to 0, as an operator does who wants a replay."""
    topic, group = it.service.topics.turns, it.service.group
    async with TransactionalProducer(it.kafka, f"{group}-{topic}-0") as producer:
        await producer.commit([], {(topic, 0): 0}, group)


async def test_a_topic_made_anew_is_another_log_and_stops_it(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    async with recording(kafka, topic_prefix, tmp_path) as it:
        await it.mark("ada")
        await it.publish(turn("1"), turn("2"))
        await it.consumed(2)
        it.recorder.child.stop()
        admin = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        await admin.start()
        await admin.delete_topics([it.service.topics.turns])
        await admin.close()

        async def made() -> bool:
            try:
                return (await prepare(it.service, it.kafka, StoreSettings(url=it.store.url))).fine
            except (Retry, Stop):
                return False

        await until(made, 60, tick=0.2)
        async with TurnPublisher(it.kafka, topics=it.service.topics) as publisher:
            for number in range(2):
                await publisher.publish({**turn(f"other {number}"), "tenant": "ada"})
        with contextlib.suppress(ChildFailed):
            await asyncio.to_thread(it.recorder.start)
        await ended(it.recorder)
        assert "not the one the store has folded in" in it.recorder.child.log_text()
        assert [m["turn_id"] for m in await it.memories()] == ["1", "2"]
