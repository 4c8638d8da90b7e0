"""The log is not what it was: read again from its start, made anew, cut beyond the checkpoint."""

from __future__ import annotations

import asyncio
from contextlib import suppress

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from faults.registry import scenario
from faults.world import World
from support.log import until
from support.observing import stored_in

from afterturn.consumers.preparing import prepare
from afterturn.consumers.store.settings import StoreSettings


@scenario(
    "replayed-from-0",
    real="it keeps a group's dead members, so that nobody else can commit",
    seconds=25,
)
async def replayed_from_0(world: World) -> None:
    """The group's offsets set to 0: what is below the checkpoint is read again, and no command is told of twice."""
    recorder = await world.recorder(stays=False)
    world.begin()
    await world.at(0.6)
    await asyncio.to_thread(recorder.finish)
    await _reset(world)
    await asyncio.to_thread(recorder.start)
    await world.finish()


@scenario("topic-made-anew", seconds=15)
async def topic_made_anew(world: World) -> None:
    """The topic deleted and made again, with other turns: the recorder stops before it writes anything."""
    recorder = await world.recorder()
    world.begin()
    await world.finish()
    before = await stored_in(world.store.url, 256)
    await _made_anew(world)
    await world.more(60)
    recorder.start(wait=False)
    said = await world.ended(recorder)
    assert "made anew" in said or "another log" in said
    assert (await stored_in(world.store.url, 256)).points == before.points


@scenario("log-cut", seconds=18)
async def log_cut(world: World) -> None:
    """The log cut beyond the checkpoint: the recorder stops, and says which flag accepts the gap."""
    recorder = await world.recorder()
    world.begin()
    await world.finish()
    before = await stored_in(world.store.url, 256)
    await world.more(60)
    log = await world.keeper.catch_up()
    await world.cut({p: records[-2].offset for p, records in log.items()})
    recorder.start(wait=False)
    said = await world.ended(recorder)
    assert "--accept-gap" in said
    assert (await stored_in(world.store.url, 256)).points == before.points


async def _reset(world: World) -> None:
    """Commit 0 for every partition, as `kafka-consumer-groups --reset-offsets --to-earliest` does."""
    topic = world.service.topics.turns

    async def so() -> bool:
        with suppress(KafkaError):
            consumer = AIOKafkaConsumer(
                bootstrap_servers=world.kafka.bootstrap, group_id=world.service.group, enable_auto_commit=False
            )
            await consumer.start()
            try:
                partitions = [TopicPartition(topic, p) for p in range(world.service.partitions)]
                consumer.assign(partitions)
                await consumer.commit(dict.fromkeys(partitions, 0))
            finally:
                await consumer.stop()
            return True
        return False

    await until(so, world.form.patience, tick=0.2)


async def _made_anew(world: World) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=world.kafka.bootstrap)
    await admin.start()
    try:
        await admin.delete_topics([world.service.topics.turns])

        async def gone() -> bool:
            return world.service.topics.turns not in await admin.list_topics()

        await until(gone, world.form.patience, tick=0.05)
    finally:
        await admin.close()
    assert (await prepare(world.service, world.client, StoreSettings(url=world.store.url))).fine
