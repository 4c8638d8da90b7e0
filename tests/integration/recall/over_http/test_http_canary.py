"""What agents are told, and what opens the service, is in no log, metric, event or error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from uuid import uuid4

import pytest
from support.api import Caller, Keys
from support.recall_service import Served

from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber
from afterturn.streams.topics import TopicNames

Calling = Callable[..., Caller]
CANARY = "canary-7f3a"
_OUR_CLIENT = ("httpx", "httpcore")
"""What the test itself asks with says what it asks."""


async def test_a_canary_is_nowhere_but_in_memories(
    api: tuple[Served, Keys],
    recorded: dict[str, str],
    caller: Calling,
    tenant: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    service, _ = api
    ada = caller()
    secret = ada.headers["authorization"].rpartition("_")[2]
    with caplog.at_level(logging.DEBUG):
        id_ = await ada.remember(CANARY, tags=[CANARY], data={CANARY: CANARY}, key=CANARY)
        await ada.say("t", "1", CANARY)
        assert CANARY in (await ada.get(f"/v1/memories/{id_}")).text, "the canary lives"
        told = [
            await ada.post("/v1/memories", {"content": CANARY, "contents": CANARY}),
            await ada.post("/v1/memories", {"content": CANARY, "kind": CANARY}),
            await ada.post("/v1/memories", {"content": CANARY, "data": {CANARY: 2**70}}),
            await ada.post("/v1/turns", {"messages": [{"role": CANARY, "content": CANARY}]}),
            await ada.post("/v1/recall", {"text": CANARY, "limit": CANARY}),
            await ada.post("/v1/forget", {"ids": [CANARY]}),
            await ada.get("/v1/memories", sort=CANARY),
            await ada.get("/v1/memories", cursor=CANARY),
            await ada.get("/v1/memories", **{"scope.user": CANARY + "\u0007"}),
            await ada.get(f"/v1/memories/{CANARY}"),
            await ada.get(f"/v1/threads/{CANARY}"),
            await ada.get(f"/v1/writes/{CANARY}"),
            await ada.get(f"/v1/{CANARY}"),
            await ada.client.get(f"/v1/stats?{CANARY}", headers=ada.headers | {"authorization": f"Bearer {CANARY}"}),
        ]
        metrics = (await service.client.get("/metrics")).text
    assert all(answer.status_code >= 400 for answer in told)
    logged = "".join(record.getMessage() for record in caplog.records if not record.name.startswith(_OUR_CLIENT))
    seen = "".join(answer.text for answer in told) + metrics + logged + await _events(recorded, tenant)
    assert tenant in seen, "the events were read"
    assert CANARY not in seen
    assert secret not in seen


async def _events(environment: dict[str, str], tenant: str) -> str:
    """All memory events of a tenant as text, headers and all."""
    subscriber = MemoryEventSubscriber(
        KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"], client_id=uuid4().hex),
        tenants=[tenant],
        since="beginning",
        follow=False,
        topics=TopicNames(environment["AFTERTURN_TOPIC_PREFIX"]),
    )
    async with subscriber as events:
        return "".join([repr(received) async for received in events])
