"""Points are checked whole before they are written."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.dev.store.errors import Refused
from afterturn.consumers.dev.store.points import Point, parse_payload, parse_point
from afterturn.consumers.dev.store.schema import Dense, Sparse

DENSE = {"dense": Dense(3, "Cosine")}
SPARSE = {"bm25": Sparse(idf=True)}
NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000)


def read(vector: object, **more: object) -> Point:
    return parse_point({"id": 1, "vector": vector, **more}, DENSE, SPARSE)


@given(st.lists(NUMBERS, min_size=3, max_size=3), st.sets(st.integers(0, 2**32 - 1), max_size=9), st.data())
def test_finite_vectors_of_the_right_size_are_taken_as_they_are(
    dense: list[float], indices: set[int], data: st.DataObject
) -> None:
    values = data.draw(st.lists(NUMBERS, min_size=len(indices), max_size=len(indices)))

    point = read({"dense": dense, "bm25": {"indices": list(indices), "values": values}})

    assert point.vectors == {"dense": dense, "bm25": (list(indices), values)}


@given(st.integers(0, 2), st.sampled_from([None, "1", 1e39, -1e39, float("inf"), [1.0]]))
def test_anything_else_in_a_vector_is_found_wherever_it_is(place: int, wrong: object) -> None:
    values: list[Any] = [1.0, 2.0, 3.0]
    values[place] = wrong
    for vector in ({"dense": values}, {"bm25": {"indices": [1, 2, 3], "values": values}}):
        with pytest.raises(Refused) as caught:
            read(vector)
        assert caught.value.status == 400


@given(st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_a_sparse_vector_has_each_index_once(indices: list[int]) -> None:
    vector = {"bm25": {"indices": indices, "values": [1.0] * len(indices)}}
    if len(set(indices)) == len(indices):
        read(vector)
    else:
        with pytest.raises(Refused, match="unique") as caught:
            read(vector)
        assert caught.value.status == 422


@pytest.mark.parametrize(
    "vector", [{"dense": []}, {"dense": [1.0] * 4}, {"other": []}, {"bm25": []}, {"dense": {}}, []]
)
def test_name_kind_and_size_must_fit(vector: object) -> None:
    with pytest.raises(Refused) as caught:
        read(vector)
    assert caught.value.status == 400


def test_a_refusal_holds_nothing_of_the_content() -> None:
    with pytest.raises(Refused) as caught:
        read({"dense": ["a secret", 1.0, 2.0]}, payload={"text": "another secret"})
    assert "secret" not in str(caught.value)


def nested(depth: int) -> Any:
    value: Any = 1
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
    return {"a": value}


@given(st.integers(0, 120))
def test_a_payload_nests_so_deep_and_no_deeper(depth: int) -> None:
    payload = nested(depth)
    if depth < 64:
        assert parse_payload(payload) is payload
    else:
        with pytest.raises(Refused, match="nested deeper"):
            parse_payload(payload)
