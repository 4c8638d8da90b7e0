"""Intervals and held-out choices: laws any resampling must keep."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.evaluation.offline.intervals import MEASURES, held_out, paired

differences = st.lists(st.floats(-1, 1, allow_nan=False), min_size=1, max_size=30)


@LAW
@given(differences, st.integers(1, 4))
def test_an_interval_lies_within_what_was_seen(values: list[float], conversations: int) -> None:
    found = paired(values, [str(place % conversations) for place in range(len(values))])
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9
    assert found.mean == pytest.approx(np.mean(values))


def test_no_difference_is_certain_of_none_and_a_constant_one_of_itself() -> None:
    clusters = ["a", "a", "b"]
    assert not paired([0.0, 0.0, 0.0], clusters).certain
    same = paired([0.25, 0.25, 0.25], clusters)
    assert (same.low, same.high, same.certain) == (0.25, 0.25, True)


def test_a_gain_of_one_conversation_alone_is_not_certain() -> None:
    """Questions of one conversation are no independent witnesses."""
    values = [1.0] * 50 + [0.0] * 150
    assert not paired(values, [str(place // 50) for place in range(200)]).certain


def test_without_questions_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="no question"):
        paired([], [])


def test_a_conversation_is_answered_as_the_others_choose() -> None:
    """What only the conversation itself likes is not chosen for it."""
    clusters = ["a", "b", "c"]
    column = MEASURES.index("R@10")

    def rows(*values: float) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
        made = np.zeros((3, len(MEASURES)))
        made[:, column] = values
        return made

    found, chosen = held_out({"one": rows(0.0, 0.5, 0.5), "other": rows(1.0, 0.0, 0.0)}, clusters, "R@10")
    assert chosen == {"a": "one", "b": "other", "c": "other"}
    assert found[:, column].tolist() == [0.0, 0.0, 0.0]
