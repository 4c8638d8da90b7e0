"""An agent's turns on the real services: asked before, told after, and what the model is shown."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from integration.agent.conftest import Services

from afterturn.schemas.commands import Configure
from afterturn.schemas.query import Answer
from afterturn.streams.agent import About, AgentMemory, BlockingAgentMemory, Eager, MemoryRefused, RecallTool

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def tell(memory: AgentMemory, *texts: str, thread: str = "trip") -> None:
    for text in texts:
        sent = await memory.after_turn(text, None, thread=thread)
        assert sent.status == "published"


async def test_what_a_turn_said_is_in_the_next_turns_section(services: Services) -> None:
    """Row 26; the next question waits for the turn before it (its token)."""
    async with services.memory() as memory:
        async with memory.turn("We fly to Oviedo on the 12th.", thread="trip", turn_id="1") as turn:
            assert turn.context.text == ""
            turn.answer = "Noted."
        assert turn.sent is not None
        assert turn.sent.status == "published"
        context = await memory.before_turn("When do we fly to Oviedo?")
        assert "We fly to Oviedo on the 12th." in context.text
        assert context.degraded == ()
        assert {each.id for each in context.memories if each.in_text} == context.shown
        again = await memory.before_turn("When do we fly to Oviedo?", without_thread="trip")
        assert again.text == ""


async def test_a_section_is_one_text_for_every_step_and_within_its_budget(services: Services) -> None:
    """Row 28: it is a value of the turn, asked once, and stored nowhere."""
    async with services.memory(max_prompt_section_tokens=60) as memory:
        await tell(memory, *(f"The {word} is kept in the blue cupboard." for word in ("tea", "salt", "rice", "map")))
        async with memory.turn("What is in the blue cupboard?", thread="t") as turn:
            steps = [turn.context.section for _ in range(3)]
            turn.answer = "Tea."
        assert steps[0] is steps[1] is steps[2]
        assert steps[0].name == "semantic-memory"
        assert 0 < steps[0].tokens <= 60
        await services.recording.consumed(5)
        stored = [each["content"] for each in await services.recording.memories()]
        assert sorted(stored)[-2:] == ["The tea is kept in the blue cupboard.", "What is in the blue cupboard?"]


async def test_a_blocked_or_failed_turn_is_not_recorded(services: Services) -> None:
    """Row 74: what a guardrail blocks is never recorded."""
    async with services.memory() as memory:
        async with memory.turn("How do I pick a lock?", thread="t") as turn:
            turn.answer = "Like this."
            turn.block()
        assert turn.sent is not None
        assert turn.sent.status == "off"
        with pytest.raises(ZeroDivisionError):
            async with memory.turn("And now?", thread="t") as turn:
                turn.answer = str(1 // 0)
        async with memory.turn("Nothing to say?", thread="t"):
            pass
        await tell(memory, "This alone is told.")
        await services.recording.consumed(1)
        assert [each["content"] for each in await services.recording.memories()] == ["This alone is told."]


async def test_what_a_turn_adds_is_no_name_it_has_already(services: Services) -> None:
    """After the answer nothing is raised: the turn says that it was refused."""
    async with services.memory() as memory:
        async with memory.turn("What is the time?", thread="t") as turn:
            turn.answer, turn.fields = "Five.", {"thread": "other", "tags": ["time"]}
        assert turn.sent is not None
        assert (turn.sent.status, turn.sent.problem) == (
            "refused",
            "thread: is no field to add: the turn has it already",
        )


async def test_a_turn_named_0_is_sent_under_that_name(services: Services) -> None:
    """Integers are names as well; one made up anew would be recorded anew."""
    async with services.memory() as memory:
        zero: Any = 0
        for _ in range(2):
            assert (await memory.after_turn("Once.", None, thread="t", turn_id=zero)).status == "published"
        await tell(memory, "Then this.")
        await services.recording.consumed(3)
        assert [each["content"] for each in await services.recording.memories()] == ["Once.", "Then this."]


async def test_each_phase_can_be_off(services: Services) -> None:
    async with services.memory() as memory:
        await tell(memory, "The key is under the mat.")
    async with services.memory(about=About(phases=frozenset({"record"}))) as deaf:
        context = await deaf.before_turn("Where is the key?")
        assert (context.text, context.degraded) == ("", ())
        assert (await deaf.after_turn("It moved.", None, thread="t")).status == "published"
        await services.recording.consumed(2)  # another process's turns are no own writes to wait for
    async with services.memory(about=About(phases=frozenset({"recall"}))) as mute:
        assert (await mute.after_turn("Not this.", None, thread="t")).status == "off"
        assert "under the mat" in (await mute.before_turn("Where is the key?")).text


async def test_the_tool_leaves_out_what_was_shown_and_still_fills_its_limit(services: Services) -> None:
    """Row 31."""
    texts = [f"The museum number {n} is open on Mondays." for n in range(1, 9)]
    async with services.memory(max_prompt_section_tokens=40) as memory:
        await tell(memory, *texts)
        context = await memory.before_turn("Which museum is open?")
        shown = [text for text in texts if text in context.text]
        assert 0 < len(shown) < 5
        said = await context.tool("Which museum is open?", 4)
        assert sum(text in said for text in texts) == 4
        assert not any(text in said for text in shown)
        rest = await context.tool.call('{"query": "museum", "limit": 100}')
        assert sum(text in rest for text in texts) == len(texts) - len(shown)


async def test_row_75_what_memorys_models_did_counts_with_the_turn(services: Services) -> None:
    """Each question is embedded once; what needs no model counts nothing."""
    about = About(eager=Eager(about="roses", topic=True, query={"order": "newest"}))
    async with services.memory(about=about) as memory:
        await tell(memory, "The roses are red.")
        usage = (await memory.before_turn("What is red?")).usage
        assert usage.embedder_calls == 3
        assert usage.embedded_tokens > 3
        assert usage.model_calls == usage.calls == 0
    async with services.memory(about=About(phases=frozenset({"record"}))) as deaf:
        assert not (await deaf.before_turn("What is red?")).usage.any()


async def test_row_38_what_the_tool_takes() -> None:
    async def never(_: str | None, __: int | None) -> Answer:
        raise AssertionError

    tool = RecallTool(About(topic="the garden"), never, 2)
    assert tool.name == "memory"
    assert list(tool.parameters["properties"]) == ["query", "limit"]
    assert "required" not in tool.parameters
    assert "Searches memories about the garden" in tool.description
    assert "2 memories available." in tool.description


async def test_eager_memories_come_first_numbered_each_once(services: Services) -> None:
    """Row 30: about, then topic, then query; and row 54: the count in words."""
    about = About(
        topic="the garden", limit=5, eager=Eager(about="roses", topic=True, query={"tags_any": ["winter"]}, limit=2)
    )
    async with services.memory(about=about) as memory:
        empty = await memory.before_turn("What grows?")
        assert "Memories about the garden. No memories stored yet." in empty.text
        await tell(memory, "The roses are red.", "The garden has a shed.")
        await memory.after_turn("Cover the fig tree.", None, thread="trip", tags=["winter"])
        context = await memory.before_turn("What is red?")
    lines = context.text.splitlines()
    assert lines[:2] == ["Reference: memory", "Description: Memories about the garden. 3 memories available."]
    assert lines[3] == "Key memories about the garden:"
    assert lines[4] == "1. The roses are red."
    numbered = [line for line in lines if line[:1].isdigit()]
    assert sorted(line.split(". ", 1)[1] for line in numbered) == [
        "Cover the fig tree.", "The garden has a shed.", "The roses are red.",
    ]  # fmt: skip
    assert context.text.count("The roses are red.") == 1, "what is shown already isn't recalled again"
    assert "3 memories available." in context.tool.description


async def test_a_refusal_comes_before_any_model_is_called(services: Services) -> None:
    """Row 73: a missing scope, a wrong query."""
    settings = Configure.model_validate({"tenant": services.tenant, "required_scope": ["user"]})
    await services.recording.publisher.publish_command(settings)
    await services.recording.consumed(1)
    called = []
    async with services.memory() as memory:
        with pytest.raises(MemoryRefused) as refused:
            async with memory.turn("Who am I?", thread="t"):
                called.append("model")
        assert (refused.value.status, refused.value.place) == (422, "scope.user")
        with pytest.raises(MemoryRefused):
            await memory.before_turn("x", scope={"planet": "Mars"})
        assert (await memory.before_turn("Who am I?", scope={"user": "ada"})).degraded == ()
    assert called == []


async def test_an_agent_without_a_loop_has_the_same(services: Services) -> None:
    def whole() -> tuple[str, str]:
        made = services.memory(record_over="http").settings
        with BlockingAgentMemory(made, tenant=services.tenant) as memory:
            with memory.turn("My bicycle is green.", thread="t") as turn:
                turn.answer = "A fine colour."
            assert turn.sent is not None
            assert turn.sent.status == "published"
            context = memory.before_turn("Which colour is my bicycle?")
            return context.text, memory.tool(context).call({"query": "colour"})

    text, further = await asyncio.to_thread(whole)
    assert "My bicycle is green." in text
    assert "My bicycle is green." not in further
