"""What the served recipe adds to the measured one: laws of each number, and that 0 switches each off."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import AUTHORS, LAW, START, by_id, candidate, conversation

from afterturn.consumers.recall.ranking.around import reply_scores, session_scores
from afterturn.consumers.recall.ranking.fusion import fuse, standing_out
from afterturn.consumers.recall.ranking.recipe import MEASURED
from afterturn.consumers.recall.ranking.scoring import Ranked, rank
from afterturn.consumers.recall.ranking.times import NO_TIME, AskedTime, asked_time

ALL = replace(
    MEASURED, lexical_power=1.5, lexical_doubt=0.5, reply=0.3, session=0.2, when=0.3, date=0.5, address=0.2, answer=0.4
)
hits = st.dictionaries(st.sampled_from([f"t{place}" for place in range(30)]), st.floats(0.1, 9), max_size=20)


def by_identity(ranked: list[Ranked]) -> dict[str, Ranked]:
    return {entry.candidate.id: entry for entry in ranked}


@LAW
@given(hits, hits)
def test_every_score_is_the_sum_of_its_parts(dense: dict[str, float], lexical: dict[str, float]) -> None:
    asked = asked_time("When was it in May 2023?", START)
    found = rank(dense, lexical, by_id(conversation("t", 30)), "When was it in May 2023?", AUTHORS, ALL, asked)
    for entry in found:
        assert entry.score == pytest.approx(sum(entry.parts))


@LAW
@given(hits, hits)
def test_the_additions_lose_no_hit_and_bring_none(dense: dict[str, float], lexical: dict[str, float]) -> None:
    candidates = by_id(conversation("t", 30))
    one, other = (by_identity(rank(dense, lexical, candidates, "Where is it?", AUTHORS, r)) for r in (MEASURED, ALL))
    assert set(one) == set(other)


def test_what_replies_to_a_short_question_gains_from_it() -> None:
    thread = conversation("t", 8)
    thread[2] = candidate("t2", position=2, minutes=2, short_question=True)
    scores = {("t", 2): 1.0, ("t", 5): 0.7}
    assert reply_scores(scores, by_id(thread)) == {("t", 3): 1.0}
    lexical = {"t2": 3.0, "t7": 1.0}
    gained = by_identity(rank({}, lexical, by_id(thread), "?", AUTHORS, replace(MEASURED, reply=0.3)))
    plain = by_identity(rank({}, lexical, by_id(thread), "?", AUTHORS))
    changed = {identity for identity in plain if gained[identity].score != pytest.approx(plain[identity].score)}
    assert changed == {"t3"}
    assert gained["t3"].neighbour - plain["t3"].neighbour == pytest.approx(0.3)


def test_a_session_is_a_thread_on_a_day_and_its_best_three_count() -> None:
    day = 24 * 60
    thread = [candidate(f"t{place}", position=place, minutes=place // 4 * day) for place in range(8)]
    places = {("t", place): 1.0 for place in range(4)} | {("t", 4): 0.6}
    first, second = (thread[place].occurred_at.toordinal() for place in (0, 4))
    scores = session_scores(places, by_id(thread))
    assert scores == {("t", first): pytest.approx(1.0), ("t", second): pytest.approx(0.2)}


def test_memories_of_no_thread_have_no_session() -> None:
    facts = by_id([candidate("a", thread=""), candidate("b", thread="")])
    ranked = rank({"a": 1.0, "b": 0.5}, {}, facts, "Where is it?", AUTHORS, ALL)
    assert [entry.neighbour for entry in ranked] == [0.0, 0.0]


@pytest.mark.parametrize(
    ("asked", "time"), [(NO_TIME, 0.0), (AskedTime(when=True), 0.3), (asked_time("in May 2023", START), 0.5)]
)
def test_time_counts_only_where_it_is_asked_for(asked: AskedTime, time: float) -> None:
    told = by_id([candidate("a", thread="")._replace(tells_when=True), candidate("b", thread="", minutes=-400_000)])
    ranked = by_identity(rank({"a": 1.0, "b": 0.9, "low": 0.5}, {}, told, "?", AUTHORS, ALL, asked))
    assert ranked["a"].time == pytest.approx(time)
    assert ranked["b"].time == 0.0


@pytest.mark.parametrize("question", ["Where was Ada?", "Where was I?"])
def test_whose_messages_are_asked_for_gain_less_where_they_only_speak_to_another(question: str) -> None:
    told = [*conversation("t", 2), candidate("t2", position=2, author="Ben", role="assistant")]
    scores = {"t0": 1.0, "t1": 0.9, "t2": 0.8}
    speaking = by_id([each._replace(addresses=each.id != "t0") for each in told])
    off = replace(ALL, address=0.0)
    with_it, without = (by_identity(rank(scores, {}, speaking, question, AUTHORS, r)) for r in (ALL, off))
    assert [with_it[i].author - without[i].author for i in scores] == pytest.approx([0.0, -0.2, 0.0])


def test_what_names_a_thing_of_the_kind_asked_for_gains_where_it_was_found() -> None:
    told = by_id([candidate("a", thread="")._replace(answers=True), candidate("b", thread="")])
    ranked = by_identity(rank({"b": 1.0, "a": 0.9, "low": 0.5}, {}, told, "Where is it?", AUTHORS, ALL))
    assert [ranked[i].answer for i in "ab"] == [pytest.approx(0.4), 0.0]
    plain = rank({"b": 1.0, "a": 0.9, "low": 0.5}, {}, told, "Where is it?", AUTHORS)
    assert [entry.candidate.id for entry in plain] == ["b", "a"]
    assert ranked["a"].score > ranked["b"].score


@LAW
@given(st.lists(st.floats(0.1, 30), min_size=1, max_size=40), st.floats(0, 1))
def test_trust_lies_between_its_bounds_and_grows_with_the_best_hit(scores: list[float], doubt: float) -> None:
    found = {str(place): score for place, score in enumerate(scores)}
    trust = standing_out(found, doubt)
    assert 1 - doubt - 1e-9 <= trust <= 1
    best = max(found, key=found.__getitem__)
    assert standing_out(found | {best: found[best] * 2}, doubt) >= trust - 1e-9
    assert standing_out(found, 0.0) == standing_out({}, doubt) == 1.0


def test_hits_far_behind_the_best_count_for_less() -> None:
    lexical = {"a": 3.0, "b": 2.0, "c": 1.0}
    fused = fuse({}, lexical, replace(MEASURED, lexical_power=2.0))
    assert fused.lexical == {"a": pytest.approx(1.0), "b": pytest.approx(0.25), "c": 0.0}
