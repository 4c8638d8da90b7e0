"""What the clients of a log do while its broker is away, and after: on the session's Kafka and the embedded broker."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator

import pytest
from support.kafka import KafkaBroker
from support.log import Log, until

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import BrokerUnavailable, CommitUnknown, Reopen, Retry, TransactionFailed, Unusable
from afterturn.streams.kafka import (
    GroupConsumer,
    GroupTiming,
    LogReader,
    OutRecord,
    Producer,
    TransactionalProducer,
    start_when_available,
)

SOON = Backoff(first=0.1, cap=0.5)


@pytest.fixture(params=["session", "embedded"])
def broker(request: pytest.FixtureRequest) -> KafkaBroker:
    """A broker that may be killed."""
    broker: KafkaBroker = request.getfixturevalue("kafka" if request.param == "session" else "embedded_kafka")
    if not broker.ours:
        pytest.skip("the broker is not ours to kill")
    if request.param == "session" and broker.kind == "embedded":
        pytest.skip("the session's Kafka is the embedded broker")
    return broker


@pytest.fixture
async def log(broker: KafkaBroker, topic_prefix: str) -> AsyncIterator[Log]:
    """A topic on a broker that is there again afterwards, whatever a test did to it."""
    async with Log.on(broker, topic_prefix) as it:
        yield it
    await asyncio.to_thread(broker.restart)


async def killed(log: Log) -> None:
    """Kill the broker, once it would not lose anything by that."""
    await asyncio.to_thread(log.broker.settle)
    log.broker.kill()


async def test_what_was_acknowledged_survives_a_kill_and_the_rest_follows(log: Log) -> None:
    async with Producer(log.settings, deadline=60.0) as producer:
        before = [await producer.send(OutRecord(log.topic, b"k", b"%d" % at, partition=0)) for at in range(20)]
        await killed(log)
        waiting = [producer.send_nowait(OutRecord(log.topic, b"k", b"%d" % at, partition=0)) for at in range(20, 40)]
        await asyncio.to_thread(log.broker.restart)
        after = await asyncio.gather(*waiting)
    assert [each.offset for each in before + after] == list(range(40))
    assert [record.value for record in await log.read(0, 40)] == [b"%d" % at for at in range(40)]


async def test_a_send_gives_up_at_its_deadline_and_close_comes_back(log: Log) -> None:
    producer = Producer(log.settings, deadline=1.0, close_timeout=0.5)
    await producer.start()
    await producer.send(OutRecord(log.topic, b"k", b"1", partition=0))
    await killed(log)
    began = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        await producer.send(OutRecord(log.topic, b"k", b"2", partition=0))
    late = producer.send_nowait(OutRecord(log.topic, b"k", b"3", partition=0))
    await producer.close()
    assert time.monotonic() - began < 25
    with pytest.raises((BrokerUnavailable, Unusable)):
        await late


async def test_a_commit_without_a_broker_fails_typed_and_close_comes_back(log: Log) -> None:
    producer = TransactionalProducer(log.settings, log.transactional_id, deadline=1.0)
    await producer.start()
    await producer.commit([OutRecord(log.topic, b"k", b"1", partition=0)], {(log.topic, 0): 1}, log.group)
    await killed(log)
    began = time.monotonic()
    with pytest.raises(Reopen) as caught:
        await producer.commit([OutRecord(log.topic, b"k", b"2", partition=0)], {(log.topic, 0): 2}, log.group)
    assert isinstance(caught.value, TransactionFailed | CommitUnknown)
    assert not producer.usable
    await producer.close(1.0)
    assert time.monotonic() - began < 25
    await asyncio.to_thread(log.broker.restart)
    async with TransactionalProducer(log.settings, log.transactional_id) as following:
        await following.commit([OutRecord(log.topic, b"k", b"3", partition=0)], {(log.topic, 0): 3}, log.group)
    assert [record.value for record in await log.read(0, 2)][-1] == b"3"


async def test_a_start_waits_for_the_broker_and_says_so(log: Log) -> None:
    await killed(log)
    waits: list[tuple[Retry, float]] = []
    producer = TransactionalProducer(log.settings, log.transactional_id)
    starting = asyncio.ensure_future(
        start_when_available(producer.start, backoff=SOON, on_wait=lambda error, delay: waits.append((error, delay)))
    )

    async def waited_twice() -> bool:
        return len(waits) >= 2

    await until(waited_twice)
    assert not starting.done()
    await asyncio.to_thread(log.broker.restart)
    await asyncio.wait_for(starting, 30)
    await producer.commit([OutRecord(log.topic, b"k", b"v", partition=0)], {}, log.group)
    await producer.close()
    assert all(isinstance(error, BrokerUnavailable) and 0 < delay <= 0.5 for error, delay in waits)


async def test_waiting_for_a_broker_can_be_cancelled(log: Log) -> None:
    await killed(log)
    reader = LogReader(log.settings, log.topic)
    starting = asyncio.ensure_future(start_when_available(reader.start, backoff=SOON))
    await asyncio.wait({starting}, timeout=0.5)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting


async def test_readers_go_on_where_they_were(log: Log) -> None:
    await log.fill(0, 5)
    owned: set[int] = set()

    async def assigned(partitions: frozenset[int]) -> None:
        owned.update(partitions)

    async def revoked(partitions: frozenset[int]) -> None:
        owned.difference_update(partitions)

    timing = GroupTiming(session=6.0, heartbeat=0.3)
    member = GroupConsumer(log.settings, log.topic, log.group, on_assigned=assigned, on_revoked=revoked, timing=timing)
    async with LogReader(log.settings, log.topic) as reader, member:
        await reader.assign({0: 0})
        assert [record.offset for record in await log.poll(reader, 0, 5)] == [0, 1, 2, 3, 4]

        async def all_ours() -> bool:
            with contextlib.suppress(BrokerUnavailable):
                await member.getmany(0.1)
            return owned == {0, 1, 2}

        await until(all_ours)
        await killed(log)
        for _ in range(5):
            assert await reader.getmany(0.1) == {}
            with contextlib.suppress(BrokerUnavailable):
                assert await member.getmany(0.1) == {}
        await asyncio.to_thread(log.broker.restart)
        await log.fill(0, 5)
        assert [record.offset for record in await log.poll(reader, 0, 5)] == [5, 6, 7, 8, 9]
        await until(all_ours)
        member.seek(0, 8)
        member.resume([0])
        assert [record.offset for record in await log.poll(member, 0, 2)] == [8, 9]


async def test_closing_readers_without_a_broker_comes_back(log: Log) -> None:
    async def told(partitions: frozenset[int]) -> None:
        del partitions

    reader = LogReader(log.settings, log.topic, deadline=1.0)
    member = GroupConsumer(log.settings, log.topic, log.group, on_assigned=told, on_revoked=told)
    await reader.start()
    await member.start()
    await killed(log)
    began = time.monotonic()
    with pytest.raises(BrokerUnavailable):
        await reader.end_offsets([0])
    await reader.close(1.0)
    await member.close(1.0)
    assert time.monotonic() - began < 25
