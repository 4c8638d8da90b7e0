"""Memories as a consolidation reads them, for its pure parts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from afterturn.consumers.consolidator.grouping.sourced import Sourced
from afterturn.schemas.parts import Entity, Source
from afterturn.schemas.points import Memory
from afterturn.schemas.scope import Scope

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)
LAW = settings(deadline=None, max_examples=80)
"""No deadline: the machine that runs the tests may be busy."""


def id_of(number: int) -> str:
    return str(UUID(int=number))


def sourced(number: int, **fields: Any) -> Sourced:
    """The memory of this number: a fact in use, recorded a month ago; ``fields`` say what else it is."""
    told: dict[str, Any] = {"tenant": "t", "status": "active", "kind": "semantic", "content": f"fact {number}"}
    told |= {"occurred_at": NOW - 30 * DAY, "ordinal": 0, "partition": 0, "born": number, "rev": number}
    return Sourced(id_of(number), Memory.model_validate({**told, **fields}))


def message(number: int, thread: str, **fields: Any) -> Sourced:
    """A message of a thread."""
    told: dict[str, Any] = {"kind": "episodic", "type": "conversation", "thread": thread, "turn_id": f"turn {number}"}
    return sourced(number, **{**told, "position": number, **fields})


def episode(number: int, at: datetime, **fields: Any) -> Sourced:
    """How a run went."""
    return sourced(number, **{"kind": "episodic", "occurred_at": at, **fields})


_SCOPES = (Scope(), Scope(user="u"), Scope(user="v"), Scope(user="u", agent="a"))
_SHAPES: tuple[dict[str, Any], ...] = (
    {"kind": "episodic", "type": "conversation", "thread": "one"},
    {"kind": "episodic", "type": "conversation", "thread": "two"},
    {"kind": "episodic"},
    {"entities": (Entity(span="Ann", type="person", id="ann"),)},
    {"type": "entity", "entities": (Entity(span="Ben", type="person", id="ben", role="subject"),)},
    {"type": "knowledge", "source": Source(type="tool", id="manual")},
    {"type": "user_fact"},
    {"type": "task", "data": {"success": True}},
    {"type": "task"},
    {"type": "a custom one"},
)
_ODD: tuple[dict[str, Any], ...] = (
    {"pinned": True}, {"status": "superseded"}, {"status": "candidate"}, {"status": "evicted", "content": None},
    {"expires_at": NOW}, {"valid_to": NOW - DAY}, {"level": 3}, {"occurred_at": NOW - DAY}, {"occurred_at": None},
)  # fmt: skip


@st.composite
def _fields(draw: st.DrawFn) -> dict[str, Any]:
    said = {"scope": draw(st.sampled_from(_SCOPES)), "occurred_at": NOW - draw(st.integers(7, 20)) * DAY}
    said["level"] = draw(st.sampled_from((0, 0, 0, 1)))
    odd = draw(st.sampled_from(({}, {}, {}, {}, *_ODD)))
    return {**draw(st.sampled_from(_SHAPES)), **said, **odd}


def tenants_memories(most: int = 60) -> SearchStrategy[list[Sourced]]:
    """What one tenant may have: of all shapes, scopes and states, many of them alike."""
    return st.lists(_fields(), max_size=most).map(
        lambda each: [sourced(n + 1, **fields) for n, fields in enumerate(each)]
    )
