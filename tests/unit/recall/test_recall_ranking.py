"""Laws of the ranking."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import AUTHORS, LAW, by_id, candidate, candidate_sets, conversation, hits_of

from afterturn.consumers.recall.ranking.fusion import fuse
from afterturn.consumers.recall.ranking.kernel import Window, place_scores, windows
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.recall.ranking.scoring import Ranked, rank

QUESTION = "Where is the harbour"
questions = st.sampled_from(
    [QUESTION, "What did Ada say?", "what did ben say", "What did Ada tell Ben?", "Where did I put my keys?", ""]
)


def scores_of(ranked: list[Ranked]) -> dict[str, float]:
    return {entry.candidate.id: entry.score for entry in ranked}


@LAW
@given(st.data(), questions)
def test_every_hit_is_ranked_once_and_a_score_is_the_sum_of_its_parts(data: st.DataObject, question: str) -> None:
    candidates = data.draw(candidate_sets())
    dense, lexical = data.draw(hits_of(candidates)), data.draw(hits_of(candidates))
    ranked = rank(dense, lexical, candidates, question, AUTHORS)
    identities = [entry.candidate.id for entry in ranked]
    hits = dense.keys() | {identity for identity, score in lexical.items() if score > 0}
    assert len(identities) == len(set(identities))
    assert hits <= set(identities)
    for entry in ranked:
        assert entry.score == pytest.approx(sum(entry.parts))
        assert (entry.found_by == {"neighbour"}) == (entry.candidate.id not in hits)
    assert [entry.score for entry in ranked] == sorted((entry.score for entry in ranked), reverse=True)


@LAW
@given(st.data(), questions)
def test_what_no_arm_found_lies_in_a_window_and_gains(data: st.DataObject, question: str) -> None:
    candidates = data.draw(candidate_sets())
    dense, lexical = data.draw(hits_of(candidates)), data.draw(hits_of(candidates))
    recipe = Recipe(best=3)
    read = windows(place_scores(fuse(dense, lexical).scores, candidates), best=3)
    for entry in rank(dense, lexical, candidates, question, AUTHORS, recipe):
        if entry.found_by == {"neighbour"}:
            assert entry.neighbour > 0
            assert any(_inside(entry, window) for window in read)


def _inside(entry: Ranked, window: Window) -> bool:
    thread, position = entry.candidate.thread_key, entry.candidate.position
    return thread == window.thread_key and window.from_position <= position <= window.to_position


@LAW
@given(st.data(), questions)
def test_the_order_of_the_candidates_does_not_matter(data: st.DataObject, question: str) -> None:
    candidates = data.draw(candidate_sets())
    dense, lexical = data.draw(hits_of(candidates)), data.draw(hits_of(candidates))
    shuffled = dict(data.draw(st.permutations(list(candidates.items()))))
    one, other = (rank(dense, lexical, each, question, AUTHORS) for each in (candidates, shuffled))
    assert one == other


def test_neighbours_of_a_hit_come_in_by_distance() -> None:
    thread = conversation("t", 12)
    lexical = {"t6": 5.0, "t0": 1.0}
    scores = scores_of(rank({}, lexical, by_id(thread), QUESTION, AUTHORS))
    assert scores["t6"] == pytest.approx(1)
    assert [scores[f"t{at}"] for at in (7, 8, 9, 10, 11)] == pytest.approx([0.25, 0.2, 0.15, 0.1, 0.05])
    assert [scores[f"t{at}"] for at in (5, 4, 3, 2, 1)] == pytest.approx([0.25, 0.2, 0.15, 0.1, 0.05])
    assert scores["t0"] == 0


def test_a_memory_of_no_thread_has_no_neighbours() -> None:
    facts = [candidate("a", thread="", position=0), candidate("b", thread="", position=1)]
    ranked = rank({"a": 1.0, "b": 0.5}, {}, by_id(facts), QUESTION, AUTHORS)
    assert [entry.neighbour for entry in ranked] == [0, 0]
    assert [entry.candidate.id for entry in rank({"a": 1.0}, {}, by_id(facts), QUESTION, AUTHORS)] == ["a"]


def test_parts_of_one_message_give_each_other_nothing_and_neighbours_once() -> None:
    parts = [candidate(f"p{number}", position=4, ordinal=number) for number in range(3)]
    messages = by_id([*parts, candidate("next", position=5), candidate("low", thread="u")])
    scores = scores_of(rank({}, {"p0": 3.0, "p1": 2.0, "low": 1.0}, messages, QUESTION, AUTHORS))
    assert scores["p0"] == pytest.approx(1)
    assert scores["p1"] == pytest.approx(0.5)
    assert "p2" not in scores
    assert scores["next"] == pytest.approx(0.25)


def test_only_the_best_bring_their_neighbours_in() -> None:
    threads = {name: conversation(name, 2) for name in "abc"}
    lexical = {"a0": 3.0, "b0": 2.0, "c0": 1.0}
    candidates = by_id(each for thread in threads.values() for each in thread)
    assert {"a1", "b1"} <= set(scores_of(rank({}, lexical, candidates, QUESTION, AUTHORS)))
    assert set(scores_of(rank({}, lexical, candidates, QUESTION, AUTHORS, Recipe(best=1)))) == {"a0", "b0", "c0", "a1"}


def test_the_measured_recipe_takes_the_neighbours_of_twenty() -> None:
    threads = {f"{number:02}-": conversation(f"{number:02}-", 2) for number in range(30)}
    lexical = {f"{name}0": 40.0 - number for number, name in enumerate(threads)}
    ranked = rank({}, lexical, by_id(each for thread in threads.values() for each in thread), QUESTION, AUTHORS)
    neighbours = {entry.candidate.thread_key for entry in ranked if entry.found_by == {"neighbour"}}
    assert neighbours == set(list(threads)[:20])


def test_the_one_memory_of_a_tenant_is_recalled() -> None:
    only = by_id([candidate("a")])
    assert [entry.candidate.id for entry in rank({"a": 0.3}, {}, only, QUESTION, AUTHORS)] == ["a"]
    assert rank({}, {}, only, QUESTION, AUTHORS) == []


@pytest.mark.parametrize(
    ("question", "bonus"),
    [
        ("What did Ada say?", {"ada": 0.5}),
        ("what did ada say?", {"ada": 0.5}),
        ("What did Ada tell Ben?", {}),
        ("Where did I put my keys?", {"ada": 0.3, "ben": 0.3}),
        ("Did I ask Ada and Ben?", {}),
        ("Did I ask Ada?", {"ada": 0.5}),
        ("Where are the keys?", {}),
        ("What did the user say?", {}),
    ],
)
def test_the_favoured_messages(question: str, bonus: dict[str, float]) -> None:
    messages = [
        candidate("ada", thread="", author="Ada"),
        candidate("ben", thread="", author="Ben"),
        candidate("agent", thread="", author="", role="assistant"),
        candidate("low", thread="", author="", role="assistant"),
    ]
    dense = {"ada": 0.9, "ben": 0.9, "agent": 0.9, "low": 0.1}
    ranked = rank(dense, {}, by_id(messages), question, AUTHORS)
    assert {entry.candidate.id: entry.author for entry in ranked if entry.author} == bonus


def test_a_short_question_loses_a_tenth() -> None:
    pair = [
        candidate("asks", thread="", short_question=True),
        candidate("tells", thread=""),
        candidate("low", thread=""),
    ]
    scores = scores_of(rank({"asks": 1.0, "tells": 1.0, "low": 0.0}, {}, by_id(pair), QUESTION, AUTHORS))
    assert scores["tells"] - scores["asks"] == pytest.approx(0.1)


def test_equal_scores_stand_newest_first_whatever_the_ids() -> None:
    tied = [candidate(identity, thread=identity, minutes=at) for identity, at in (("b", 1), ("a", 2), ("c", 0))]
    tied.append(candidate("low", thread="d"))
    ranked = rank({"a": 1.0, "b": 1.0, "c": 1.0, "low": 0.0}, {}, by_id(tied), QUESTION, AUTHORS)
    assert [entry.candidate.id for entry in ranked] == ["a", "b", "c", "low"]


def test_a_hit_with_no_score_gets_neither_bonus_nor_malus() -> None:
    pair = by_id([candidate("best", thread="", author="Ben"), candidate("last", thread="", short_question=True)])
    ranked = rank({"best": 0.9, "last": 0.1}, {}, pair, "What did Ada say?", AUTHORS)
    assert [(entry.candidate.id, entry.score) for entry in ranked] == [("best", pytest.approx(0.7)), ("last", 0)]


def test_a_hit_that_is_gone_is_left_out() -> None:
    assert rank({"gone": 1.0, "a": 0.5}, {}, by_id([candidate("a")]), QUESTION, AUTHORS)[0].candidate.id == "a"
