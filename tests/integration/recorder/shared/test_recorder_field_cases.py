"""What users of other systems met when they recorded, each on a running recorder."""

from __future__ import annotations

import asyncio
from typing import Any
from uuid import uuid4

import httpx
import pytest
from support.commandline import CommandLine
from support.log import until
from support.recall_service import Served, served
from support.recording import Recording

from afterturn.schemas.commands import Configure, Erase, Forget
from afterturn.schemas.events import Recorded, Skipped
from afterturn.schemas.parts import Filter
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Bounds
from afterturn.streams import TurnPublisher
from afterturn.streams.kafka import Admin
from afterturn.streams.partitioner import partition_for

PARTITIONS = 2
pytestmark = pytest.mark.asyncio(loop_scope="module")


def turn(tenant: str, turn_id: str, content: str = "something to keep", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    made = {"tenant": tenant, "thread": "t", "turn_id": turn_id, "occurred_at": "2026-01-01T00:00:00Z"}
    return {**made, "messages": messages, **fields}


def someone_of(partition: int, others: str = "") -> str:
    """A tenant whose turns go to this one of two partitions."""
    names = (f"{others}-{uuid4().hex[:8]}" for _ in iter(int, 1))
    return next(name for name in names if partition_for(name.encode(), PARTITIONS) == partition)


async def live(it: Recording, tenant: str | None = None) -> list[str]:
    return [m["content"] for m in await it.memories(tenant) if m["status"] == "active"]


async def series(it: Recording) -> list[str]:
    async with httpx.AsyncClient(base_url=it.recorder.url) as http:
        text = (await http.get("/metrics")).text
    return [line for line in text.splitlines() if line.startswith("afterturn_")]


async def test_the_same_turn_twice_at_once_is_one_memory(it: Recording) -> None:
    """I-01: two publishers, the same turn id, at the same moment; I-75: its outcome events differ in id."""
    async with TurnPublisher(it.kafka, source="other", topics=it.service.topics) as other:
        await asyncio.gather(*(p.publish(turn(it.tenant, "1")) for p in (it.publisher, other)))
    await it.consumed(2)
    assert len(await it.memories()) == 1
    events = await it.events()
    assert [type(e) for e in events] == [Recorded, Skipped]
    assert len({str(e.command) for e in events}) == 2


async def asked(recall: Served, tenant: str, text: str, after: str | None = None) -> dict[str, Any]:
    query = {"text": text} | ({"after": after} if after else {})
    answer = await recall.client.post("/v1/recall", headers={"Afterturn-Tenant": tenant}, json=query)
    body: dict[str, Any] = answer.raise_for_status().json()
    return body


async def test_the_same_turn_over_kafka_and_over_http_is_one_memory(it: Recording) -> None:
    """I-10: both ways go through the same log, and so through the same check."""
    said = turn(it.tenant, "1", "The ferry leaves at noon.")
    async with served(it.recorder.environment) as recall:
        body = {name: value for name, value in said.items() if name != "tenant"}
        await it.publish(said)
        accepted = await recall.client.post("/v1/turns", headers={"Afterturn-Tenant": it.tenant}, json=body)
        assert accepted.status_code == 202
        answer = await asked(recall, it.tenant, "When does the ferry leave?", accepted.json()["token"])
    await it.consumed(2)
    assert [memory["text"] for memory in answer["memories"]] == ["The ferry leaves at noon."]
    assert len(await it.memories()) == 1
    assert [e.reason for e in await it.events() if isinstance(e, Skipped)] == ["duplicate"]


async def test_a_write_that_fails_shows_nobody_anothers_memory(it: Recording) -> None:
    """I-39: while the store is away, and afterwards, a tenant is answered with its own or with nothing."""
    other = f"{it.tenant}-other"
    await it.publish(turn(it.tenant, "1", "The ferry leaves at noon."))
    await it.consumed(1)
    async with served(it.recorder.environment) as recall:

        async def ready() -> bool:
            return not await recall.missing()

        await until(ready)
        await asyncio.to_thread(it.store.kill)
        token = (await it.publish(turn(other, "1", "The bridge is closed.")))[0]
        try:
            answer = await asked(recall, other, "When does the ferry leave?")
            assert answer["memories"] == []
            assert answer["degraded"]
        finally:
            await asyncio.to_thread(it.store.restart)
        await it.consumed(2)
        answer = await asked(recall, other, "When does the ferry leave?", str(token))
        assert [memory["text"] for memory in answer["memories"]] == ["The bridge is closed."]


async def test_a_forgotten_memory_does_not_come_back_by_its_own_turn(it: Recording) -> None:
    """I-11, I-22: what arrives late of something that was deleted leaves it deleted."""
    await it.publish(turn(it.tenant, "1"))
    await it.publisher.publish_command(
        Forget(tenant=it.tenant, filter=Filter(threads=("t",)), confirm=True, reason="x")
    )
    await it.publish(turn(it.tenant, "1"))
    await it.consumed(3)
    assert await live(it) == []


async def test_a_flooding_tenant_delays_only_tenants_of_its_own_partition(it: Recording) -> None:
    """I-17: somebody else's turn is there while the flood is still coming in."""
    flooding, other = someone_of(0, "flood"), someone_of(1, "quiet")
    flood = [turn(flooding, str(number), "word " * 60) for number in range(3_000)]
    window = asyncio.Semaphore(400)

    async def publish(each: dict[str, Any]) -> None:
        async with window:
            await it.publisher.publish(each)

    await asyncio.gather(*map(publish, flood))
    await it.publish(turn(other, "1"))

    async def there() -> bool:
        return len(await it.memories(other)) == 1

    await until(there, 60, tick=0.02)
    ends = await it.ends(it.service.topics.turns)
    assert await it.checkpoint(0) < ends[0], "the flood is not over yet, or it is no test"
    await it.consumed(3_001, 120)


async def test_no_metric_grows_with_the_tenants(it: Recording) -> None:
    """I-73."""
    await it.publish(turn(it.tenant, "1"))
    await it.consumed(1)
    before = len(await series(it))
    await asyncio.gather(*(it.publish(turn(f"{it.tenant}-{n}", "1")) for n in range(200)))
    await it.consumed(201)
    assert len(await series(it)) == before
    assert it.tenant not in str(await series(it))


async def test_forgetting_everything_leaves_a_tenants_settings(it: Recording) -> None:
    """I-78: its memories are gone, its bound isn't; erasing takes both."""
    await it.publisher.publish_command(
        Configure(tenant=it.tenant, bounds=Bounds(max_memories=2)), ce_id=f"c-{it.tenant}"
    )
    await it.publish(turn(it.tenant, "1"))
    everything = Forget(tenant=it.tenant, filter=Filter(threads=("t",)), confirm=True, reason="asked")
    await it.publisher.publish_command(everything, ce_id=f"f-{it.tenant}")
    await it.publish(*(turn(it.tenant, str(n)) for n in range(2, 6)))
    await it.consumed(7)
    assert len(await live(it)) == 2, "the bound holds"
    erase = Erase(tenant=it.tenant, confirm=it.tenant, reason="asked")
    await it.publisher.publish_command(erase, ce_id=f"e-{it.tenant}")
    await it.publish(*(turn(it.tenant, str(n)) for n in range(6, 10)))
    await it.consumed(12)
    assert len(await live(it)) == 4


async def test_thousands_of_memories_are_erased_by_one_command_and_a_neighbour_keeps_all(it: Recording) -> None:
    """I-19, I-20, I-26: one call, none left, and the event says how many they were."""
    ten = [{"role": "user", "content": f"number {n}"} for n in range(10)]
    window = asyncio.Semaphore(200)

    async def publish(number: int) -> None:
        async with window:
            await it.publisher.publish(turn(it.tenant, str(number)) | {"messages": ten})

    await asyncio.gather(*map(publish, range(250)))
    neighbour = f"{it.tenant}-next"
    await it.publish(turn(neighbour, "1"))
    await it.publisher.publish_command(Erase(tenant=it.tenant, confirm=it.tenant, reason="asked"))
    await it.consumed(252, 120)
    assert len(await live(it, neighbour)) == 1
    (erased,) = [e for e in await it.events() if e.TYPE == "tenant.erased.v1"]
    assert erased.model_dump()["erased"] == 2_500
    assert all("content" not in m for m in await it.memories())


async def test_clearing_a_project_leaves_another(it: Recording) -> None:
    """I-25, I-23: what is forgotten in one scope stays in the other, the same text included."""
    for workspace in ("a", "b"):
        scope = {"workspace": workspace}
        await it.publish(turn(it.tenant, "1", scope=scope), turn(it.tenant, "2", scope=scope))
    chosen = Filter(scope=Scope(workspace="a"))
    await it.publisher.publish_command(Forget(tenant=it.tenant, filter=chosen, confirm=True, reason="asked"))
    await it.consumed(5)
    assert [m["scope"]["workspace"] for m in await it.memories() if m["status"] == "active"] == ["b", "b"]


async def test_another_model_stops_before_anything_is_written(it: Recording) -> None:
    """I-59, I-67: vectors of another size are refused once, at the start, with both sizes; nothing is dropped."""
    await it.publish(turn(it.tenant, "1"))
    await it.consumed(1)
    before = await it.memories()
    other = {
        "AFTERTURN_EMBEDDER": "openai:text-embedding-3-small", "OPENAI_API_KEY": "none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "AFTERTURN_RECORDER_PORT": "0",
    }  # fmt: skip
    line = CommandLine(it.recorder.environment | other)
    ended = await asyncio.to_thread(line.run, "recorder", timeout=60)
    said = " ".join(ended.stderr.split())
    assert ended.returncode == 1
    assert "1536 dimensions" in said
    assert "holds 256" in said
    assert await it.memories() == before


async def test_a_recorder_that_can_not_go_on_is_not_ready_or_ends(it: Recording) -> None:
    """I-18e, I-18f: never a healthy pod that does nothing."""
    await asyncio.to_thread(it.store.kill)
    try:
        await it.publish(turn(it.tenant, "1"))

        async def says() -> bool:
            return (await asyncio.to_thread(it.recorder.ready))["status"] == "waiting"

        await until(says, 60, tick=0.05)
        found = await series(it)
        assert any(line.startswith("afterturn_recorder_retries_total{") for line in found)
        assert any(line.startswith("afterturn_recorder_lag{") and not line.endswith(" 0.0") for line in found)
    finally:
        await asyncio.to_thread(it.store.restart)
    await it.consumed(1)


async def test_a_group_that_waits_long_for_its_store_keeps_its_partitions(it: Recording) -> None:
    """I-18b: waiting is no reason to lose a place: the group is polled all the while, and commits once."""
    async with Admin(it.kafka) as admin:
        before = await admin.committed(it.service.group, it.service.topics.turns, [0, 1])
        openings = [line for line in await series(it) if line.startswith("afterturn_recorder_openings_total")]
        await asyncio.to_thread(it.store.kill)
        await it.publish(turn(it.tenant, "1"))
        loop = asyncio.get_running_loop()
        over = loop.time() + 14.0  # beyond the session timeout of 10 s

        async def long_enough() -> bool:
            return loop.time() > over

        await until(long_enough, 30, tick=0.5)
        await asyncio.to_thread(it.store.restart)
        await it.consumed(1)
        after = await admin.committed(it.service.group, it.service.topics.turns, [0, 1])
    assert sum(n or 0 for n in after.values()) == sum(n or 0 for n in before.values()) + 1
    assert [line for line in await series(it) if line.startswith("afterturn_recorder_openings_total")] == openings


async def test_fifty_parallel_publishers_meet_one_writer(it: Recording) -> None:
    """I-64: an embedded store under concurrent writes: one lane a partition writes, and nothing fails."""
    tenants = [f"{it.tenant}-{n}" for n in range(50)]
    await asyncio.gather(*(it.publish(turn(tenant, "1")) for tenant in tenants))
    await it.consumed(50)
    assert it.endings() == {"applied": 50}
