"""A topic on a broker, and short ways to write, cut and read it in tests."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Self

from aiokafka import AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete

from afterturn.streams.kafka import (
    Admin,
    GroupConsumer,
    KafkaSettings,
    LogReader,
    OutRecord,
    Producer,
    Record,
    TopicInfo,
)
from support.kafka import KafkaBroker

MAX_BYTES = 2_359_296


async def until(so: Callable[[], Awaitable[bool]], seconds: float = 30.0, tick: float = 0.001) -> None:
    """Wait until it is so: ask again every `tick`, for at most `seconds`."""
    deadline = time.monotonic() + seconds
    while not await so():
        assert time.monotonic() < deadline, f"not so after {seconds} s"
        await asyncio.sleep(tick)  # the loop's other tasks make it so


@dataclass(frozen=True)
class OpenTransaction:
    """A transaction that its owner left open."""

    producer: AIOKafkaProducer

    async def close(self) -> None:
        """Disconnect without ending it."""
        await self.producer.stop()


@dataclass(frozen=True)
class Log:
    """A topic with three partitions."""

    broker: KafkaBroker
    prefix: str
    max_bytes: int = MAX_BYTES

    @classmethod
    @asynccontextmanager
    async def on(cls, broker: KafkaBroker, prefix: str) -> AsyncIterator[Self]:
        """Make the topic."""
        log = cls(broker, prefix)
        config = {"message.timestamp.type": "LogAppendTime", "max.message.bytes": str(log.max_bytes)}
        async with Admin(log.settings) as admin:
            assert await admin.create(TopicInfo(log.topic, 3, 1, config))
            assert not await admin.create(TopicInfo(log.topic, 3, 1, config)), "it exists now"
        yield log

    @property
    def settings(self) -> KafkaSettings:
        """How to reach the broker."""
        return KafkaSettings(bootstrap_servers=self.broker.bootstrap)

    @property
    def topic(self) -> str:
        """The topic's name."""
        return f"{self.prefix}.turns"

    @property
    def group(self) -> str:
        """A group of its own."""
        return f"{self.prefix}.group"

    @property
    def transactional_id(self) -> str:
        """A transactional id of its own."""
        return f"{self.group}-{self.topic}-0"

    async def fill(self, partition: int, count: int) -> None:
        """Write records."""
        async with Producer(self.settings) as producer:
            for at in range(count):
                await producer.send(OutRecord(self.topic, b"k", b"%d" % at, partition=partition))

    async def cut(self, partition: int, before: int) -> None:
        """Delete what is before an offset, as retention does."""
        client = AIOKafkaAdminClient(bootstrap_servers=self.broker.bootstrap)
        await client.start()
        try:
            await client.delete_records({TopicPartition(self.topic, partition): RecordsToDelete(before)})
        finally:
            await client.close()

    async def read(self, partition: int, count: int = 1) -> list[Record]:
        """All committed records of a partition from its start, at least `count`; and no more come."""
        async with LogReader(self.settings, self.topic) as reader:
            start = (await reader.beginning_offsets([partition]))[partition]
            await reader.assign({partition: start})
            records = await self.poll(reader, partition, count)
            return records + (await reader.getmany(0.3)).get(partition, [])

    async def poll(
        self, reader: LogReader | GroupConsumer, partition: int, count: int, *, only: bool = True
    ) -> list[Record]:
        """Poll until `count` records of a partition have come; with `only`, none of another may."""
        records: list[Record] = []

        async def enough() -> bool:
            found = await reader.getmany(0.2)
            assert not only or not found.keys() - {partition}
            records.extend(found.get(partition, []))
            return len(records) >= count

        await until(enough)
        return records

    async def open_transaction(self, record: OutRecord) -> OpenTransaction:
        """Write a record in a transaction with this log's transactional id, and leave the transaction open."""
        producer = AIOKafkaProducer(
            bootstrap_servers=self.broker.bootstrap,
            transactional_id=self.transactional_id,
            transaction_timeout_ms=60_000,
        )
        await producer.start()
        await producer.begin_transaction()
        await producer.send_and_wait(record.topic, record.value, record.key, record.partition)
        return OpenTransaction(producer)
