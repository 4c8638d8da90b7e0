"""Memory away, slow or full: the turn goes on, what was said is kept, and what could not be is said."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from integration.agent.conftest import Services
from support.log import until

from afterturn.consumers.dev.broker import free_port
from afterturn.schemas.events import MemoryEvent, Skipped
from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.agent import AgentMemory, AgentSettings
from afterturn.streams.errors import BadSettings, UnknownTopic
from afterturn.streams.topics import TopicNames

pytestmark = pytest.mark.asyncio(loop_scope="module")


@asynccontextmanager
async def listening(port: int, onto: int | None) -> AsyncIterator[None]:
    """A port that passes everything on to another; without one it takes connections and never answers."""
    open_ends: list[asyncio.StreamWriter] = []

    async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError):
            while data := await reader.read(65_536):
                writer.write(data)
                await writer.drain()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        open_ends.append(writer)
        if onto is None:
            await reader.read()
            return
        there, back = await asyncio.open_connection("127.0.0.1", onto)
        open_ends.append(back)
        await asyncio.gather(pump(there, writer), pump(reader, back))

    server = await asyncio.start_server(serve, "127.0.0.1", port)
    try:
        yield
    finally:
        server.close()
        for writer in open_ends:
            writer.close()
        await asyncio.gather(*(writer.wait_closed() for writer in open_ends), return_exceptions=True)


def nobody() -> KafkaSettings:
    """A broker that isn't there."""
    return KafkaSettings(bootstrap_servers=f"127.0.0.1:{free_port()}", request_timeout_s=1)


async def told(services: Services) -> list[MemoryEvent]:
    return [each for each in await services.recording.events() if each.tenant == services.tenant]


@pytest.mark.parametrize("slow", [False, True])
async def test_a_turn_goes_on_without_memory_and_dashboards_hear_of_it(services: Services, *, slow: bool) -> None:
    """Row 72; an answer that does not come in time is the same as none."""
    heard: list[Skipped] = []
    port = free_port()
    async with (
        listening(port, None) if slow else suppressing(),
        services.memory(url=f"http://127.0.0.1:{port}", recall_timeout=0.5, on_skipped=heard.append) as memory,
    ):
        sent = await memory.after_turn("The lamp is red.", None, thread="t")  # Kafka is there
        assert sent.status == "published"
        began = time.monotonic()
        context = await memory.before_turn("Which lamp?")
        assert time.monotonic() - began < 10
        assert (context.text, context.degraded, context.shown) == ("", ("recall",), frozenset())
        assert await context.tool("lamp") == "Memory is unavailable right now."

        async def stream_says_so() -> bool:
            return sum(isinstance(each, Skipped) for each in await told(services)) == 2

        await until(stream_says_so, tick=0.2)
    assert [(each.operation, each.reason) for each in heard] == [("memory.recall", "unavailable")] * 2
    assert {each.error for each in heard} <= ({"TimeoutError", "Retry"} if slow else {"Retry"})


@asynccontextmanager
async def suppressing() -> AsyncIterator[None]:
    yield


async def test_turns_wait_in_the_spool_for_a_broker_and_are_recorded_once_in_order(
    services: Services, tmp_path: Path
) -> None:
    """Also by another process than the one that could not send them, and whichever of them sends first."""
    spool = tmp_path / "agent.db"
    async with services.memory(kafka=nobody(), spool=spool, record_timeout=0.2) as memory:
        for n in range(5):
            assert (await memory.after_turn(f"turn {n}", None, thread="t", turn_id=str(n))).status == "spooled"
        context = await memory.before_turn("turn")
        assert context.degraded == ("unsent",), "what it told is not there yet"
    async with services.memory(spool=spool) as one, services.memory(spool=spool) as other:
        assert (await one.after_turn("turn 5", None, thread="t", turn_id="5")).status in {"spooled", "published"}
        await services.recording.consumed(6)

        async def drained() -> bool:
            return (await other.before_turn("turn")).degraded == ()

        await until(drained, tick=0.1)
    stored = await services.recording.memories()
    assert [each["content"] for each in stored] == [f"turn {n}" for n in range(6)]


async def test_over_http_turns_wait_for_the_service_while_the_agent_runs(services: Services, tmp_path: Path) -> None:
    port = free_port()
    there = int(services.recall.url.rsplit(":", 1)[1])
    settings: dict[str, Any] = {
        "url": f"http://127.0.0.1:{port}",
        "record_over": "http",
        "spool": tmp_path / "agent.db",
    }
    async with services.memory(**settings, record_timeout=2) as memory:
        for n in range(3):
            assert (await memory.after_turn(f"turn {n}", None, thread="t")).status == "spooled"
        async with listening(port, there):
            await services.recording.consumed(3)
    assert [each["content"] for each in await services.recording.memories()] == ["turn 0", "turn 1", "turn 2"]


async def test_without_room_a_turn_is_lost_and_that_is_said(services: Services, tmp_path: Path) -> None:
    heard: list[Skipped] = []
    options: dict[str, Any] = {"kafka": nobody(), "record_timeout": 0.2, "on_skipped": heard.append}
    async with services.memory(**options) as memory:
        assert (await memory.after_turn("no spool", None, thread="t")).status == "lost"
    async with services.memory(**options, spool=tmp_path / "a.db", spool_entries=1) as memory:
        assert (await memory.after_turn("one", None, thread="t")).status == "spooled"
        assert (await memory.after_turn("two", None, thread="t")).status == "lost"
    assert [(each.operation, each.reason) for each in heard] == [("memory.record", "unavailable")] * 2


@pytest.mark.parametrize("record_over", ["kafka", "http"])
async def test_a_turn_that_breaks_the_contract_is_refused_and_keeps_no_other_back(
    services: Services, tmp_path: Path, record_over: str
) -> None:
    heard: list[Skipped] = []
    options: dict[str, Any] = {"record_over": record_over, "spool": tmp_path / "a.db", "on_skipped": heard.append}
    async with services.memory(**options) as memory:
        wrongs: list[dict[str, Any]] = [
            {"thread": ""},
            {"thread": "t", "colour": "red"},
            {"thread": "t", "messages": []},
        ]
        for wrong in wrongs:
            sent = await memory.after_turn("secret words", "x", **wrong)
            assert sent.status == "refused"
            assert sent.error in {"ContractError", "UnknownField"}
            assert "secret" not in (sent.problem or "")
        assert (await memory.after_turn("good", None, thread="t")).status == "published"
        await services.recording.consumed(1)
    assert [(each.operation, each.reason) for each in heard] == [("memory.record", "refused")] * 3


async def test_wrong_settings_are_said_before_a_turn(services: Services, tmp_path: Path) -> None:
    """Turns that could never be recorded: no topic, no tenant, a spool that can't be one."""
    publisher = TurnPublisher(services.recording.kafka, topics=TopicNames("nowhere-at-all"))
    async with AgentMemory(AgentSettings(recall_url=services.recall.url), tenant="t", publisher=publisher) as memory:
        await memory.after_turn("nobody takes it", None, thread="t")
        with pytest.raises(UnknownTopic):
            await memory.before_turn("x")
    with pytest.raises(BadSettings):
        services.memory(spool=tmp_path)
    async with services.memory(tenant=None) as memory:
        with pytest.raises(BadSettings, match="tenant"):
            await memory.before_turn("x")
