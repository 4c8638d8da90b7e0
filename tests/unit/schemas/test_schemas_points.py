"""Points: what is stored is what was meant, small, without nulls, and ordered for leaving."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import points

from afterturn.schemas.errors import ContractError
from afterturn.schemas.points import RANK_SHIFT, Checkpoint, Memory, StoredPoint, evict_key, point_of

IMPORTANCES = st.floats(0, 1)
NUMBERS = st.integers(0, 2**RANK_SHIFT - 1)


def holds_null(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(holds_null, value.values()))
    return any(map(holds_null, value)) if isinstance(value, list) else value is None


@given(points())
def test_a_point_comes_back_equal(point: StoredPoint) -> None:
    payload = point.payload()
    assert point_of(payload) == point
    assert point_of(orjson.loads(orjson.dumps(payload))) == point
    assert point_of({**payload, "added_later": {"x": 1}}) == point


@given(points())
def test_a_payload_says_what_it_is_and_holds_no_null_but_those_of_free_json(point: StoredPoint) -> None:
    payload = point.payload()
    assert payload["point"] == point.point
    assert {"partition", "born", "rev"} <= payload.keys()
    assert "next" not in payload
    settings = {name: value for name, value in payload.get("settings", {}).items() if name != "consolidation"}
    assert not holds_null({name: value for name, value in payload.items() if name not in {"data", "settings"}})
    assert not holds_null(settings)


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        ({}, "point"),
        ({"point": "checkpoint"}, "point"),
        ({"point": ["memory"]}, "point"),
        ({"point": "receipt", "partition": 0, "born": 1, "rev": "xyzzy"}, "rev"),
        ({"point": "memory", "partition": 0, "born": 1, "rev": 1, "status": "xyzzy"}, "tenant"),
    ],
)
def test_what_is_none_of_ours_is_refused_without_its_content(payload: dict[str, Any], place: str) -> None:
    with pytest.raises(ContractError) as found:
        point_of(payload)
    assert found.value.place == place
    assert "xyzzy" not in str(found.value)


def test_defaults_are_left_out_of_a_payload() -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    memory = Memory(
        partition=1, born=2, rev=3, tenant="t", status="active", ordinal=0, evict_key=5, content="x", recorded_at=at
    )
    assert memory.payload() == {
        "point": "memory",
        "partition": 1,
        "born": 2,
        "rev": 3,
        "tenant": "t",
        "status": "active",
        "ordinal": 0,
        "evict_key": 5,
        "content": "x",
        "recorded_at": "2026-01-01T00:00:00Z",
    }


def test_a_checkpoint_alone_has_next_and_no_rev() -> None:
    assert Checkpoint(partition=0, next=7).payload() == {
        "point": "checkpoint",
        "partition": 0,
        "next": 7,
        "opens": 0,
        "plan_version": 1,
    }


@given(IMPORTANCES, NUMBERS, st.booleans())
def test_an_evict_key_stays_exact_in_every_store(importance: float, number: int, superseded: bool) -> None:
    assert 0 <= evict_key(importance, number, superseded=superseded) < 2**53


@given(IMPORTANCES, NUMBERS, IMPORTANCES, NUMBERS)
def test_superseded_memories_leave_first(a: float, n: int, b: float, m: int) -> None:
    assert evict_key(a, n, superseded=True) < evict_key(b, m)


@given(IMPORTANCES, NUMBERS, IMPORTANCES, NUMBERS)
def test_then_the_less_important_leave_by_thousandths(a: float, n: int, b: float, m: int) -> None:
    one, other = int(1_000 * a), int(1_000 * b)
    if one != other:
        assert (evict_key(a, n) < evict_key(b, m)) == (one < other)


@given(IMPORTANCES, NUMBERS, NUMBERS, st.booleans())
def test_then_the_earlier_recorded_leave(importance: float, n: int, m: int, superseded: bool) -> None:
    one, other = (evict_key(importance, number, superseded=superseded) for number in (n, m))
    assert (one < other) == (n < m)
    assert (one == other) == (n == m)


@pytest.mark.parametrize(
    ("importance", "number", "superseded", "key"),
    [(0.0, 0, True, 0), (0.0, 0, False, 2**43), (0.5, 7, False, 501 * 2**43 + 7), (1.0, 1, False, 1_001 * 2**43 + 1)],
)
def test_an_evict_key_is_as_the_design_says(importance: float, number: int, superseded: bool, key: int) -> None:
    assert evict_key(importance, number, superseded=superseded) == key
