"""Which index answers which condition, and what strict mode makes of it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.dev.store.errors import Refused
from afterturn.consumers.dev.store.filters import Filter, HasId, IsEmpty, Leaf, MatchAny, MatchValue, Range
from afterturn.consumers.dev.store.indexes import Index, missing_index, parse_index
from afterturn.consumers.dev.store.strict import StrictMode, parse_strict_mode

UUID_TEXT = "6bf402f1-d2f4-4769-a433-882e7ec2f046"
TIME = Range("a", (("gt", "2024-01-01T00:00:00Z"),))
NUMBER = Range("a", (("gt", 1.0),))


@pytest.mark.parametrize(
    ("condition", "served_by", "not_by"),
    [
        (MatchValue("a", "x"), ["keyword"], ["uuid", "integer", "bool", "float", "datetime"]),
        (MatchValue("a", UUID_TEXT), ["keyword", "uuid"], ["integer"]),
        (MatchValue("a", 1), ["integer"], ["keyword", "float", "bool"]),
        (MatchValue("a", value=True), ["bool"], ["integer", "keyword"]),
        (MatchAny("a", ("x", UUID_TEXT)), ["keyword"], ["uuid"]),
        (MatchAny("a", (1, 2), negated=True), ["integer"], ["keyword"]),
        (NUMBER, ["integer", "float"], ["datetime", "keyword"]),
        (TIME, ["datetime"], ["integer", "float"]),
        (IsEmpty("a"), ["keyword", "uuid", "integer", "float", "datetime", "bool"], []),
    ],
)
def test_an_index_serves_the_conditions_of_its_kind(condition: Leaf, served_by: list[str], not_by: list[str]) -> None:
    assert missing_index(condition, {}) is not None
    for kind in served_by:
        assert missing_index(condition, {"a": Index(kind)}) is None
    for kind in not_by:
        assert missing_index(condition, {"a": Index(kind)}) is not None


@pytest.mark.parametrize(("off", "unserved"), [("lookup", MatchValue("a", 1)), ("range", NUMBER)])
def test_an_integer_index_can_lack_one_of_its_tests(off: str, unserved: Leaf) -> None:
    index = parse_index({"type": "integer", off: False, "enable_hnsw": False})

    assert missing_index(unserved, {"a": index}) == ("a", ("integer",) if off == "lookup" else ("float", "integer"))
    assert index.to_json() == {"type": "integer", off: False, "enable_hnsw": False}


@pytest.mark.parametrize("condition", [HasId(frozenset({1})), MatchAny("a", ())])
def test_some_conditions_need_no_index(condition: Leaf) -> None:
    assert missing_index(condition, {}) is None


@given(st.integers(1, 50), st.integers(0, 50))
def test_limits_refuse_what_exceeds_them_and_only_when_enabled(limit: int, value: int) -> None:
    settings = {"max_query_limit": limit, "upsert_max_batchsize": limit, "search_max_batchsize": limit}
    on = parse_strict_mode({"enabled": True, **settings})
    off = parse_strict_mode({"enabled": False, **settings})
    for name in ("check_limit", "check_upsert", "check_batch"):
        getattr(off, name)(value)
        if value <= limit:
            getattr(on, name)(value)
        else:
            with pytest.raises(Refused, match=f"{value} > {limit}"):
                getattr(on, name)(value)


@given(st.integers(1, 9), st.integers(1, 9), st.integers(0, 12), st.integers(0, 12))
def test_filters_are_bounded_in_number_and_size(most: int, largest: int, conditions: int, size: int) -> None:
    strict = StrictMode({"enabled": True, "filter_max_conditions": most, "condition_max_size": largest})
    condition = Filter(should=(HasId(frozenset(range(size))), *[MatchValue("a", n) for n in range(conditions)]))
    if conditions + 1 <= most and size <= largest:
        strict.check_read(condition, {})
        strict.check_update(condition, {})
    else:
        with pytest.raises(Refused, match="limit reached"):
            strict.check_read(condition, {})


def test_reads_and_updates_are_switched_apart() -> None:
    condition = Filter(must=(MatchValue("a", "x"),))
    strict = parse_strict_mode({"enabled": True, "unindexed_filtering_update": False})

    strict.check_read(condition, {})
    with pytest.raises(Refused) as caught:
        strict.check_update(condition, {})

    assert caught.value.status == 400
    assert caught.value.text == (
        'Bad request: Index required but not found for "a" of one of the following types: [keyword]. '
        "Help: Create an index for this key or use a different filter."
    )


@pytest.mark.parametrize("setting", ["read_rate_limit", "search_max_hnsw_ef", "max_collection_vector_size_bytes"])
def test_a_setting_that_is_not_emulated_is_refused(setting: str) -> None:
    with pytest.raises(Refused, match=setting) as caught:
        parse_strict_mode({"enabled": True, setting: 1})
    assert caught.value.status == 501
