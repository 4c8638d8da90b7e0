"""A filter that says nothing, too much or the impossible is refused, and the place is named."""

import orjson
import pytest
from hypothesis import given
from support.condition_values import conditions

from afterturn.schemas.codec import body_of, parse
from afterturn.schemas.conditions import MAX_CONDITIONS, MAX_DEPTH, Condition
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Query

ROLE = {"field": "role", "op": "eq", "value": "user"}


def asked(condition: object) -> Query:
    return parse(Query, orjson.dumps({"filter": condition}))


@given(conditions())
def test_a_filter_is_read_as_it_was_written(condition: Condition) -> None:
    query = Query(filter=condition)
    assert parse(Query, body_of(query)) == query


@pytest.mark.parametrize(
    ("condition", "place", "told"),
    [
        ({"field": "content", "op": "eq", "value": "x"}, "filter.field", "scope.workspace"),
        ({"field": "tenant", "op": "eq", "value": "x"}, "filter.field", "scope.workspace"),
        ({"and": [ROLE, {"field": "tags", "op": "eq", "value": "a"}]}, "filter.and.1.op", "contains_any"),
        ({"field": "role", "op": "like", "value": "a"}, "filter.op", "'eq'"),
        ({"or": [{"not": {"field": "kind", "op": "in", "value": ["x"]}}]}, "filter.or.0.not.value", "'episodic'"),
        ({"field": "level", "op": "gt", "value": 1.5}, "filter.value", "integer"),
        ({"field": "importance", "op": "gt", "value": 2}, "filter.value", "less than or equal to 1"),
        ({"field": "pinned", "op": "eq", "value": 1}, "filter.value", "boolean"),
        ({"field": "thread", "op": "in", "value": "t"}, "filter.value", "tuple"),
        ({"field": "thread", "op": "in", "value": []}, "filter.value", "at least 1"),
        ({"field": "thread", "op": "in", "value": ["t"] * 257}, "filter.value", "at most 256"),
        ({"field": "occurred_at", "op": "between", "value": ["-7d"]}, "filter.value", ""),
        ({"field": "occurred_at", "op": "lt", "value": "yesterday"}, "filter.value", "RFC 3339"),
        ({"field": "thread", "op": "eq", "value": {"a": 1}}, "filter.value", "string"),
        ({"field": "thread", "op": "eq"}, "filter", "missing: value"),
        ({"and": [ROLE], "field": "role"}, "filter", "must be one of"),
        ({"and": [ROLE], "or": [ROLE]}, "filter", "must be one of"),
        ({"and": []}, "filter.and", "at least 1"),
        ({"nor": [ROLE]}, "filter.nor", "unknown field"),
        ({}, "filter", "must be one of"),
        ([], "filter", "object"),
    ],
)
def test_what_is_no_filter_is_refused(condition: object, place: str, told: str) -> None:
    with pytest.raises(ContractError) as refused:
        asked(condition)
    assert refused.value.place == place
    assert told in refused.value.problem


def nested(levels: int) -> bytes:
    return b'{"filter":' + b'{"not":' * levels + orjson.dumps(ROLE) + b"}" * levels + b"}"


@pytest.mark.parametrize("levels", [MAX_DEPTH, 300, 5_000, 100_000])
def test_depth_is_bounded(levels: int) -> None:
    assert parse(Query, nested(MAX_DEPTH - 1)).filter is not None
    with pytest.raises(ContractError):
        parse(Query, nested(levels))


def test_size_is_bounded() -> None:
    """A list of numbers or times is as many tests for the store; one of names is one."""
    assert asked({"and": [ROLE] * MAX_CONDITIONS}).filter is not None
    assert asked({"and": [{"field": "thread", "op": "in", "value": ["t"] * 256}] * 50}).filter is not None
    for too_large in (
        {"and": [{"or": [ROLE] * 50}, {"or": [ROLE] * 51}]},
        {"field": "importance", "op": "in", "value": [0.5] * (MAX_CONDITIONS + 1)},
        {"field": "tags", "op": "contains_all", "value": ["a"] * (MAX_CONDITIONS + 1)},
    ):
        with pytest.raises(ContractError) as refused:
            asked(too_large)
        assert refused.value.place == "filter"
