"""The recall service: it waits for what it needs, stops where waiting can't help, and ends in order."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from support.kafka import KafkaBroker, start_embedded
from support.log import until
from support.recall_service import Served, prepared, served
from support.recorders import RecorderProcess, service_environment, service_settings
from support.remembered import Remembering
from support.store import StoreProcess, start_store

from afterturn.consumers.recall.answering.arrivals import tenant_partition
from afterturn.consumers.serving import CannotListen
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.consumers.store.errors import NoCollection, WrongDimension
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.events import Recalled, Skipped
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.streams.errors import BadSettings
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber

HEADERS = {"Afterturn-Tenant": "acme"}
TURN: dict[str, Any] = {
    "thread": "talk",
    "turn_id": "1",
    "occurred_at": "2026-03-01T12:00:00Z",
    "messages": [{"role": "user", "author": "Ada", "content": "I booked the train to Kyoto."}],
}


@pytest.fixture
def plain_store(tmp_path: Path) -> Iterator[StoreProcess]:
    """A store without a collection."""
    with start_store(tmp_path / "plain") as process:
        yield process


@pytest.fixture
async def environment(kafka: KafkaBroker, plain_store: StoreProcess, topic_prefix: str) -> dict[str, str]:
    """Topics and a collection of the test's own."""
    made = service_environment(kafka.bootstrap, plain_store.url, topic_prefix, partitions="3")
    await prepared(made)
    return made


async def ready(service: Served) -> None:
    async def nothing_missing() -> bool:
        return not await service.missing()

    await until(nothing_missing)


async def ask(service: Served, text: str = "Which train?", **query: Any) -> httpx.Response:
    return await service.client.post("/v1/recall", json={"text": text} | query, headers=HEADERS)


async def remember(environment: dict[str, str], *texts: str) -> list[Token]:
    """Write memories of the tenant ``acme``."""
    embedder = await open_embedder("wordllama")
    async with opened(StoreSettings(url=environment["QDRANT_URL"])) as client:
        fold = service_settings(environment).fold(embedder)
        tokens = await Remembering(client, embedder, fold).remember("acme", texts)
    await embedder.close()
    return tokens


async def test_it_starts_with_everything_away_and_gets_ready_by_itself(
    plain_store: StoreProcess, tmp_path: Path, topic_prefix: str
) -> None:
    broker = await asyncio.to_thread(start_embedded, tmp_path / "kafka")
    environment = service_environment(broker.bootstrap, plain_store.url, topic_prefix, partitions="3")
    try:
        await prepared(environment)
        await remember(environment, "The train to Kyoto")
        await asyncio.to_thread(broker.settle)
        broker.kill()
        plain_store.kill()
        async with served(environment, publish_timeout=2) as service:
            missing = await service.missing()
            assert set(missing) == {"qdrant", "collection", "kafka"}
            for path, body in (("/v1/recall", {}), ("/v1/turns", TURN)):
                answer = await service.client.post(path, json=body, headers=HEADERS)
                assert answer.status_code == 503
                assert int(answer.headers["retry-after"]) > 0
            await asyncio.to_thread(plain_store.restart)

            async def only_kafka_is_missing() -> bool:
                return set(await service.missing()) == {"kafka"}

            await until(only_kafka_is_missing)
            assert (await ask(service)).json()["memories"], "recall needs no Kafka"
            await asyncio.to_thread(broker.restart)
            await ready(service)
            answer = await service.client.post("/v1/turns", json=TURN, headers=HEADERS)
            assert answer.status_code == 202, answer.text
    finally:
        broker.stop()


async def test_a_write_that_may_have_arrived_says_how_it_can_be_sent_again(
    plain_store: StoreProcess, tmp_path: Path, topic_prefix: str
) -> None:
    """What the log took without saying so is applied later: a fact sent anew would be remembered twice."""
    broker = await asyncio.to_thread(start_embedded, tmp_path / "kafka")
    environment = service_environment(broker.bootstrap, plain_store.url, topic_prefix, partitions="3")
    try:
        await prepared(environment)
        async with served(environment, publish_timeout=1) as service:
            await ready(service)
            await asyncio.to_thread(broker.settle)
            broker.kill()
            for path, body, more, safe in (
                ("/v1/memories", {"content": "x"}, {}, False),
                ("/v1/memories", {"content": "x"}, {"idempotency-key": "1"}, True),
                ("/v1/turns", TURN, {}, True),
            ):
                answer = await service.client.post(path, json=body, headers=HEADERS | more)
                assert answer.status_code == 503
                assert ("sending the same again is safe" in answer.text) == safe
                assert ("another write, unless" in answer.text) != safe
    finally:
        broker.stop()


async def test_what_goes_away_later_is_named_and_what_comes_back_is_not(
    environment: dict[str, str], plain_store: StoreProcess
) -> None:
    await remember(environment, "The train to Kyoto")
    async with served(environment) as service:
        await ready(service)
        plain_store.kill()

        async def store_is_missing() -> bool:
            return set(await service.missing()) == {"qdrant"}

        await until(store_is_missing)
        answer = await ask(service)
        assert answer.status_code == 200
        assert answer.json()["degraded"] == ["search"]
        await asyncio.to_thread(plain_store.restart)
        await ready(service)
        assert (await ask(service)).json()["memories"]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("made", ["nothing", "another dimension"])
async def test_a_store_it_was_not_made_for_stops_it(
    kafka: KafkaBroker, plain_store: StoreProcess, topic_prefix: str, made: str
) -> None:
    """Row 47: vectors of another model are never compared: it is a wrong configuration, and said at the start."""
    environment = service_environment(kafka.bootstrap, plain_store.url, topic_prefix, partitions="3")
    if made == "another dimension":
        fold = FoldSettings(embedder="other", dimension=384, topic=f"{topic_prefix}.turns", partitions=3, group="g")
        async with opened(StoreSettings(url=plain_store.url)) as client:
            await create_or_check(client, fold)
    await prepared_topics(environment)
    with pytest.raises((WrongDimension, NoCollection)) as stopped:
        async with served(environment) as service:
            await service.task
    assert "afterturn init" in str(stopped.value)
    if made == "another dimension":
        assert "256" in str(stopped.value)
        assert "384" in str(stopped.value)
    gc.collect()  # the Kafka client leaves a connection open that it was just making; no other test shall be told


async def prepared_topics(environment: dict[str, str]) -> None:
    """Make the topics only."""
    from afterturn.streams.kafka import Admin
    from afterturn.streams.topics import create_or_check as make_topics
    from afterturn.streams.topics import plans

    service = service_settings(environment)
    async with Admin(KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"])) as admin:
        await make_topics(admin, plans(service.topics, service.shape))


def test_a_process_that_stops_says_why_and_exits_with_an_error(
    kafka: KafkaBroker, plain_store: StoreProcess, topic_prefix: str
) -> None:
    environment = service_environment(kafka.bootstrap, plain_store.url, topic_prefix)
    done = subprocess.run(  # a process that does not stop is the failure
        [sys.executable, "-m", "afterturn.consumers", "recall"],
        env={**os.environ, **environment, "AFTERTURN_RECALL_PORT": "0"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "afterturn init" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("host", ["[", "[::1", "a.example", "127.0.0.1.example", "\u00e9"])
async def test_what_names_no_host_of_ours_is_told_so(http_environment: dict[str, str], host: str) -> None:
    async with served(http_environment) as service:
        answer = await service.client.get("/v1/stats", headers=[(b"host", host.encode())])
        assert answer.status_code in (400, 421)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
async def test_it_listens_on_loopback_only(http_environment: dict[str, str], host: str) -> None:
    with pytest.raises(BadSettings, match="AFTERTURN_RECALL_HOST"):
        async with served(http_environment, host=host):
            pass


async def test_a_port_that_is_taken_stops_it(http_environment: dict[str, str]) -> None:
    async with served(http_environment) as service:
        await ready(service)
        port = service.client.base_url.port
        with pytest.raises(CannotListen, match="in use"):
            async with served(http_environment, port=port) as other:
                await other.task


async def test_what_is_being_answered_is_finished(environment: dict[str, str]) -> None:
    (token,) = await remember(environment, "The train to Kyoto")
    coming = Token(token.epoch, token.partition, token.offset + 100, token.receipt)
    async with served(environment, after_wait=1.5) as service:
        await ready(service)
        asking = asyncio.create_task(ask(service, after=str(coming)))

        async def being_answered() -> bool:
            done, _ = await asyncio.wait({asking}, timeout=0.3)
            return not done

        await until(being_answered)
        service.stop.set()
        answer = await asking
        assert answer.status_code == 200
        assert answer.json()["degraded"] == ["after"]
        await service.task


async def test_events_arrive_under_their_tenant_and_keep_nothing_from_being_answered(
    environment: dict[str, str], plain_store: StoreProcess
) -> None:
    await remember(environment, "The train to Kyoto")
    kafka = KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"])
    service_ = service_settings(environment)
    async with MemoryEventSubscriber(kafka, topics=service_.topics, since="beginning") as events:
        async with served(environment) as service:
            await ready(service)
            answer = (await ask(service)).json()
            plain_store.kill()
            await ask(service)
        received = [await anext(events), await anext(events)]  # the queue is flushed at the end
    first, second = (each.event for each in received)
    assert isinstance(first, Recalled)
    assert (first.tenant, first.hits, first.tokens) == ("acme", 1, answer["tokens"])
    assert isinstance(second, Skipped)
    assert (second.operation, second.reason) == ("memory.recall", "unavailable")
    embedder = await open_embedder("wordllama")
    assert {each.partition for each in received} == {tenant_partition("acme", service_.fold(embedder))}
    await embedder.close()


async def test_a_store_behind_what_was_committed_is_said_to_heal(environment: dict[str, str]) -> None:
    """A copy put back: the group has committed more than the checkpoint knows of."""
    (token,) = await remember(environment, "The train to Kyoto")
    service_ = service_settings(environment)
    async with committing(environment) as consumer:
        where = TopicPartition(service_.topics.turns, token.partition)
        consumer.assign([where])
        async with served(environment) as service:
            await ready(service)
            assert (await ask(service)).json()["degraded"] == []
            await consumer.commit({where: token.offset + 2})

            async def heals() -> bool:
                return bool((await ask(service)).json()["degraded"] == ["healing"])

            await until(heals)
            assert (await ask(service)).json()["memories"]
            await consumer.commit({where: token.offset + 1})

            async def healed() -> bool:
                return not await heals()

            await until(healed)


class committing:  # noqa: N801 - used as a function
    """A member of the recorder's group that only commits."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"],
            group_id=environment["AFTERTURN_GROUP"],
            enable_auto_commit=False,
        )

    async def __aenter__(self) -> AIOKafkaConsumer:
        await self._consumer.start()
        return self._consumer

    async def __aexit__(self, *exc_info: object) -> None:
        await self._consumer.stop()


async def test_a_turn_that_was_posted_is_recalled_with_its_token(environment: dict[str, str], tmp_path: Path) -> None:
    """I-04: posted again, it is the same one memory."""
    recorder = RecorderProcess(tmp_path, environment)
    await asyncio.to_thread(recorder.start)
    try:
        async with served(environment, after_wait=60) as service:
            await ready(service)
            for _ in range(2):
                posted = await service.client.post("/v1/turns", json=TURN, headers=HEADERS)
                assert posted.status_code == 202
                answer = await service.client.post(
                    "/v1/recall",
                    json={"text": "Which train?", "after": posted.json()["token"]},
                    headers=HEADERS,
                    timeout=90,
                )
                assert answer.json()["degraded"] == []
                assert [memory["text"] for memory in answer.json()["memories"]] == [TURN["messages"][0]["content"]]
    finally:
        recorder.child.stop()
