"""What agents are told, and what opens the service, is in no log, metric, event or error."""

from __future__ import annotations

import logging
from collections.abc import Callable
from uuid import uuid4

import httpx
import pytest
from support.api import Caller, Keys
from support.recall_service import Served

from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber
from afterturn.streams.topics import TopicNames

Calling = Callable[..., Caller]
CANARY = "canary-7f3a"
FIELD = "canary_field"
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
            *(await unknown_fields(ada)),
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
    told = [answer for answer in told if FIELD not in answer.request.content.decode() + str(answer.request.url)]
    assert FIELD not in metrics + logged
    seen = "".join(answer.text for answer in told) + metrics + logged + await _events(recorded, tenant)
    assert tenant in seen, "the events were read"
    assert CANARY not in seen
    assert FIELD not in seen
    assert secret not in seen


async def unknown_fields(ada: Caller) -> list[httpx.Response]:
    """Names of fields are a caller's own words: the answer to it alone names them, if they look like names."""
    said = [{"role": "user", "content": "x"}]
    turn = {"thread": "t", "turn_id": "1", "occurred_at": "2026-01-01T00:00:00Z", "messages": said}
    told = [
        await ada.post("/v1/memories", {"content": "x", FIELD: 1}),
        await ada.post("/v1/memories", {"content": "x", "source": {"type": "tool", "id": "x", FIELD: 1}}),
        await ada.post("/v1/turns", turn | {FIELD: 1}),
        await ada.post("/v1/recall", {"text": "x", FIELD: CANARY}),
        await ada.post("/v1/recall", {"text": "x", "filter": {FIELD: []}}),
        await ada.post("/v1/forget", {"filter": {FIELD: CANARY}}),
        await ada.post("/v1/settings", {"bounds": {FIELD: CANARY}}),
        await ada.get("/v1/memories", **{FIELD: CANARY}),
    ]
    assert [FIELD in answer.json()["error"]["field"] for answer in told] == [True] * len(told)
    strange = [await ada.post("/v1/recall", {name: 1}) for name in (f"{FIELD} x", f"{FIELD}<", f"{FIELD}\u0007")]
    strange += [await ada.post("/v1/recall", {FIELD * 10: 1}), await ada.get("/v1/stats", **{f"{FIELD} x": 1})]
    assert [answer.json()["error"]["field"] for answer in strange] == ["?"] * len(strange)
    return [*told, *strange]


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
