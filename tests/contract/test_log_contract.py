"""What we ask of a log, on the session's Kafka and on the embedded broker alike."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest
from support.kafka import KafkaBroker
from support.log import Log, until

from afterturn.streams.errors import (
    BrokerUnavailable,
    DeadLetter,
    Fenced,
    LogCut,
    RecordTooLarge,
    Reopen,
    Stop,
    TransactionFailed,
    UnknownTopic,
    Unusable,
)
from afterturn.streams.kafka import (
    Admin,
    GroupConsumer,
    GroupTiming,
    KafkaSettings,
    LogReader,
    OutRecord,
    Position,
    Producer,
    TransactionalProducer,
)
from afterturn.streams.partitioner import Partitioner, partition_for
from afterturn.streams.topics import TopicNames, TopicShape, create_or_check, plans

TIMING = GroupTiming(session=6.0, heartbeat=0.2, rebalance=10.0, poll=60.0)


@pytest.fixture(params=["session", "embedded"])
def broker(request: pytest.FixtureRequest) -> KafkaBroker:
    """The session's Kafka, and the embedded broker where that is another one."""
    session: KafkaBroker = request.getfixturevalue("kafka")
    if request.param == "session":
        return session
    if session.kind == "embedded":
        pytest.skip("the session's Kafka is the embedded broker")
    embedded: KafkaBroker = request.getfixturevalue("embedded_kafka")
    return embedded


@pytest.fixture
async def log(broker: KafkaBroker, topic_prefix: str) -> AsyncIterator[Log]:
    """A broker, a topic with three partitions, and what a test opens on it."""
    async with Log.on(broker, topic_prefix) as it:
        yield it


class Events:
    """Records what a member of a group is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, frozenset[int]]] = []

    async def assigned(self, partitions: frozenset[int]) -> None:
        self.told.append(("assigned", partitions))

    async def revoked(self, partitions: frozenset[int]) -> None:
        self.told.append(("revoked", partitions))

    def owned(self) -> frozenset[int]:
        """What the last callback left us with."""
        return self.told[-1][1] if self.told and self.told[-1][0] == "assigned" else frozenset()


def member(log: Log, events: Events) -> GroupConsumer:
    return GroupConsumer(
        log.settings, log.topic, log.group, on_assigned=events.assigned, on_revoked=events.revoked, timing=TIMING
    )


async def polled(*consumers: GroupConsumer, until_true: Callable[[], bool]) -> None:
    """Poll the members until it is so."""

    async def once() -> bool:
        for consumer in consumers:
            await consumer.getmany(0.05)
        return until_true()

    await until(once)


# Records


async def test_a_record_comes_back_as_it_was_sent(log: Log) -> None:
    before = int(time.time() * 1000) - 2_000
    async with Producer(log.settings) as producer:
        sent = OutRecord(log.topic, b"tenant", b'{"a":1}', (("ce_type", b"turn.completed.v1"), ("ce_id", b"1")))
        position = await producer.send(sent)
    [record] = await log.read(position.partition)
    assert (record.key, record.value, record.headers) == (sent.key, sent.value, sent.headers)
    assert (record.topic, Position(record.partition, record.offset)) == (log.topic, position)
    assert before <= record.timestamp_ms <= time.time() * 1000 + 2_000


@pytest.mark.parametrize("partitioner", ["murmur2", "crc32"])
async def test_the_key_decides_the_partition(log: Log, partitioner: Partitioner) -> None:
    async with Producer(log.settings, partitioner=partitioner) as producer:
        for key in (b"a", b"tenant-7", "größe".encode(), b"x" * 100):
            position = await producer.send(OutRecord(log.topic, key, b"v"))
            assert position.partition == partition_for(key, 3, partitioner)


async def test_a_named_partition_wins_and_needs_no_key(log: Log) -> None:
    async with Producer(log.settings) as producer:
        assert (await producer.send(OutRecord(log.topic, None, b"v", partition=2))).partition == 2
        with pytest.raises(ValueError, match="no partition 3"):
            await producer.send(OutRecord(log.topic, None, b"v", partition=3))
        with pytest.raises(ValueError, match="needs a key or a partition"):
            await producer.send(OutRecord(log.topic, None, b"v"))


async def test_what_is_sent_without_waiting_keeps_its_order(log: Log) -> None:
    async with Producer(log.settings) as producer:
        tasks = [producer.send_nowait(OutRecord(log.topic, b"k", b"%d" % at, partition=0)) for at in range(300)]
        positions = await asyncio.gather(*tasks)
    assert [each.offset for each in positions] == list(range(300))
    assert [record.value for record in await log.read(0, 300)] == [b"%d" % at for at in range(300)]


async def test_the_log_says_when_it_took_a_record(log: Log) -> None:
    """LogAppendTime: times grow with offsets, whatever a publisher's clock says."""
    async with Producer(log.settings) as producer:
        first = await producer.send(OutRecord(log.topic, b"k", b"1", partition=0))
        second = await producer.send(OutRecord(log.topic, b"k", b"2", partition=0))
    records = await log.read(0, 2)
    assert [record.offset for record in records] == [first.offset, second.offset]
    assert records[0].timestamp_ms <= records[1].timestamp_ms
    async with Admin(log.settings) as admin:
        assert (await admin.config(log.topic))["message.timestamp.type"] == "LogAppendTime"


async def test_a_record_of_two_megabytes_goes_through_and_a_larger_one_is_refused(log: Log) -> None:
    incompressible = noise(2_000_000)
    async with Producer(log.settings, max_request_size=log.max_bytes) as producer:
        position = await producer.send(OutRecord(log.topic, b"k", incompressible, partition=0))
        with pytest.raises(RecordTooLarge) as caught:
            await producer.send(OutRecord(log.topic, b"k", noise(log.max_bytes), partition=0))
        assert isinstance(caught.value, DeadLetter)
        assert (caught.value.topic, caught.value.limit) == (log.topic, log.max_bytes)
        following = await producer.send(OutRecord(log.topic, b"k", b"small", partition=0))
    assert following.offset == position.offset + 1
    assert [len(record.value or b"") for record in await log.read(0, 2)] == [2_000_000, 5]


async def test_a_producer_goes_on_after_the_broker_refused_a_record(log: Log) -> None:
    """A refused batch leaves a hole in the sequence, so that a broker refuses all that follows it."""
    async with Producer(log.settings, max_request_size=4 * log.max_bytes) as producer:
        await producer.send(OutRecord(log.topic, b"k", b"before", partition=0))
        with pytest.raises((RecordTooLarge, BrokerUnavailable)):
            await producer.send(OutRecord(log.topic, b"k", noise(2 * log.max_bytes), partition=0))
        await producer.send(OutRecord(log.topic, b"k", b"after", partition=0))
    assert [record.value for record in await log.read(0, 2)] == [b"before", b"after"]


# Topics


async def test_an_unknown_topic_is_said_at_once(log: Log) -> None:
    missing = f"{log.topic}.missing"
    began = time.monotonic()
    async with Producer(log.settings) as producer:
        with pytest.raises(UnknownTopic) as caught:
            await producer.send(OutRecord(missing, b"k", b"v"))
        assert isinstance(caught.value, Stop)
        assert caught.value.topic == missing
        await producer.send(OutRecord(log.topic, b"k", b"v"))
    async with TransactionalProducer(log.settings, log.transactional_id) as transactional:
        with pytest.raises(UnknownTopic):
            await transactional.commit([OutRecord(missing, b"k", b"v")], {}, log.group)
        assert transactional.usable
    with pytest.raises(UnknownTopic):
        await LogReader(log.settings, missing).start()
    with pytest.raises(UnknownTopic):
        await GroupConsumer(
            log.settings, missing, log.group, on_assigned=Events().assigned, on_revoked=Events().revoked
        ).start()
    async with LogReader(log.settings, log.topic) as reader:
        with pytest.raises(UnknownTopic):
            await reader.end_offsets([7])
    assert time.monotonic() - began < 30
    async with Admin(log.settings) as admin:
        assert await admin.topic(missing) is None, "asking must not create"


async def test_topics_are_created_as_planned_and_checked(log: Log) -> None:
    wanted = plans(TopicNames(f"{log.topic}.plan"), TopicShape(partitions=2, replication=1))
    async with Admin(log.settings) as admin:
        assert [str(each) for each in await create_or_check(admin, wanted)] == []
        assert [str(each) for each in await create_or_check(admin, wanted, create=False)] == []
        other = plans(TopicNames(f"{log.topic}.plan"), TopicShape(partitions=3, replication=1, retention_days=1))
        found = await create_or_check(admin, other)
        assert {(each.topic.rsplit(".", 1)[1], each.setting, each.severity) for each in found} == {
            *((name, "partitions", "wrong") for name in ("turns", "memory-events", "dead-letter")),
            *((name, "retention.ms", "note") for name in ("turns", "dead-letter")),
        }
        assert await admin.brokers() == 1


# Transactions


async def test_a_transaction_shows_all_of_it_or_nothing(log: Log) -> None:
    async with TransactionalProducer(log.settings, log.transactional_id) as producer:
        records = [OutRecord(log.topic, b"k", b"%d" % at, partition=at % 3) for at in range(6)]
        await producer.commit(records, {(log.topic, 0): 4, (log.topic, 1): 9}, log.group)
        await producer.commit([], {(log.topic, 0): 5}, log.group)
        await producer.commit([], {}, log.group)
    for partition in range(3):
        assert [record.value for record in await log.read(partition, 2)] == [b"%d" % partition, b"%d" % (partition + 3)]
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0, 1, 2]) == {0: 5, 1: 9, 2: None}


async def test_a_record_too_large_commits_nothing_of_its_transaction(log: Log) -> None:
    """The client would commit the rest: `commit_transaction` succeeds although a send failed."""
    small, large = OutRecord(log.topic, b"k", b"small", partition=0), noise(2 * log.max_bytes)
    too_large = OutRecord(log.topic, b"k", large, partition=0)
    async with TransactionalProducer(log.settings, log.transactional_id, max_request_size=log.max_bytes) as refusing:
        with pytest.raises(RecordTooLarge):
            await refusing.commit([small, too_large], {(log.topic, 0): 7}, log.group)
        assert refusing.usable, "nothing was sent"
    trusting = TransactionalProducer(log.settings, log.transactional_id, max_request_size=4 * log.max_bytes)
    async with trusting:
        with pytest.raises((RecordTooLarge, Reopen)):
            await trusting.commit([small, too_large], {(log.topic, 0): 7}, log.group)
        assert not trusting.usable
        with pytest.raises(Unusable):
            await trusting.commit([small], {}, log.group)
    async with TransactionalProducer(log.settings, log.transactional_id) as following:
        await following.commit([OutRecord(log.topic, b"k", b"following", partition=0)], {}, log.group)
    assert [record.value for record in await log.read(0, 1)] == [b"following"]
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0]) == {0: None}


async def test_the_last_start_fences(log: Log) -> None:
    async with AsyncExitStack() as stack:
        zombie = await stack.enter_async_context(TransactionalProducer(log.settings, log.transactional_id))
        await zombie.commit([OutRecord(log.topic, b"k", b"zombie's first", partition=0)], {}, log.group)
        owner = await stack.enter_async_context(TransactionalProducer(log.settings, log.transactional_id))
        with pytest.raises(Fenced) as caught:
            await zombie.commit([OutRecord(log.topic, b"k", b"too late", partition=0)], {(log.topic, 0): 1}, log.group)
        assert isinstance(caught.value, Reopen)
        assert caught.value.transactional_id == log.transactional_id
        for _ in range(2):
            with pytest.raises(Unusable):
                await zombie.commit([], {(log.topic, 0): 1}, log.group)
        await owner.commit([OutRecord(log.topic, b"k", b"owner's", partition=0)], {(log.topic, 0): 2}, log.group)
    assert [record.value for record in await log.read(0, 2)] == [b"zombie's first", b"owner's"]
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0]) == {0: 2}


async def test_offsets_alone_are_fenced_too(log: Log) -> None:
    async with AsyncExitStack() as stack:
        zombie = await stack.enter_async_context(TransactionalProducer(log.settings, log.transactional_id))
        owner = await stack.enter_async_context(TransactionalProducer(log.settings, log.transactional_id))
        with pytest.raises(Fenced):
            await zombie.commit([], {(log.topic, 0): 1}, log.group)
        await owner.commit([], {(log.topic, 0): 2}, log.group)
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0]) == {0: 2}


async def test_a_start_ends_the_open_transaction_of_its_id(log: Log) -> None:
    """A lane that died in a transaction must not stall readers until its timeout."""
    left_open = await log.open_transaction(OutRecord(log.topic, b"k", b"left open", partition=0))
    try:
        async with TransactionalProducer(log.settings, log.transactional_id) as owner:
            await owner.commit([OutRecord(log.topic, b"k", b"owner's", partition=0)], {}, log.group)
            assert [record.value for record in await log.read(0, 1)] == [b"owner's"]
    finally:
        await left_open.close()


async def test_a_cancelled_commit_makes_the_producer_unusable(log: Log) -> None:
    async with TransactionalProducer(log.settings, log.transactional_id) as producer:
        task = asyncio.ensure_future(producer.commit([OutRecord(log.topic, b"k", b"v", partition=0)], {}, log.group))
        await until(lambda: _now(not producer.usable), tick=0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(Unusable):
            await producer.commit([], {(log.topic, 0): 1}, log.group)
    async with TransactionalProducer(log.settings, log.transactional_id) as following:
        await following.commit([OutRecord(log.topic, b"k", b"following", partition=0)], {}, log.group)
    values = [record.value for record in await log.read(0, 1)]
    assert values[-1] == b"following" or values == [b"v"], "the outcome of what was cut off is unknown"


async def test_a_commit_that_takes_longer_than_its_deadline_fails_typed(log: Log) -> None:
    async with TransactionalProducer(log.settings, log.transactional_id, deadline=10.0) as producer:
        producer._deadline = 0.0
        with pytest.raises(TransactionFailed) as caught:
            await producer.commit([], {(log.topic, 0): 1}, log.group)
        assert not producer.usable
        assert caught.value.step in {"begin", "offsets", ""}
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0]) == {0: None}


async def test_a_transaction_that_outlives_its_timeout_is_fenced(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    if log.broker.kind == "embedded":
        pytest.skip("the embedded broker does not enforce transaction timeouts")
    record = OutRecord(log.topic, b"k", b"v", partition=0)
    async with (
        TransactionalProducer(log.settings, log.transactional_id, transaction_timeout=1.0) as producer,
        LogReader(log.settings, log.topic) as reader,
    ):
        send_offsets = producer._client.send_offsets_to_transaction

        async def once_aborted(*args: object) -> None:
            async def aborted() -> bool:
                return (await reader.end_offsets([0]))[0] > 1  # the marker of the abort is there

            await until(aborted)
            await send_offsets(*args)

        monkeypatch.setattr(producer._client, "send_offsets_to_transaction", once_aborted)
        with pytest.raises(Fenced):
            await producer.commit([record], {(log.topic, 0): 1}, log.group)
    async with Admin(log.settings) as admin:
        assert await admin.committed(log.group, log.topic, [0]) == {0: None}


# Groups


async def test_partitions_arrive_paused_and_raise_nothing_without_a_committed_offset(log: Log) -> None:
    """Also where the log no longer starts at 0, so that the placeholder is out of range."""
    await log.fill(0, 10)
    await log.cut(0, 5)
    events = Events()
    async with member(log, events) as consumer:
        await polled(consumer, until_true=lambda: events.owned() == {0, 1, 2})
        for _ in range(10):
            assert await consumer.getmany(0.1) == {}
        assert await consumer.committed(0) is None
        consumer.seek(0, 5)
        consumer.resume([0])
        assert [record.offset for record in await log.poll(consumer, 0, 5)] == [5, 6, 7, 8, 9]


async def test_pause_holds_back_and_resume_goes_on(log: Log) -> None:
    await log.fill(0, 5)
    await log.fill(1, 5)
    events = Events()
    async with member(log, events) as consumer:
        await polled(consumer, until_true=lambda: events.owned() == {0, 1, 2})
        consumer.seek(0, 0)
        consumer.seek(1, 2)
        consumer.resume([0, 1, 99])
        assert [record.offset for record in await log.poll(consumer, 0, 5, only=False)] == [0, 1, 2, 3, 4]
        consumer.pause([0, 99])
        await log.fill(0, 5)
        await log.fill(1, 1)
        later = await log.poll(consumer, 1, 1, only=False)
        assert later[-1].offset == 5
        assert 0 not in await consumer.getmany(0.5)
        consumer.seek(0, 3)
        consumer.resume([0])
        assert [record.offset for record in await log.poll(consumer, 0, 7)] == [3, 4, 5, 6, 7, 8, 9]


async def test_a_second_member_takes_its_share_and_gives_it_back(log: Log) -> None:
    first, second = Events(), Events()
    async with member(log, first) as one:
        await polled(one, until_true=lambda: first.owned() == {0, 1, 2})
        async with member(log, second) as two:
            await polled(one, two, until_true=lambda: bool(second.owned()) and bool(first.owned() - {0, 1, 2} or 1))
            await polled(
                one, two, until_true=lambda: first.owned() | second.owned() == {0, 1, 2} and len(first.owned()) < 3
            )
            assert not first.owned() & second.owned()
            assert one.assigned() == first.owned()
        await polled(one, until_true=lambda: first.owned() == {0, 1, 2})
    changes = [kind for kind, partitions in first.told if partitions]
    assert changes[:5] == ["assigned", "revoked", "assigned", "revoked", "assigned"]
    assert first.told[1] == ("revoked", frozenset({0, 1, 2})) or ("revoked", frozenset({0, 1, 2})) in first.told


async def test_an_error_of_a_callback_comes_out_of_the_next_poll(log: Log) -> None:
    async def refuse(partitions: frozenset[int]) -> None:
        raise LogCut(log.topic, min(partitions), 5)

    events = Events()
    consumer = GroupConsumer(
        log.settings, log.topic, log.group, on_assigned=refuse, on_revoked=events.revoked, timing=TIMING
    )
    async with consumer:
        with pytest.raises(LogCut):
            await polled(consumer, until_true=lambda: False)


async def test_committed_offsets_outside_of_transactions(log: Log) -> None:
    events = Events()
    async with member(log, events) as consumer:
        await polled(consumer, until_true=lambda: events.owned() == {0, 1, 2})
        await consumer.commit({0: 3, 2: 1})
        assert [await consumer.committed(partition) for partition in range(3)] == [3, None, 1]


# Reading by oneself


async def test_first_last_and_timed_offsets(log: Log) -> None:
    await log.fill(0, 10)
    await log.cut(0, 4)
    async with LogReader(log.settings, log.topic) as reader:
        assert await reader.partitions() == 3
        assert await reader.beginning_offsets([0, 1]) == {0: 4, 1: 0}
        assert await reader.end_offsets([0, 1]) == {0: 10, 1: 0}
        await reader.assign({0: 7})
        records = await log.poll(reader, 0, 3)
        assert [record.offset for record in records] == [7, 8, 9]
        assert await reader.offsets_for_times({0: records[-1].timestamp_ms + 3_600_000}) == {0: None}
        found = (await reader.offsets_for_times({0: records[0].timestamp_ms}))[0]
        assert found is not None
        assert 4 <= found <= 7


async def test_the_end_of_a_log_is_what_can_be_read(log: Log) -> None:
    """The last stable offset: an open transaction holds it back."""
    await log.fill(0, 2)
    open_transaction = await log.open_transaction(OutRecord(log.topic, b"k", b"not yet", partition=0))
    try:
        async with LogReader(log.settings, log.topic) as reader:
            assert await reader.end_offsets([0]) == {0: 2}
            await reader.assign({0: 0})
            assert [record.offset for record in await log.poll(reader, 0, 2)] == [0, 1]
            assert await reader.getmany(0.3) == {}
    finally:
        await open_transaction.close()


@pytest.mark.parametrize("wanted", [1, 50])
async def test_a_position_the_log_does_not_hold_is_a_stop(log: Log, wanted: int) -> None:
    await log.fill(0, 10)
    await log.cut(0, 5)
    async with LogReader(log.settings, log.topic) as reader:
        await reader.assign({0: wanted})
        with pytest.raises(LogCut) as caught:
            await log.poll(reader, 0, 1)
    assert isinstance(caught.value, Stop)
    assert (caught.value.topic, caught.value.partition, caught.value.wanted) == (log.topic, 0, wanted)


# Away


async def test_everything_says_so_when_nobody_answers(unused_tcp_port: int) -> None:
    settings = KafkaSettings(bootstrap_servers=f"127.0.0.1:{unused_tcp_port}")
    events = Events()
    starts: list[Callable[[], Awaitable[None]]] = [
        Producer(settings).start,
        TransactionalProducer(settings, "t").start,
        LogReader(settings, "t").start,
        GroupConsumer(settings, "t", "g", on_assigned=events.assigned, on_revoked=events.revoked).start,
        Admin(settings).start,
    ]
    for start in starts:
        with pytest.raises(BrokerUnavailable):
            await start()


def noise(size: int) -> bytes:
    """Bytes that no codec makes smaller."""
    import random

    return random.Random(7).randbytes(size)


async def _now(value: bool) -> bool:
    return value
