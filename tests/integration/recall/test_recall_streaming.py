"""Events to browsers: one's own tenant's, from where one left off."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import orjson
import pytest
from support.api import Keys, problem
from support.log import until
from support.recall_service import Served, served

from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.schemas.events import Forgotten, MemoryEvent, Recorded
from afterturn.streams import KafkaSettings, TopicNames, TurnPublisher

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@asynccontextmanager
async def telling(environment: dict[str, str]) -> AsyncIterator[TurnPublisher]:
    """Whoever puts events on the stream."""
    kafka = KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"])
    async with TurnPublisher(kafka, topics=TopicNames(environment["AFTERTURN_TOPIC_PREFIX"])) as publisher:
        yield publisher


@asynccontextmanager
async def stream(service: Served, tenant: str, **options: Any) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """An open stream: its events as they come."""
    headers = {"Afterturn-Tenant": tenant, **options.pop("headers", {})}
    async with service.client.stream("GET", "/v1/events", headers=headers, params=options) as answer:
        assert answer.status_code == 200, await answer.aread()
        assert answer.headers["content-type"].startswith("text/event-stream")
        lines = answer.aiter_lines()
        assert await anext(lines) == "retry: 2000"
        yield _events(lines)


async def _events(lines: AsyncIterator[str]) -> AsyncIterator[dict[str, Any]]:
    found: dict[str, Any] = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            found[name] = value
        elif "data" in found:
            yield found | {"data": orjson.loads(found["data"])}
            found = {}


async def announce(publisher: TurnPublisher, *events: MemoryEvent) -> None:
    for event in events:
        await publisher.announce(event)


def recorded(tenant: str, added: int) -> Recorded:
    return Recorded(tenant=tenant, at=AT, added=added)


async def test_a_stream_has_ones_own_tenants_events_and_no_others(http_environment: dict[str, str]) -> None:
    mine, others = f"t-{uuid4().hex}", [f"t-{n}-{uuid4().hex}" for n in range(20)]
    async with served(http_environment) as service, telling(http_environment) as publisher:
        async with stream(service, mine) as events:
            await announce(publisher, *(recorded(each, 9) for each in others), recorded(mine, 1))
            await announce(publisher, *(recorded(each, 9) for each in others), recorded(mine, 2))
            first, second = await anext(events), await anext(events)
        assert [each["data"]["data"]["added"] for each in (first, second)] == [1, 2]
        assert {each["data"]["data"]["tenant"] for each in (first, second)} == {mine}
        assert first["event"] == first["data"]["type"] == "memory.recorded.v1"
        assert first["data"]["specversion"] == "1.0"
        assert first["id"] != second["id"]


async def test_a_stream_goes_on_from_the_last_event_that_was_seen(http_environment: dict[str, str]) -> None:
    tenant = f"t-{uuid4().hex}"
    async with served(http_environment) as service, telling(http_environment) as publisher:
        async with stream(service, tenant) as events:
            await announce(publisher, recorded(tenant, 1))
            seen = (await anext(events))["id"]
        await announce(
            publisher, recorded(tenant, 2), Forgotten(tenant=tenant, at=AT, forgotten=3), recorded(tenant, 4)
        )
        last = {"Last-Event-ID": seen}
        async with stream(service, tenant, headers=last) as events:
            assert [(await anext(events))["data"]["data"].get("added") for _ in range(3)] == [2, None, 4]
        async with stream(service, tenant, headers=last, types="memory.forgotten") as events:
            assert (await anext(events))["data"]["data"]["forgotten"] == 3
        async with stream(service, tenant, headers={"Last-Event-ID": f"{seen.split('-')[0]}-999999999"}) as events:
            await announce(publisher, recorded(tenant, 5))
            assert (await anext(events))["data"]["data"]["added"] == 5, "a place the topic has not come to is its end"


@pytest.mark.parametrize(
    ("headers", "parameters", "field"),
    [
        ({"Last-Event-ID": "x"}, {}, "Last-Event-ID"),
        ({"Last-Event-ID": "1-2-3"}, {}, "Last-Event-ID"),
        ({}, {"types": "memory.invented"}, "types"),
        ({}, {"colour": "red"}, "colour"),
    ],
)
async def test_what_is_no_stream_is_refused(
    http_environment: dict[str, str], headers: dict[str, str], parameters: dict[str, str], field: str
) -> None:
    async with served(http_environment) as service:
        answer = await service.client.get("/v1/events", headers={"Afterturn-Tenant": "t"} | headers, params=parameters)
    assert answer.status_code == 422
    assert answer.json()["error"]["field"] == field


async def test_a_credential_of_a_scope_sees_no_events_of_the_tenant(
    http_environment: dict[str, str], tmp_path: Path
) -> None:
    keys = Keys(tmp_path / "keys.json")
    bound, whole = keys.add(scope={"user": "ada"}), keys.add()
    async with served(http_environment, AccessSettings(keys_file=keys.path)) as service:
        problem(await service.client.get("/v1/events", headers=bound), 403)
        async with service.client.stream("GET", "/v1/events", headers=whole) as answer:
            assert answer.status_code == 200


async def test_streams_are_bounded_and_a_closed_one_makes_room(http_environment: dict[str, str]) -> None:
    async with served(http_environment, streams=1) as service:

        async def status() -> int:
            async with service.client.stream("GET", "/v1/events", headers={"Afterturn-Tenant": "t"}) as answer:
                return answer.status_code

        async with stream(service, "t"):
            assert await status() == 503
            answer = await service.client.head("/v1/events", headers={"Afterturn-Tenant": "t"})
            assert (answer.status_code, answer.headers["content-type"][:17]) == (200, "text/event-stream")

        async def room() -> bool:
            return await status() == 200

        await until(room, tick=0.05)


async def test_a_stream_ends_with_the_service(http_environment: dict[str, str]) -> None:
    async with served(http_environment) as service, stream(service, "t") as events:
        service.stop.set()
        async with asyncio.timeout(10):
            with pytest.raises((StopAsyncIteration, httpx.RemoteProtocolError)):
                await anext(events)
            await service.task
