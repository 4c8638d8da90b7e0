"""Laws of what an answer shows: what isn't checked again is as it would be if it were, and JSON says the same."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.answering.finding import Entry, Placed, Shares
from afterturn.consumers.recall.answering.showing import Extras, memory_of
from afterturn.consumers.recall.ranking.pool import candidate_of
from afterturn.consumers.recall.web.answers import json_answer
from afterturn.schemas.parts import Usage
from afterturn.schemas.query import Answer, FoundBy, Query, RecalledMemory

NOW = datetime(2026, 4, 1, tzinfo=UTC)
ARMS: list[FoundBy] = ["vector", "keyword", "neighbour"]
SOURCE = {"type": "user", "id": "u1", "label": "a note"}
payloads = st.fixed_dictionaries(
    {"content": st.text(min_size=1), "kind": st.sampled_from(["episodic", "semantic"])},
    optional={
        "role": st.sampled_from(["user", "assistant"]),
        "author": st.text(),
        "thread": st.text(),
        "position": st.integers(0, 99),
        "tags": st.lists(st.text()),
        "occurred_at": st.datetimes().map(lambda at: at.isoformat() + "Z"),
        "importance": st.floats(0, 1) | st.just(1),
        "confidence": st.floats(0, 1),
        "decay": st.floats(0, 1),
        "recorded_at": st.just("2026-01-01T00:00:00Z"),
        "source": st.just(SOURCE),
        "entities": st.just([{"id": "e1", "span": "Ada"}]),
    },
)


def shown(payload: dict[str, Any], query: Query) -> RecalledMemory:
    entry: Entry = Placed(candidate_of("id", payload, ""), 0.5, frozenset(ARMS[:2]), Shares(0.2, 0.3))
    return memory_of(entry, payload, query, NOW, Extras({"id": ("a label",)}), {"id"})


@LAW
@given(payloads, st.booleans())
def test_a_memory_that_is_not_checked_is_the_one_that_would_be(payload: dict[str, Any], explain: bool) -> None:
    made = shown(payload, Query(text="who?", explain=explain))
    checked = RecalledMemory.model_validate(vars(made) | {"source": payload.get("source")})
    assert repr(made) == repr(checked)  # also tells 1 from 1.0


@LAW
@given(st.lists(payloads, max_size=3), st.booleans(), st.none() | st.just(Usage(embedder_calls=1)))
def test_json_says_what_the_model_does(each: list[dict[str, Any]], explain: bool, usage: Usage | None) -> None:
    query = Query(text="who?", explain=explain)
    answer = Answer(memories=tuple(shown(payload, query) for payload in each), text="t", usage=usage)
    told = orjson.loads(bytes(json_answer(200, answer).body))
    assert told == orjson.loads(orjson.dumps(answer.model_dump(exclude_none=True), option=orjson.OPT_UTC_Z))


def test_what_a_later_version_has_stored_is_passed_through() -> None:
    made = shown({"content": "a", "kind": "dreamt", "role": "narrator"}, Query(text="who?"))
    assert (made.kind, made.role) == ("dreamt", "narrator")


def test_what_is_no_model_is_no_json() -> None:
    with pytest.raises(TypeError):
        json_answer(200, {"a": object()})
