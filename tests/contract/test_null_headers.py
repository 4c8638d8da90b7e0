"""A header without a value, which other clients may write, is an empty one here, and does no harm."""

from __future__ import annotations

from aiokafka import AIOKafkaProducer
from support.kafka import KafkaBroker
from support.log import Log

from afterturn.streams.kafka import OutRecord, Producer


async def test_a_header_without_a_value_is_read_as_empty_and_can_be_sent_on(
    kafka: KafkaBroker, topic_prefix: str
) -> None:
    async with Log.on(kafka, topic_prefix) as log:
        client = AIOKafkaProducer(bootstrap_servers=kafka.bootstrap)
        await client.start()
        try:
            await client.send_and_wait(log.topic, b"v", b"k", 0, headers=[("nothing", None), ("some", b"x")])
        finally:
            await client.stop()
        found = (await log.read(0))[0]
        assert found.headers == (("nothing", b""), ("some", b"x"))
        async with Producer(log.settings) as producer:
            again = await producer.send(OutRecord(log.topic, found.key, found.value, found.headers, 1))
        assert again.partition == 1
