"""Laws of the fusion of two lists of hits."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW, hits_of

from afterturn.consumers.recall.ranking.fusion import fuse, min_max

IDS = [f"m{number}" for number in range(12)]
arms = hits_of(IDS)


@LAW
@given(arms)
def test_min_max_scales_into_0_to_1_and_keeps_the_order(hits: dict[str, float]) -> None:
    scaled = min_max(hits)
    assert scaled.keys() == hits.keys()
    assert all(0 <= share <= 1 for share in scaled.values())
    worst_first = sorted(hits, key=lambda identity: hits[identity])
    assert [scaled[identity] for identity in worst_first] == sorted(scaled.values())


@LAW
@given(arms)
def test_min_max_ends_at_0_and_1(hits: dict[str, float]) -> None:
    if hits and max(hits.values()) - min(hits.values()) > 1e-3:
        scaled = min_max(hits).values()
        assert min(scaled) == 0
        assert max(scaled) == pytest.approx(1, abs=1e-5)


def test_a_list_of_one_or_of_equal_scores_becomes_0() -> None:
    assert min_max({"a": 3.0}) == {"a": 0.0}
    assert min_max({"a": 3.0, "b": 3.0}) == {"a": 0.0, "b": 0.0}
    assert min_max({}) == {}


@LAW
@given(arms, arms)
def test_what_is_better_in_both_arms_is_better_fused(dense: dict[str, float], lexical: dict[str, float]) -> None:
    scores = fuse(dense, lexical).scores
    for one in scores:
        for other in scores:
            better_by_word = max(lexical.get(one, 0), 0) >= max(lexical.get(other, 0), 0)
            in_dense = one in dense or other not in dense
            if better_by_word and in_dense and dense.get(one, -9) >= dense.get(other, -9):
                assert scores[one] >= scores[other] - 1e-12


@LAW
@given(arms, arms)
def test_a_score_is_lexical_plus_seven_tenths_dense(dense: dict[str, float], lexical: dict[str, float]) -> None:
    fused = fuse(dense, lexical)
    positive = {identity: score for identity, score in lexical.items() if score > 0}
    assert fused.scores.keys() == dense.keys() | positive.keys()
    for identity, score in fused.scores.items():
        expected = min_max(positive).get(identity, 0) + 0.7 * min_max(dense).get(identity, 0)
        assert score == pytest.approx(expected)


@LAW
@given(arms, arms, st.sampled_from(IDS))
def test_found_by_names_the_lists_that_hold_it(
    dense: dict[str, float], lexical: dict[str, float], identity: str
) -> None:
    found_by = fuse(dense, lexical).found_by(identity)
    assert ("vector" in found_by) == (identity in dense)
    assert ("keyword" in found_by) == (lexical.get(identity, 0) > 0)
    assert ("neighbour" in found_by) == (identity not in dense and lexical.get(identity, 0) <= 0)


def test_a_missing_arm_leaves_the_other() -> None:
    assert list(fuse({"a": 1.0, "b": 0.5}, {}).scores) == ["a", "b"]
    assert list(fuse({}, {"a": 4.0, "b": 0.0, "c": 1.0}).scores) == ["a", "c"]
