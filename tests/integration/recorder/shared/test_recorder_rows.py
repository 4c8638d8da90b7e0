"""What the systems that are taken over do when they record, row by row of their merged feature table, on a recorder."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest
from support.commandline import CommandLine
from support.recording import Recording

from afterturn.consumers.preparing import prepare
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.schemas.commands import Configure, Remember
from afterturn.schemas.events import Recorded, Skipped
from afterturn.schemas.parts import Source
from afterturn.schemas.settings import Bounds, Phases
from afterturn.schemas.settings import Recording as RecordingSettings
from afterturn.streams import TurnPublisher
from afterturn.streams.errors import DeadLetter

SOURCE = Source(type="user", id="u1")
SECRET = "the code of the safe is 4711"
pytestmark = pytest.mark.asyncio(loop_scope="module")


def turn(it: Recording, turn_id: str, *messages: dict[str, Any], thread: str = "t") -> dict[str, Any]:
    said = [{"role": "user", "content": f"message of {turn_id}"}]
    return {
        "tenant": it.tenant, "thread": thread, "turn_id": turn_id, "occurred_at": "2026-01-01T00:00:00Z",
        "messages": list(messages) or said,
    }  # fmt: skip


async def live(it: Recording, tenant: str | None = None) -> list[str]:
    return [m["content"] for m in await it.memories(tenant) if m["status"] == "active"]


async def test_row_1_what_one_tenant_says_is_that_tenants_alone(it: Recording) -> None:
    other = f"{it.tenant}-other"
    await it.publish(turn(it, "1"), turn(it, "1") | {"tenant": other})
    await it.consumed(2)
    assert len(await live(it)) == len(await live(it, other)) == 1
    assert {m["tenant"] for m in await it.memories(other)} == {other}


async def test_row_3_a_second_log_or_group_is_refused_on_the_same_collection(it: Recording) -> None:
    """Two recorders that share a store but not a log would undo each other's writes."""
    for changed in ({"group": "another-group"}, {"topic_prefix": "another"}, {"epoch": 1}):
        service = ServiceSettings.model_validate(it.service.model_dump() | changed)
        found = await prepare(service, it.kafka, StoreSettings(url=it.store.url))
        assert not found.fine, f"init says so of {changed}"
        assert found.collection_differences
    another = {"AFTERTURN_GROUP": "another-group", "AFTERTURN_RECORDER_PORT": "0", "NO_COLOR": "1"}
    line = CommandLine(it.recorder.environment | another)
    ended = await asyncio.to_thread(line.run, "recorder", timeout=60)
    assert ended.returncode == 1
    assert "settings.group is" in (said := " ".join(ended.stderr.split()))
    assert "another-group" in said


async def test_row_4_parallel_turns_of_one_tenant_are_all_recorded_in_one_order(it: Recording) -> None:
    """50 at once, from five publishers: the count is exact, and positions in the thread have neither gap nor double."""

    async def publish(number: int) -> None:
        async with TurnPublisher(it.kafka, source=f"agent-{number}", topics=it.service.topics) as publisher:
            await asyncio.gather(*(publisher.publish(turn(it, f"{number}-{n}")) for n in range(10)))

    await asyncio.gather(*(publish(number) for number in range(5)))
    await it.consumed(50)
    memories = await it.memories()
    assert len(memories) == 50
    assert sorted(m.get("position", 0) for m in memories) == list(range(50))


async def test_row_21_query_and_answer_are_recorded_in_one_effect_and_cut_between_characters(it: Recording) -> None:
    settings = RecordingSettings(max_chars=500, long="cut")
    await it.publisher.publish_command(Configure(tenant=it.tenant, recording=settings), ce_id=f"c-{it.tenant}")
    family = "👨‍👩‍👧"
    long = "x" * 498 + family + "tail"
    await it.publish(turn(it, "1", {"role": "user", "content": long}, {"role": "assistant", "content": "Noted."}))
    await it.consumed(2)
    (event,) = [e for e in await it.events() if isinstance(e, Recorded)]
    assert event.added == 2
    first, second = await live(it)
    assert first == "x" * 498, "a family is one character to who reads it: whole or not at all"
    assert second == "Noted."


async def test_row_22_a_turn_that_comes_again_after_a_crash_has_the_same_outcome_and_no_second_write(
    it: Recording,
) -> None:
    """Also I-75: whatever is told again has the same id, so that subscribers tell it apart."""
    await it.publish(turn(it, "1"))
    await it.consumed(1)
    before = await it.memories()
    it.recorder.child.kill()
    await asyncio.to_thread(it.recorder.start)
    await it.mark(it.tenant)
    await it.publish(turn(it, "1"))
    await it.consumed(1)
    assert await it.memories() == before
    assert [e.reason for e in await it.events() if isinstance(e, Skipped)] == ["duplicate"]


async def test_row_23_nothing_may_have_run_without_a_trace(it: Recording) -> None:
    """A write and its receipt are one: what has run is known to have run, so no replay has ever to be refused."""
    await it.publish(turn(it, "1", {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}))
    await it.consumed(1)
    receipt, second = await it.memories()
    assert receipt["outcome"]["counts"]["added"] == 2
    assert "outcome" not in second
    assert receipt["rev"] == second["rev"]


async def test_row_24_the_least_important_leaves_and_of_those_the_oldest(it: Recording) -> None:
    await it.publisher.publish_command(
        Configure(tenant=it.tenant, bounds=Bounds(max_memories=3)), ce_id=f"c-{it.tenant}"
    )
    for name, importance in (("a", 0.9), ("b", 0.1), ("c", 0.1), ("d", 0.5)):
        await it.publish(turn(it, name, {"role": "user", "content": f"says {name}", "importance": importance}))
    await it.consumed(5)
    assert await live(it) == ["says a", "says c", "says d"]
    assert [e.evicted for e in await it.events() if isinstance(e, Recorded)] == [0, 0, 0, 1]


async def test_row_25_importance_is_a_half_where_nobody_says_it(it: Recording) -> None:
    await it.publish(turn(it, "1"))
    facts = (
        Remember(tenant=it.tenant, content="said of no weight", source=SOURCE),
        Remember(tenant=it.tenant, content="said to matter", source=SOURCE, importance=0.8),
    )
    for number, fact in enumerate(facts):
        await it.publisher.publish_command(fact, ce_id=f"{it.tenant}-{number}")
    await it.consumed(3)
    assert [m["importance"] for m in await it.memories()] == [0.5, 0.5, 0.8]


async def test_row_68_episodes_have_a_bound_of_their_own_and_facts_survive_it(it: Recording) -> None:
    bounds = Bounds(max_memories=50, max_episodes=2)
    await it.publisher.publish_command(Configure(tenant=it.tenant, bounds=bounds), ce_id=f"c-{it.tenant}")
    await it.publisher.publish_command(
        Remember(tenant=it.tenant, content="a fact", importance=0.0, source=SOURCE), ce_id=f"f-{it.tenant}"
    )
    await it.publish(*(turn(it, str(n)) for n in range(4)))
    await it.consumed(6)
    assert await live(it) == ["a fact", "message of 2", "message of 3"]


async def test_row_70_events_say_how_much_never_what(it: Recording) -> None:
    await it.publish(turn(it, "1", {"role": "user", "content": SECRET, "author": "Ada Lovelace"}))
    await it.raw(orjson.dumps({"tenant": "x", "content": SECRET}), (("ce_id", b"x"),))
    await it.consumed(2)
    for topic in (it.service.topics.memory_events,):
        for record in await it._since(topic):
            text = str(record.headers) + (record.value or b"").decode()
            assert SECRET not in text
            assert "Lovelace" not in text
    for letter in await it.dead_letters():
        assert SECRET not in str([value for name, value in letter.headers if name.startswith("afterturn_")])


async def test_row_71_an_event_is_there_only_once_its_memory_is(it: Recording) -> None:
    """Whoever has read the event finds the memory in the store, however often that is asked."""
    for number in range(10):
        await it.publish(turn(it, str(number)))
        await it.consumed(number + 1)
        told = [e for e in await it.events() if isinstance(e, Recorded)]
        assert len(told) <= len(await it.memories())
    assert len([e for e in await it.events() if isinstance(e, Recorded)]) == 10


async def test_row_72_what_can_not_be_recorded_is_told_by_a_class_name(it: Recording) -> None:
    """The agent's answer is long given; a skipped event says what kind of error it was."""
    fact = Remember(tenant=it.tenant, content="x", collection="people", source=SOURCE)
    await it.publisher.publish_command(fact)
    await it.consumed(1)
    (event,) = await it.events()
    assert isinstance(event, Skipped)
    assert (event.operation, event.reason, event.error) == ("memory.record", "dead_letter", "ContractError")


async def test_row_73_what_is_wrong_with_a_turn_is_refused_before_anything_is_published(it: Recording) -> None:
    with pytest.raises((DeadLetter, ValueError)):
        await it.publisher.publish(turn(it, "1") | {"messages": [{"role": "narrator", "content": "x"}]})
    await it.publish(turn(it, "2"))
    await it.consumed(1)
    assert await live(it) == ["message of 2"]


async def test_row_74_a_tenant_whose_recording_is_off_keeps_what_it_has_and_gets_nothing(it: Recording) -> None:
    """What was applied stays; what is blocked afterwards is not recorded."""
    await it.publish(turn(it, "1"))
    off = Configure(tenant=it.tenant, phases=Phases(record="off"))
    await it.publisher.publish_command(off, ce_id=f"off-{it.tenant}")
    await it.publish(turn(it, "2"))
    await it.consumed(3)
    assert await live(it) == ["message of 1"]
    assert [e.reason for e in await it.events() if isinstance(e, Skipped)] == ["off"]
