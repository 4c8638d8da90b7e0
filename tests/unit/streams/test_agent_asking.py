"""What is asked for a turn: always narrowed by what memory is about, never widened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.schemas.scope import Scope
from afterturn.streams.agent.about import About, Eager
from afterturn.streams.agent.asking import eager_queries, index_query, question_query, tool_query
from afterturn.streams.agent.errors import MemoryRefused

NARROW = {"field": "tags", "op": "contains_any", "value": ["garden"]}
OWN = {"field": "kind", "op": "eq", "value": "semantic"}
ADA = Scope(user="ada")


def about(**fields: Any) -> About:
    return About.model_validate({"narrowed_by": NARROW} | fields)


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_narrowing_is_added_to_every_question_and_never_left(mine: float, theirs: float) -> None:
    """Row 32: a query of one's own can't replace the filter, the scope or the least confidence; row 33."""
    eager = Eager(about="x", topic=True, query={"filter": OWN, "min_confidence": theirs, "scope": {"user": "bo"}})
    narrowed = about(min_confidence=mine, eager=eager, index=3)
    asked = [
        question_query(narrowed, ADA, "what?", 100, ()),
        tool_query(narrowed, ADA, None, 5, ["id"]),
        *eager_queries(narrowed, ADA),
        index_query(narrowed, ADA, 100, ()),
    ]
    assert len(asked) == 6
    for query in asked:
        assert query is not None
        body = query.model_dump(mode="json", exclude_none=True, by_alias=True)
        assert query.scope == ADA
        assert query.min_confidence is not None
        assert query.min_confidence >= mine
        assert "garden" in str(body["filter"])
    own = asked[4]
    assert own is not None
    assert own.min_confidence == max(mine, theirs)
    assert "semantic" in str(own.model_dump(mode="json", exclude_none=True)["filter"])


def test_what_makes_no_query_is_refused_before_it_is_asked() -> None:
    for wrong in ({"narrowed_by": {"field": "colour", "op": "eq", "value": 1}}, {"profile": "best"}):
        with pytest.raises(MemoryRefused) as refused:
            question_query(about(**wrong), ADA, "what?", 100, ())
        assert refused.value.status == 422


def test_nothing_is_asked_that_is_not_wanted() -> None:
    assert eager_queries(About(), ADA) == []
    assert index_query(About(), ADA, 100, ()) is None
    assert question_query(About(), ADA, " \n", 100, ()).text is None
