"""What a subscriber of memory events sees, on the session's Kafka."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import orjson
import pytest
from aiokafka import AIOKafkaProducer
from support.kafka import KafkaBroker
from support.log import until

from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import CommandRef, MemoryEvent, Recalled, Recorded, Skipped, UnknownEvent
from afterturn.streams.kafka import Admin, KafkaSettings, LogReader, OutRecord, Producer, Record, TopicInfo
from afterturn.streams.partitioner import partition_for
from afterturn.streams.subscriber import MemoryEventSubscriber, Received
from afterturn.streams.topics import TopicNames

AT = datetime(2026, 1, 1, tzinfo=UTC)
PARTITIONS = 3
TENANTS = ("anna", "ben", "cleo", "dora", "emil")


@dataclass(frozen=True)
class Events:
    """The topic of memory events, and ways to write to it."""

    settings: KafkaSettings
    topics: TopicNames

    def subscriber(self, **options: Any) -> MemoryEventSubscriber:
        """A subscriber; from the beginning to what is there, where nothing else is asked for."""
        return MemoryEventSubscriber(
            self.settings, topics=self.topics, **{"since": "beginning", "follow": False, **options}
        )

    async def seen(self, **options: Any) -> list[Received]:
        """All that a subscriber that does not follow sees."""
        async with self.subscriber(**options) as subscriber:
            return [received async for received in subscriber]

    async def ids(self, **options: Any) -> set[str]:
        """Their ids."""
        return {received.attributes.id for received in await self.seen(**options)}

    async def write(self, *records: OutRecord) -> None:
        """Write records, one after the other."""
        async with Producer(self.settings) as producer:
            for each in records:
                await producer.send(each)

    def record(self, id_: str, event: MemoryEvent | str, tenant: str = "anna", **body: Any) -> OutRecord:
        """An event's record; of a type by name, with any body."""
        partition = partition_for(tenant.encode(), PARTITIONS)
        if isinstance(event, str):
            attributes = Attributes(id_, "test", event, AT)
            value = orjson.dumps({"tenant": tenant, **body})
            return OutRecord(self.topics.memory_events, tenant.encode(), value, attributes.headers(), partition)
        encoded = encode(event, Attributes(id_, "test", event.TYPE, AT))
        return OutRecord(self.topics.memory_events, encoded.key, encoded.value, encoded.headers, partition)

    async def stored(self) -> list[Record]:
        """What a reader of its own finds on the topic."""
        async with LogReader(self.settings, self.topics.memory_events) as reader:
            ends = await reader.end_offsets(range(PARTITIONS))
            await reader.assign(dict.fromkeys(ends, 0))
            found: list[Record] = []

            async def all_read() -> bool:
                for records in (await reader.getmany(0.1)).values():
                    found.extend(records)
                return len(found) >= sum(ends.values())

            await until(all_read)
        return found

    @asynccontextmanager
    async def transaction(self, *records: OutRecord) -> AsyncIterator[AIOKafkaProducer]:
        """Records in a transaction that is open; its end is the caller's."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self.settings.bootstrap_servers, transactional_id=f"{self.topics.prefix}-test"
        )
        await producer.start()
        try:
            await producer.begin_transaction()
            for each in records:
                await producer.send_and_wait(
                    each.topic, each.value, each.key, each.partition, headers=list(each.headers)
                )
            yield producer
        finally:
            await producer.stop()


@pytest.fixture
async def events(kafka: KafkaBroker, topic_prefix: str) -> Events:
    found = Events(KafkaSettings(bootstrap_servers=kafka.bootstrap), TopicNames(topic_prefix))
    config = {"message.timestamp.type": "LogAppendTime"}
    async with Admin(found.settings) as admin:
        assert await admin.create(TopicInfo(found.topics.memory_events, PARTITIONS, 1, config))
    return found


def recorded(tenant: str = "anna", offset: int = 0) -> Recorded:
    ref = CommandRef(id="1", type="turn.completed.v1", epoch=0, partition=0, offset=offset)
    return Recorded(tenant=tenant, command=ref, at=AT, added=1)


def skipped(tenant: str = "anna") -> Skipped:
    return Skipped(tenant=tenant, at=AT, operation="memory.record", reason="duplicate")


def recalled(tenant: str = "anna") -> Recalled:
    return Recalled(tenant=tenant, at=AT, hits=3)


# What is received


async def test_every_event_is_received_as_it_was_published_in_order_by_tenant(events: Events) -> None:
    sent = {f"{tenant}-{at}": recorded(tenant, at) for at in range(5) for tenant in TENANTS}
    await events.write(*(events.record(id_, event) for id_, event in sent.items()))
    found = await events.seen()
    assert {received.attributes.id: received.event for received in found} == sent
    assert len(found) == len(sent)
    for tenant in TENANTS:
        ids = [received.attributes.id for received in found if received.event.tenant == tenant]
        assert ids == [f"{tenant}-{at}" for at in range(5)]
    places = {(record.partition, record.offset): record.timestamp_ms for record in await events.stored()}
    for received in found:
        moment = datetime.fromtimestamp(places.pop((received.partition, received.offset)) / 1_000, UTC)
        assert received.published_at == moment
    assert not places


async def test_without_an_event_there_is_an_end_all_the_same(events: Events) -> None:
    assert await events.seen() == []
    assert await events.seen(since="now") == []
    assert await events.seen(since=AT) == []


async def test_an_event_of_an_unknown_type_is_passed_through(events: Events) -> None:
    await events.write(
        events.record("1", "memory.dreamed.v3", of="sheep", deep={"count": [1, None]}),
        events.record("2", "memory.recorded.v2", "ben", added="many"),
        events.record("3", recorded()),
    )
    found = {received.attributes.id: received for received in await events.seen()}
    assert found["1"].event == UnknownEvent(
        type="memory.dreamed.v3", tenant="anna", body={"tenant": "anna", "of": "sheep", "deep": {"count": [1, None]}}
    )
    assert isinstance(found["2"].event, UnknownEvent)
    assert found["2"].attributes.type == "memory.recorded.v2"
    assert found["3"].event == recorded()
    assert await events.ids(tenants={"anna"}, types={"memory.dreamed"}) == {"1"}
    assert await events.ids(tenants={"ben"}) == {"2"}


async def test_an_unknown_field_is_no_fault(events: Events) -> None:
    """Publishers of a later minor version add fields."""
    at = "2026-01-01T00:00:00Z"
    await events.write(events.record("1", "memory.recalled.v1", at=at, hits=3, mood="good"))
    [received] = await events.seen()
    assert received.event == recalled()


@pytest.mark.parametrize("timestamp_ms", [0, 2**62])
async def test_a_producers_own_time_stops_nothing(kafka: KafkaBroker, topic_prefix: str, timestamp_ms: int) -> None:
    """Where the topic was made by somebody else, a record has the time its producer gives it."""
    events = Events(KafkaSettings(bootstrap_servers=kafka.bootstrap), TopicNames(topic_prefix))
    config = {"message.timestamp.type": "CreateTime", "message.timestamp.after.max.ms": str(2**63 - 1)}
    async with Admin(events.settings) as admin:
        assert await admin.create(TopicInfo(events.topics.memory_events, PARTITIONS, 1, config))
    odd = events.record("1", recorded())
    async with AIOKafkaProducer(bootstrap_servers=kafka.bootstrap) as producer:
        await producer.send_and_wait(
            odd.topic, odd.value, odd.key, odd.partition, timestamp_ms=timestamp_ms, headers=list(odd.headers)
        )
    [received] = await events.seen()
    assert 1970 <= received.published_at.year <= 9999


async def test_malformed_records_are_counted_and_passed_over(events: Events) -> None:
    good = events.record("1", recorded())

    def changed(**changes: Any) -> OutRecord:
        fields = {"key": good.key, "value": good.value, "headers": good.headers, **changes}
        return OutRecord(good.topic, partition=good.partition, **fields)

    bad = [
        changed(headers=()),
        changed(headers=tuple((name, value) for name, value in good.headers if name != "ce_id")),
        changed(headers=tuple((name, b"\xff" if name == "ce_source" else value) for name, value in good.headers)),
        changed(value=b"{not json"),
        changed(value=None),
        changed(value=b""),
        changed(value=orjson.dumps({"tenant": "anna"})),
        changed(value=orjson.dumps([1, 2])),
        changed(value=b"[" * 5_000),
        changed(value=b"\xff", headers=events.record("1", "memory.dreamed.v3").headers),
        changed(value=b"[1]", headers=events.record("1", "memory.dreamed.v3").headers),
        changed(value=None, headers=events.record("1", "memory.dreamed.v3").headers),
        changed(value=b'{"a":' * 500 + b"1" + b"}" * 500, headers=events.record("1", "memory.dreamed.v3").headers),
    ]
    await events.write(*bad, events.record("2", recorded()))
    async with events.subscriber(follow=True) as subscriber:
        received = await anext(subscriber)
    assert received.attributes.id == "2"
    assert subscriber.malformed == len(bad)


# What is selected


@pytest.mark.parametrize(
    ("types", "wanted"),
    [
        (None, {"recorded", "skipped", "recalled", "newer", "unversioned"}),
        ({"memory.recorded"}, {"recorded", "newer"}),
        ({"memory.recorded.v1"}, {"recorded"}),
        ({"memory.recorded.v2"}, {"newer"}),
        ({"memory.recorded.v1", "memory.skipped"}, {"recorded", "skipped"}),
        ({"memory.noted"}, {"unversioned"}),
        ({"memory"}, set()),
        ({"memory.record"}, set()),
        (set(), set()),
    ],
)
async def test_types_are_selected_with_and_without_a_version(
    events: Events, types: Collection[str] | None, wanted: set[str]
) -> None:
    await events.write(
        events.record("recorded", recorded()),
        events.record("skipped", skipped()),
        events.record("recalled", recalled()),
        events.record("newer", "memory.recorded.v2"),
        events.record("unversioned", "memory.noted"),
    )
    assert await events.ids(types=types) == wanted


async def test_of_a_tenant_only_its_partition_is_read(events: Events) -> None:
    """What stands in another is not even looked at."""
    by_partition = tenants_by_partition()
    (here, [mine, neighbour, *_]), *others = sorted(by_partition.items(), key=lambda each: -len(each[1]))
    there = others[0][0]
    stray = events.record("stray", recorded(mine))
    await events.write(
        events.record("mine", recorded(mine)),
        events.record("neighbour", recorded(neighbour)),
        OutRecord(stray.topic, stray.key, stray.value, stray.headers, partition=there),
        OutRecord(stray.topic, stray.key, b"malformed", stray.headers, partition=there),
    )
    async with events.subscriber(tenants={mine}) as subscriber:
        found = [received async for received in subscriber]
    assert [(each.attributes.id, each.partition) for each in found] == [("mine", here)]
    assert subscriber.malformed == 0
    assert await events.ids(tenants={mine, neighbour}) == {"mine", "neighbour"}
    assert await events.ids(tenants={mine}, types={"memory.skipped"}) == set()
    assert await events.ids(tenants=set()) == set()


async def test_the_partitioner_says_where_a_tenant_is(events: Events) -> None:
    tenant = next(
        name
        for name in (f"t{at}" for at in range(100))
        if partition_for(name.encode(), PARTITIONS) != partition_for(name.encode(), PARTITIONS, "crc32")
    )
    written = events.record("1", recorded(tenant))
    partition = partition_for(tenant.encode(), PARTITIONS, "crc32")
    await events.write(OutRecord(written.topic, written.key, written.value, written.headers, partition))
    assert await events.ids(tenants={tenant}, partitioner="crc32") == {"1"}
    assert await events.ids(tenants={tenant}) == set()


def tenants_by_partition() -> Mapping[int, list[str]]:
    found: dict[int, list[str]] = {}
    for at in range(20):
        tenant = f"t{at}"
        found.setdefault(partition_for(tenant.encode(), PARTITIONS), []).append(tenant)
    return found


# Since when, and until when


async def test_now_is_what_comes_after_the_start(events: Events) -> None:
    await events.write(*(events.record(f"before-{tenant}", recorded(tenant)) for tenant in TENANTS))
    async with events.subscriber(since="now", follow=True) as subscriber:
        await events.write(*(events.record(f"after-{tenant}", recorded(tenant)) for tenant in TENANTS))
        found = {(await anext(subscriber)).attributes.id for _ in TENANTS}
    assert found == {f"after-{tenant}" for tenant in TENANTS}


@pytest.fixture
def far_from_greenwich(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock shows another time than UTC."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system takes its time zone from elsewhere")
    monkeypatch.setenv("TZ", "XYZ+7")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_from_greenwich")
async def test_since_a_time_is_what_was_published_then_or_later(events: Events) -> None:
    number = 0

    async def publish_until_the_clock_moved() -> bool:
        nonlocal number
        tenant = TENANTS[number % len(TENANTS)]
        await events.write(events.record(str(number), recorded(tenant)))
        number += 1
        times = {received.published_at for received in await events.seen()}
        return number >= 10 and max(times) - min(times) > timedelta(milliseconds=20)

    await until(publish_until_the_clock_moved)
    everything = await events.seen()
    moments = sorted(received.published_at for received in everything)
    middle = moments[len(moments) // 2]
    assert moments[0] < middle < moments[-1] + timedelta(milliseconds=1)
    for since in (moments[0], middle, moments[-1], moments[-1] + timedelta(milliseconds=1), AT):
        wanted = {received.attributes.id for received in everything if received.published_at >= since}
        assert await events.ids(since=since) == wanted
    assert await events.ids(since=moments[-1] + timedelta(days=365)) == set()
    assert await events.ids(since=datetime(1, 1, 1, tzinfo=UTC)) == await events.ids()
    elsewhere = middle.astimezone(timezone(timedelta(hours=-7)))
    naive = middle.replace(tzinfo=None)
    assert await events.ids(since=elsewhere) == await events.ids(since=naive) == await events.ids(since=middle)


@pytest.mark.parametrize(
    "since",
    [
        "yesterday",
        "",
        "Now",
        "2026-01-01T00:00:00Z",
        None,
        1_767_225_600,
        datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=2))),
    ],
)
def test_a_wrong_since_is_said_before_anything_is_connected(since: Any) -> None:
    with pytest.raises(ContractError) as caught:
        MemoryEventSubscriber(since=since)
    assert caught.value.place == "since"


async def test_following_goes_on_and_not_following_ends(events: Events) -> None:
    await events.write(events.record("1", recorded()))
    async with events.subscriber(follow=True) as following, events.subscriber() as ending:
        assert (await anext(following)).attributes.id == "1"
        assert [received.attributes.id async for received in ending] == ["1"]
        await events.write(events.record("2", recorded()))
        assert (await anext(following)).attributes.id == "2"
        assert [received async for received in ending] == []


async def test_not_following_ends_at_what_was_there_at_its_start(
    events: Events, monkeypatch: pytest.MonkeyPatch
) -> None:
    await events.write(events.record("1", recorded()))
    subscriber = events.subscriber()
    assign = subscriber._reader.assign

    async def publish_and_assign(positions: Mapping[int, int]) -> None:
        await events.write(events.record("2", recorded()))
        await assign(positions)

    monkeypatch.setattr(subscriber._reader, "assign", publish_and_assign)
    async with subscriber:
        assert [received.attributes.id async for received in subscriber] == ["1"]


# Transactions


async def test_what_was_aborted_is_not_seen_and_what_was_committed_is(events: Events) -> None:
    await events.write(events.record("before", recorded()))
    async with events.transaction(events.record("aborted", recorded())) as producer:
        await producer.abort_transaction()
        await producer.begin_transaction()
        each = events.record("committed", recorded())
        await producer.send_and_wait(each.topic, each.value, each.key, each.partition, headers=list(each.headers))
        await producer.commit_transaction()
        await events.write(events.record("after", recorded()))
        async with events.subscriber(follow=True) as subscriber:
            found = [(await anext(subscriber)).attributes.id for _ in range(3)]
        assert found == ["before", "committed", "after"]


@pytest.mark.parametrize("committed", [True, False])
async def test_a_log_that_ends_in_a_transactions_marker_has_an_end(events: Events, committed: bool) -> None:
    await events.write(events.record("before", recorded()))
    async with events.transaction(events.record("in it", recorded())) as producer:
        await (producer.commit_transaction() if committed else producer.abort_transaction())
        wanted = {"before", "in it"} if committed else {"before"}

        async def shown() -> bool:
            return await events.ids() == wanted

        await until(shown, 10.0)


async def test_an_open_transaction_ends_what_is_there(events: Events) -> None:
    await events.write(events.record("before", recorded()))
    async with events.transaction(events.record("in it", recorded())) as producer:
        await events.write(events.record("behind it", recorded()))
        assert await events.ids() == {"before"}
        async with events.subscriber(since="now", follow=True) as subscriber:
            await producer.commit_transaction()
            found = [(await anext(subscriber)).attributes.id for _ in range(2)]
        assert found == ["in it", "behind it"], "now is where reading would go on"
