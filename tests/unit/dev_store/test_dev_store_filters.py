"""Filters: read as they are written, and nothing in them is passed over."""

from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.dev.store.errors import Refused
from afterturn.consumers.dev.store.filters import (
    FieldIsEmpty,
    Filter,
    HasId,
    IsEmpty,
    IsNull,
    MatchAny,
    MatchValue,
    Range,
    parse_filter,
)

IDENTITY = "6bf402f1-d2f4-4769-a433-882e7ec2f046"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ({"key": "a", "match": {"value": "x"}}, MatchValue("a", "x")),
        ({"key": "a.b", "match": {"value": True}}, MatchValue("a.b", value=True)),
        ({"key": "a", "match": {"any": ["x", "y"]}}, MatchAny("a", ("x", "y"))),
        ({"key": "a", "match": {"except": [1]}}, MatchAny("a", (1,), negated=True)),
        ({"key": "a", "range": {"gte": 1, "lt": 2.5, "gt": None}}, Range("a", (("gte", 1.0), ("lt", 2.5)))),
        ({"key": "a", "range": {"gte": "2024-01-01T00:00:00Z"}}, Range("a", (("gte", "2024-01-01T00:00:00Z"),))),
        ({"has_id": [1, IDENTITY]}, HasId(frozenset({1, UUID(IDENTITY)}))),
        ({"is_empty": {"key": "a"}}, IsEmpty("a")),
        ({"is_null": {"key": "a"}}, IsNull("a")),
        ({"key": "a", "is_null": False}, FieldIsEmpty("a", null=True, wanted=False)),
        ({"key": "a", "is_empty": True}, FieldIsEmpty("a", null=False, wanted=True)),
        ({"should": [{"has_id": [1]}]}, Filter(should=(HasId(frozenset({1})),))),
        ({}, Filter()),
    ],
)
def test_a_condition(written: dict[str, Any], read: object) -> None:
    assert parse_filter({"must": [written]}) == Filter(must=(read,))  # type: ignore[arg-type]
    assert parse_filter({"must": written}) == Filter(must=(read,))  # type: ignore[arg-type]


def test_every_clause_is_kept() -> None:
    one, two, three, four = ({"has_id": [number]} for number in range(4))
    written = {
        "must": [one],
        "should": two,
        "must_not": [{"must": [three]}],
        "min_should": {"conditions": [four], "min_count": 1},
    }

    read = parse_filter(written)

    assert list(read.leaves()) == [HasId(frozenset({number})) for number in range(4)]
    assert read.least == 1


@pytest.mark.parametrize(
    ("written", "status"),
    [
        ({"musst": []}, 501),
        ({"must": [{"key": "a", "match": {"text": "b"}}]}, 501),
        ({"must": [{"key": "a", "match": {"value": 1}, "values_count": {}}]}, 501),
        ({"must": [{"key": "a", "match": {"value": 1}, "range": {"lt": 1}}]}, 501),
        ({"must": [{"has_id": [1], "must": []}]}, 501),
        ({"must": [{"has_vector": "dense"}]}, 501),
        ({"must": [{"is_empty": {"key": "a", "deep": True}}]}, 501),
        ({"must": [{"key": "a"}]}, 400),
        ({"must": [{"key": 1, "match": {"value": 1}}]}, 400),
        ({"must": [{"key": "a", "match": {}}]}, 400),
        ({"must": [{"key": "a", "match": {"value": 1.5}}]}, 400),
        ({"must": [{"key": "a", "match": {"any": ["x", 1]}}]}, 400),
        ({"must": [{"key": "a", "match": {"any": [True]}}]}, 400),
        ({"must": [{"key": "a", "range": {"lt": 1, "gt": "2024-01-01T00:00:00Z"}}]}, 400),
        ({"must": [{"key": "a", "range": {"lt": True}}]}, 400),
        ({"must": ["a"]}, 400),
        ({"must": "a"}, 400),
        ({"min_should": {"conditions": []}}, 400),
        ([], 400),
    ],
)
def test_what_cannot_be_read_is_refused(written: object, status: int) -> None:
    with pytest.raises(Refused) as caught:
        parse_filter(written)

    assert caught.value.status == status


def nested(depth: int) -> dict[str, Any]:
    written: dict[str, Any] = {"must": [{"has_id": [1]}]}
    for _ in range(depth):
        written = {"must_not": [written]}
    return written


@given(st.integers(0, 200))
def test_filters_nest_so_deep_and_no_deeper(depth: int) -> None:
    if depth <= 32:
        assert list(parse_filter(nested(depth)).leaves()) == [HasId(frozenset({1}))]
    else:
        with pytest.raises(Refused, match="nested deeper"):
            parse_filter(nested(depth))
