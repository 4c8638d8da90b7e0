"""What an agent is set up with is checked before its first turn, and its key is in no error."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from afterturn.schemas.query import MAX_TEXT
from afterturn.schemas.scope import Scope
from afterturn.streams.agent import About, AgentMemory, AgentSettings, BlockingAgentMemory, MemoryRefused, NotOpen
from afterturn.streams.agent.asking import question_query
from afterturn.streams.errors import BadSettings


@pytest.mark.parametrize("key", ["aft_1_x", " aft_1_x\n", "\taft_1_x\r\n"])
def test_blanks_around_a_key_are_no_part_of_it(key: str) -> None:
    settings = AgentSettings.model_validate({"api_key": key})
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == "aft_1_x"


@pytest.mark.parametrize("key", ["", " ", "\n"])
def test_an_empty_key_is_none(key: str) -> None:
    assert AgentSettings.model_validate({"api_key": key}).api_key is None


@pytest.mark.parametrize("key", ["aft_1_schlüssel", "aft_1\nx", "aft_1\x00x", "aft_1\ud83d"])
def test_what_can_be_no_key_is_refused_without_it(key: str) -> None:
    with pytest.raises(ValidationError, match="one line of ASCII") as refused:
        AgentSettings.model_validate({"api_key": key})
    assert "aft_1" not in str(refused.value)


@pytest.mark.parametrize("url", ["", "localhost:8080", "http://", "http://host:port", "http://[::1", "ftp://host"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ValidationError, match="must be http://host:port"):
        AgentSettings.model_validate({"recall_url": url})


@given(st.text(max_size=30), st.integers(0, 3))
def test_whatever_is_said_to_an_agent_makes_a_question(text: str, more: int) -> None:
    """What is longer than a question may be is asked by its beginning: a pasted book ends no turn."""
    query = question_query(About(), Scope(), text + "word " * (more * MAX_TEXT // 10), 100, ())
    assert query.text is None or len(query.text) <= MAX_TEXT


@pytest.mark.parametrize("said", [5, b"x", ["x"], {}])
def test_what_is_no_text_is_refused_by_name(said: object) -> None:
    with pytest.raises(MemoryRefused, match="text"):
        question_query(About(), Scope(), said, 100, ())  # type: ignore[arg-type] # that is the fault


async def test_an_empty_tenant_is_nobodys_turn_and_not_the_usual_one() -> None:
    memory = AgentMemory(AgentSettings(record_over="http", recall_url="http://127.0.0.1:9"), tenant="usual")
    for tenant in ("", "\x00"):
        with pytest.raises((BadSettings, MemoryRefused)):
            await memory.after_turn("secret", None, thread="t", tenant=tenant)
    await memory.close()


OVER_HTTP = AgentSettings(record_over="http", recall_url="http://127.0.0.1:9")


async def test_a_memory_that_is_not_open_says_so() -> None:
    """Before its block and after it: nothing is lost silently, and nothing looks like a cancelled task."""
    for settings in (OVER_HTTP, AgentSettings(record_over="kafka")):
        memory = AgentMemory(settings, tenant="t")
        for _ in range(2):
            with pytest.raises(NotOpen):
                await memory.after_turn("x", None, thread="t")
            with pytest.raises(NotOpen):
                await memory.before_turn("x")
            await memory.close()


def test_without_an_event_loop_it_says_so_too() -> None:
    memory = BlockingAgentMemory(OVER_HTTP, tenant="t")
    with pytest.raises(NotOpen):
        memory.before_turn("x")
    with memory:
        assert memory.before_turn("x").degraded == ("recall",)
    with pytest.raises(NotOpen), memory.turn("x", thread="t"):
        pass


@pytest.mark.parametrize("scope", ["ada", ["ada"], 5, {"team": "x"}, {"user": ""}])
def test_what_is_no_scope_is_refused_by_name(scope: Any) -> None:
    with pytest.raises(MemoryRefused, match="scope"):
        AgentMemory(OVER_HTTP, tenant="t", scope=scope)


@pytest.mark.parametrize("turn", [None, "x", 5, [], {}])
async def test_what_is_no_turn_is_refused(turn: Any) -> None:
    async with AgentMemory(OVER_HTTP, tenant="t") as memory:
        assert (await memory.record(turn)).status == "refused"
