"""Every command on a running recorder: what it does to the store, and the outcome event it ends in."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from support.recording import ANYONE, Recording

from afterturn.schemas.commands import Configure, Erase, Forget, Pin, Remember
from afterturn.schemas.events import Configured, Erased, Forgotten, Pinned, Recorded, Skipped
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.parts import Derived, Filter, Source
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Bounds

SOURCE = Source(type="user", id="u1")
pytestmark = pytest.mark.asyncio(loop_scope="module")


def turn(turn_id: str, content: str = "something to keep", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": content}]
    made = {"tenant": ANYONE, "thread": "t", "turn_id": turn_id, "occurred_at": "2026-01-01T00:00:00Z"}
    return {**made, "messages": messages, **fields}


def named(it: Recording, turn_id: str, ordinal: int = 0) -> str:
    """The id of a turn's memory: an agent that keeps its turn ids can name its memories."""
    return memory_id(it.tenant, turn_key(Scope(), "t", turn_id), ordinal)


async def live(it: Recording) -> list[str]:
    return [m["content"] for m in await it.memories() if m["status"] == "active"]


async def test_a_fact_takes_the_place_of_the_one_its_key_stood_for(it: Recording) -> None:
    """I-02: the log decides, and both are kept; I-84: a key stands for one memory; an older version is stale."""
    for content, version in (("lives in Rome", 1), ("lives in Oslo", 3), ("lives in Bonn", 2)):
        fact = Remember(tenant=it.tenant, content=content, key="home", version=version, source=SOURCE)
        await it.publisher.publish_command(fact)
    await it.consumed(3)
    assert await live(it) == ["lives in Oslo"]
    assert [m["content"] for m in await it.memories() if m["status"] == "superseded"] == ["lives in Rome"]
    events = await it.events()
    assert [e.superseded for e in events if isinstance(e, Recorded)] == [0, 1]
    assert [e.reason for e in events if isinstance(e, Skipped)] == ["stale"]


async def test_an_edited_turn_supersedes_the_one_it_replaces(it: Recording) -> None:
    await it.publish(turn("1", "We meet on Monday."), turn("2", "We meet on Tuesday.", replaces="1"))
    await it.consumed(2)
    assert await live(it) == ["We meet on Tuesday."]
    assert [e.superseded for e in await it.events() if isinstance(e, Recorded)] == [0, 1]


async def test_forgetting_takes_what_was_made_from_the_removed_alone(it: Recording) -> None:
    tokens = await it.publish(turn("1", "one"), turn("2", "two"), turn("3", "three"))
    await it.consumed(3)
    based_on = max(token.offset for token in tokens)
    for sources in (["1"], ["1", "2"]):
        ids = tuple(named(it, name) for name in sources)
        derived = Derived(source_ids=ids, based_on=based_on)
        await it.publisher.publish_command(
            Remember(tenant=it.tenant, content=f"from {sources}", source=SOURCE, derived=derived)
        )
    nothing = str(uuid4())
    await it.publisher.publish_command(Forget(tenant=it.tenant, ids=(named(it, "1"), nothing), reason="asked"))
    await it.consumed(6)
    assert await live(it) == ["two", "three", "from ['1', '2']"]
    (event,) = [e for e in await it.events() if isinstance(e, Forgotten)]
    assert (event.forgotten, event.derived, event.unknown) == (1, 1, 1)


async def test_a_filter_is_a_barrier_and_more_than_half_needs_a_confirmation(it: Recording) -> None:
    """I-79: what would remove most of a tenant by mistake changes nothing."""
    await it.publish(*(turn(str(n), f"old {n}") for n in range(8)))
    await it.publish(turn("9", "elsewhere", thread="other"))
    everything = Filter(threads=("t",))
    await it.publisher.publish_command(Forget(tenant=it.tenant, filter=everything, reason="asked"))
    await it.publisher.publish_command(Forget(tenant=it.tenant, filter=everything, confirm=True, reason="asked"))
    await it.publish(turn("10", "new"))
    await it.consumed(12)
    assert await live(it) == ["elsewhere", "new"]
    events = await it.events()
    assert [e.reason for e in events if isinstance(e, Skipped)] == ["unconfirmed"]
    assert [e.forgotten for e in events if isinstance(e, Forgotten)] == [8]


async def test_another_tenants_memories_cannot_be_named(it: Recording) -> None:
    """I-25, I-23: an id is nothing to whoever it doesn't belong to."""
    stranger = f"{it.tenant}-stranger"
    await it.publish(turn("1", "mine"))
    for command in (
        Forget(tenant=stranger, ids=(named(it, "1"),), reason="asked"),
        Pin(tenant=stranger, ids=(named(it, "1"),)),
    ):
        await it.publisher.publish_command(command)
    await it.consumed(3)
    assert await live(it) == ["mine"]
    events = await it.events()
    assert [e.unknown for e in events if isinstance(e, Forgotten)] == [1]
    assert [e.reason for e in events if isinstance(e, Skipped)] == ["gone"]


async def test_pins_stay_beyond_the_bound_and_are_refused_beyond_half_of_it(it: Recording) -> None:
    await it.publisher.publish_command(Configure(tenant=it.tenant, bounds=Bounds(max_memories=4)))
    await it.publish(*(turn(str(n), f"memory {n}") for n in range(4)))
    ids = tuple(named(it, str(n)) for n in range(3))
    await it.publisher.publish_command(Pin(tenant=it.tenant, ids=ids))
    await it.publish(*(turn(str(n), f"memory {n}") for n in range(4, 10)))
    await it.consumed(12)
    assert sorted(await live(it)) == ["memory 0", "memory 1", "memory 8", "memory 9"]
    assert [(e.pinned, e.refused) for e in await it.events() if isinstance(e, Pinned)] == [(2, 1)]


async def test_a_lower_bound_holds_at_once_and_one_below_the_pins_is_refused(it: Recording) -> None:
    await it.publish(*(turn(str(n), f"memory {n}") for n in range(10)))
    await it.publisher.publish_command(Pin(tenant=it.tenant, ids=(named(it, "0"), named(it, "1"))))
    for most in (6, 2):
        await it.publisher.publish_command(Configure(tenant=it.tenant, bounds=Bounds(max_memories=most)))
    await it.consumed(13)
    assert sorted(await live(it)) == [f"memory {n}" for n in (0, 1, 6, 7, 8, 9)]
    events = await it.events()
    assert [e.evicted for e in events if isinstance(e, Configured)] == [4]
    assert [e.reason for e in events if isinstance(e, Skipped)] == ["pin_limit"]


async def test_an_erased_tenant_is_gone_from_every_point_and_starts_afresh(it: Recording) -> None:
    """I-19, I-20, I-76, I-82: all of one tenant and nothing of another, and the event's count is the truth."""
    other = f"{it.tenant}-other"
    secret = "the canary sings at dawn"
    before = [turn(str(n), f"{secret} {n}", thread=f"{secret} thread") for n in range(250)]
    await it.publish(*before)
    await it.publish(turn("1", "kept", tenant=other))
    await it.publisher.publish_command(
        Remember(tenant=it.tenant, content=secret, key=secret, tags=(secret,), source=SOURCE)
    )
    await it.publisher.publish_command(Erase(tenant=it.tenant, confirm=it.tenant, reason="asked"))
    await it.publish(before[0], turn("251", "afresh", thread=f"{secret} thread"))
    await it.consumed(255)
    (event,) = [e for e in await it.events() if isinstance(e, Erased)]
    assert event.erased == 251
    assert event.log_clear_at is not None
    assert event.log_clear_at - event.at > timedelta(days=30)
    found = await it.memories()
    assert [m["content"] for m in found if "content" in m] == ["afresh"]
    assert [m["position"] for m in found if "content" in m] == [0]
    assert secret not in str([m for m in found if m["status"] == "erased"])
    assert [m["content"] for m in await it.memories(other)] == ["kept"]
    assert [e.reason for e in await it.events() if isinstance(e, Skipped)] == ["duplicate"]


async def test_what_rests_on_an_erased_tenants_memories_is_skipped(it: Recording) -> None:
    """I-11, I-22: what was under way when a tenant was erased doesn't bring anything back."""
    (token,) = await it.publish(turn("1", "one"))
    await it.publisher.publish_command(Erase(tenant=it.tenant, confirm=it.tenant, reason="asked"))
    derived = Derived(source_ids=(named(it, "1"),), based_on=token.offset)
    await it.publisher.publish_command(Remember(tenant=it.tenant, content="late", source=SOURCE, derived=derived))
    await it.consumed(3)
    assert await live(it) == []
    assert [e.reason for e in await it.events() if isinstance(e, Skipped)] == ["erased"]


async def test_ten_thousand_memories_are_erased_in_seconds(it: Recording) -> None:
    """I-26. The bound on the wait is wide: benchmarks measure, tests don't."""
    texts = [{"role": "user", "content": f"memory {n}"} for n in range(250)]
    turns = [turn(str(n), messages=texts) for n in range(40)]
    await it.publish(*turns)
    await it.consumed(40, seconds=120)
    await it.publisher.publish_command(Erase(tenant=it.tenant, confirm=it.tenant, reason="asked"))
    async with asyncio.timeout(60):
        await it.consumed(41)
    assert [e.erased for e in await it.events() if isinstance(e, Erased)] == [10_000]
    assert await live(it) == []
