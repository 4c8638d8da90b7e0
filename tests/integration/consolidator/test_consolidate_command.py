"""``afterturn consolidate`` through Kafka and the store: what is due is summarised once, and nothing is lost by it."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.commandline import CommandLine
from support.kafka import KafkaBroker
from support.recording import Recording, recording

from afterturn.schemas.commands import Configure, Forget, Pin
from afterturn.schemas.events import Consolidated, Skipped
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Phases

TENANT, TURNS = "ann", 6
OLD = datetime.now(UTC) - timedelta(days=30)
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
async def it(kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> AsyncIterator[Recording]:
    """A recorder, and a tenant with an old thread of twelve messages and a young one."""
    async with recording(kafka, topic_prefix, tmp_path) as made:
        made.tenant = TENANT
        await made.publish(*(turn("old", number, OLD) for number in range(TURNS)))
        await made.publish(turn("young", 0, datetime.now(UTC)))
        await made.consumed(TURNS + 1)
        yield made


def turn(thread: str, number: int, at: datetime) -> dict[str, Any]:
    texts = (f"My cat number {number} is called Felix {number}.", f"I will remember Felix {number}!")
    messages = [{"role": role, "content": text} for role, text in zip(("user", "assistant"), texts, strict=True)]
    at += timedelta(minutes=number)
    return {
        "tenant": TENANT, "thread": thread, "turn_id": str(number), "occurred_at": at.isoformat(), "messages": messages,
    }  # fmt: skip


async def consolidate(it: Recording, *options: str, code: int = 0) -> list[dict[str, Any]]:
    show = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
    cli = CommandLine(dict(it.recorder.environment) | show)
    prefix = ("--topic-prefix", it.service.topic_prefix)
    done = await asyncio.to_thread(cli.run, "consolidate", "--json", *prefix, *options)
    assert done.returncode == code, done.stderr + done.stdout
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


async def test_an_old_thread_is_summarised_once_and_its_messages_stay_until_they_expire(it: Recording) -> None:
    """Row 65: a dry run publishes nothing; row 60: the summary is there before anything goes."""
    (dry,) = await consolidate(it, "--dry-run")
    assert dry == {"tenant": TENANT, "groups": 1, "memories": 12, "left": 0}
    assert len(await it.memories()) == 14
    (row,) = await consolidate(it)
    assert (row["published"], row["failed"]) == (1, 0)
    again = await consolidate(it)  # two passes at once name the same work alike
    await it.consumed(TURNS + 1 + 1 + again[0]["published"])
    events = [event for event in await it.events() if isinstance(event, Consolidated)]
    assert [(event.groups, event.removed, event.left_out) for event in events] == [(1, 12, 0)]
    memories = await it.memories()
    (summary,) = [each for each in memories if each["type"] == "conversation" and "level" in each]
    sources = [each for each in memories if each.get("summary")]
    assert len(sources) == len(summary["source_ids"]) == 12
    assert {each["status"] for each in sources} == {"superseded"}
    assert all(each["content"] and each["expires_at"] for each in sources)
    assert {line.split(": ")[-1] for line in summary["content"].splitlines()} <= {each["content"] for each in sources}
    assert [row["groups"] for row in await consolidate(it)] == [0]


async def test_what_is_pinned_off_or_forgotten_is_left(it: Recording) -> None:
    ids = [memory_id(TENANT, turn_key(Scope(), "old", str(number)), 0) for number in range(TURNS)]
    await it.publisher.publish_command(Pin(tenant=TENANT, ids=(ids[0],)))
    await it.consumed(TURNS + 2)
    assert [row["memories"] for row in await consolidate(it, "--dry-run")] == [11]
    await it.publisher.publish_command(Configure(tenant=TENANT, phases=Phases(consolidate="off")))
    await it.consumed(TURNS + 3)
    assert [row["groups"] for row in await consolidate(it)] == [0]
    await it.publisher.publish_command(Configure(tenant=TENANT, phases=Phases()))
    await it.publisher.publish_command(Forget(tenant=TENANT, ids=tuple(ids[1:3]), reason="asked"))
    await it.consumed(TURNS + 5)
    assert [row["groups"] for row in await consolidate(it)] == [0], "nine are too few"
    assert not [event for event in await it.events() if isinstance(event, Skipped | Consolidated)]


async def test_only_the_tenants_named_are_looked_at_and_a_wrong_summariser_is_said(it: Recording) -> None:
    assert await consolidate(it, "--tenant", "nobody") == []
    cli = CommandLine(dict(it.recorder.environment))
    prefix = ("--topic-prefix", it.service.topic_prefix)
    done = await asyncio.to_thread(cli.run, "consolidate", *prefix, "--summariser", "nothing")
    assert done.returncode != 0
    assert "name one of extractive" in done.stderr
    assert "Traceback" not in done.stderr
