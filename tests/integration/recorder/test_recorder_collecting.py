"""The store stays bounded under endless turns and threads: what the log can't ask for any more is collected."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, RecordsToDelete
from support.kafka import KafkaBroker
from support.log import until
from support.recording import ANYONE, Recording, recording
from support.store import connect

ROUNDS, TURNS, BOUND = 6, 60, 20


def turn(number: int) -> dict[str, Any]:
    """Every third in a thread of its own."""
    messages = [{"role": "user", "content": f"memory {number}"}, {"role": "assistant", "content": "noted"}]
    made = {"tenant": ANYONE, "thread": f"t{number // 3}", "turn_id": str(number), "messages": messages}
    return {**made, "occurred_at": "2026-01-01T00:00:00Z"}


async def points(it: Recording) -> int:
    """How many points there are in all."""
    async with connect(it.store.url) as client:
        return (await client.count("memories", exact=True)).count


async def test_endless_turns_and_threads_leave_a_store_of_bounded_size(
    kafka: KafkaBroker, topic_prefix: str, tmp_path: Path
) -> None:
    settings = {"max_memories": str(BOUND), "recorder_collect_after": "0.2"}
    async with recording(kafka, topic_prefix, tmp_path, **settings) as it:
        await it.mark("ada")
        tokens = await it.publish(*(turn(n) for n in range(TURNS)))
        await _consumed(it, tokens[-1].offset)
        once = await points(it)
        for round_ in range(1, ROUNDS):
            tokens = await it.publish(*(turn(round_ * TURNS + n) for n in range(TURNS)))
            await _consumed(it, tokens[-1].offset)
            await _cut(kafka, it, tokens[-1].offset - BOUND)
        assert await points(it) <= ROUNDS * once
        last = ROUNDS * TURNS

        async def as_small_as_after_the_first_round() -> bool:
            nonlocal last
            await it.publish(turn(last))  # a lane looks at where the log begins when it has something to commit
            last += 1
            return await points(it) <= once

        await until(as_small_as_after_the_first_round, 60, tick=0.1)
        (token,) = await it.publish(turn(last))
        await _consumed(it, token.offset)
        live = [m for m in await it.memories() if m["status"] == "active"]
        assert len(live) == BOUND
        assert [m["turn_id"] for m in live][-1] == str(last)


async def _consumed(it: Recording, offset: int) -> None:
    async def so() -> bool:
        found = await it.checkpoint()
        return found > offset

    await until(so, 60, tick=0.05)


async def _cut(kafka: KafkaBroker, it: Recording, before: int) -> None:
    """Delete what is before an offset, as retention does."""
    client = AIOKafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    await client.start()
    try:
        await client.delete_records({TopicPartition(it.service.topics.turns, 0): RecordsToDelete(max(before, 0))})
    finally:
        await client.close()
