"""Laws of the neighbour kernel and of the windows read around the best."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW, by_id, candidate, candidate_sets, hits_of

from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.kernel import by_thread, gain, place_scores, windows

KERNEL = (0.25, 0.2, 0.15, 0.1, 0.05)
places = st.dictionaries(
    st.tuples(st.sampled_from("tu"), st.integers(0, 60)), st.floats(0, 2, allow_subnormal=False), max_size=40
)


@LAW
@given(st.integers(0, 20), st.integers(0, 20), st.floats(0.1, 2))
def test_neighbours_give_each_other_the_same_share(one: int, other: int, score: float) -> None:
    if one == other:
        return
    distance = abs(one - other)
    weight = KERNEL[distance - 1] if distance <= len(KERNEL) else 0
    assert gain({one: score}, other) == gain({other: score}, one) == pytest.approx(weight * score)


@LAW
@given(places, places, st.integers(0, 60))
def test_gains_add_up(some: dict[tuple[str, int], float], more: dict[tuple[str, int], float], position: int) -> None:
    both = {place: some.get(place, 0) + more.get(place, 0) for place in some | more}
    apart = sum(gain(by_thread(each).get("t", {}), position) for each in (some, more))
    assert gain(by_thread(both).get("t", {}), position) == pytest.approx(apart)


@LAW
@given(places, st.integers(0, 60))
def test_nothing_crosses_threads(scores: dict[tuple[str, int], float], position: int) -> None:
    own = {place: score for place, score in scores.items() if place[0] == "t"}
    assert gain(by_thread(scores).get("t", {}), position) == gain(by_thread(own).get("t", {}), position)


def test_the_own_score_plays_no_part() -> None:
    assert gain({3: 1.0}, 3) == 0


def test_a_position_has_the_score_of_its_best_part_once() -> None:
    parts = [candidate(f"p{number}", position=4, ordinal=number) for number in range(3)]
    scores = place_scores({"p0": 0.2, "p1": 0.9, "p2": 0.5}, by_id(parts))
    assert scores == {("t", 4): 0.9}


@LAW
@given(st.data())
def test_only_memories_of_a_thread_have_a_place(data: st.DataObject) -> None:
    candidates = data.draw(candidate_sets())
    scores = data.draw(hits_of({*candidates, "gone"}))
    positive = {identity: abs(score) for identity, score in scores.items()}
    made = place_scores(positive, candidates)
    known = [candidates[identity] for identity in scores if identity in candidates]
    assert made.keys() == {(each.thread_key, each.position) for each in known if each.thread_key}


@LAW
@given(places, st.integers(0, 25), st.integers(0, 6))
def test_windows_cover_the_surroundings_of_the_best_and_nothing_else(
    scores: dict[tuple[str, int], float], best: int, reach: int
) -> None:
    made = windows(scores, best, reach)
    covered = [(window.thread_key, at) for window in made for at in range(window.from_position, window.to_position + 1)]
    top = sorted(scores, key=lambda place: -scores[place])[:best]
    expected = {(thread, at) for thread, middle in top for at in range(max(0, middle - reach), middle + reach + 1)}
    assert len(covered) == len(set(covered))
    assert set(covered) == expected
    assert made == sorted(made)


def test_touching_windows_are_read_at_once() -> None:
    around = {("t", 10): 1.0, ("t", 21): 0.5, ("t", 33): 0.4, ("u", 2): 0.3}
    assert windows(around) == [("t", 5, 26), ("t", 28, 38), ("u", 0, 7)]


def test_equal_names_of_threads_in_two_scopes_stay_apart() -> None:
    threads: list[Candidate] = [
        candidate("a", thread="user-1/main", position=1),
        candidate("b", thread="user-2/main", position=1),
    ]
    assert windows(place_scores({"a": 1.0, "b": 0.5}, by_id(threads))) == [("user-1/main", 0, 6), ("user-2/main", 0, 6)]
