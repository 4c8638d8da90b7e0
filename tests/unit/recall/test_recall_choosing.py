"""Which neighbours are read: enough for the list that reading everything around the hits gives, and no more."""

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta

from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import AUTHORS, LAW, START, candidate, conversation

from afterturn.consumers.recall.answering.choosing import Limits, places_to_read
from afterturn.consumers.recall.answering.engine import SERVED
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.looking import Looking
from afterturn.consumers.recall.ranking.pool import Pool, Thread
from afterturn.consumers.recall.ranking.scoring import Favour, Ranked, Scoring, favour, rank
from afterturn.consumers.recall.ranking.times import asked_time
from afterturn.consumers.recall.ranking.wanted import wanted as wanted_of
from afterturn.consumers.store.search import Window
from afterturn.schemas.scope import Scope

QUESTIONS = ("Where is it?", "What did Ada say?", "Where did I put my keys?")


def pool_of(hits: Iterable[Candidate], dense: dict[str, float], lexical: dict[str, float]) -> Pool:
    found = {each.id: each for each in hits}
    threads = {each.thread_key: Thread(each.thread_key, Scope()) for each in found.values() if each.thread_key}
    return Pool(found, dense, lexical, threads)


def ranked_from(pool: Pool, candidates: Iterable[Candidate], question: str) -> list[Ranked]:
    return rank(pool.dense, pool.lexical, {each.id: each for each in candidates}, question, AUTHORS)


def wanted(pool: Pool, favoured: Favour, limits: Limits) -> list[Window]:
    scoring = Scoring.of(pool.dense, pool.lexical, pool.candidates, favoured)
    return places_to_read(scoring.ranked(pool.candidates), scoring, pool, limits)


def within(places: list[Window], messages: Iterable[Candidate]) -> list[Candidate]:
    """Those of the messages that the places name."""
    return [
        each
        for each in messages
        if any(p.thread == each.thread_key and p.first <= each.position <= p.last for p in places)
    ]


@LAW
@given(st.data(), st.integers(1, 12), st.integers(0, 400), st.sampled_from(QUESTIONS))
def test_the_list_is_that_of_reading_everything(data: st.DataObject, limit: int, tokens: int, question: str) -> None:
    threads = [conversation(name, 40, author) for name, author in (("t", "Ada"), ("u", "Ben"))]
    everything = [message for thread in threads for message in thread]
    identities = st.sampled_from([each.id for each in everything])
    scores = st.floats(0, 5, allow_nan=False, allow_subnormal=False)
    dense, lexical = (data.draw(st.dictionaries(identities, scores, max_size=15)) for _ in range(2))
    hits = [each for each in everything if each.id in dense or each.id in lexical]
    pool = pool_of(hits, dense, lexical)

    places = wanted(pool, favour(question, AUTHORS), Limits(limit, tokens))

    read = {each.id: each for each in [*hits, *within(places, everything)]}
    ours = ranked_from(pool, read.values(), question)[:limit]
    theirs = ranked_from(pool, everything, question)[:limit]
    assert [(e.candidate.id, e.score) for e in ours] == [(e.candidate.id, e.score) for e in theirs]


@LAW
@given(
    st.data(),
    st.integers(1, 12),
    st.integers(0, 400),
    st.sampled_from([*QUESTIONS, "When did Ada go?", "What did Ben say on 9 May 2023?", "Who did I meet in June?"]),
)
def test_so_it_is_with_the_served_recipe(data: st.DataObject, limit: int, tokens: int, question: str) -> None:
    """What only reading a neighbour tells (whose it is, its day, what it says) is reckoned with."""
    kind = wanted_of(question, AUTHORS)
    everything = [
        message._replace(
            occurred_at=message.occurred_at + timedelta(days=message.position // 9),
            tells_when=data.draw(st.booleans()),
            answers=kind.anything and data.draw(st.booleans()),
            addresses=data.draw(st.booleans()),
            short_question=data.draw(st.booleans()),
        )
        for name, author in (("t", "Ada"), ("u", "Ben"))
        for message in conversation(name, 25, author)
    ]
    identities = st.sampled_from([each.id for each in everything])
    scores = st.floats(0, 5, allow_nan=False, allow_subnormal=False)
    dense, lexical = (data.draw(st.dictionaries(identities, scores, max_size=12)) for _ in range(2))
    pool = pool_of([each for each in everything if each.id in dense or each.id in lexical], dense, lexical)
    pool = replace(pool, looking=Looking(wanted=kind))
    asked, recipe = asked_time(question, START), replace(SERVED, best=3)
    scoring = Scoring.of(dense, lexical, pool.candidates, favour(question, AUTHORS), recipe, asked)

    places = places_to_read(scoring.ranked(pool.candidates), scoring, pool, Limits(limit, tokens))

    read = {each.id: each for each in [*pool.candidates.values(), *within(places, everything)]}
    ours, theirs = (scoring.ranked(known)[:limit] for known in (read, {each.id: each for each in everything}))
    assert [(e.candidate.id, e.score) for e in ours] == [(e.candidate.id, e.score) for e in theirs]


def test_a_place_that_cannot_reach_the_answer_is_not_read() -> None:
    """A weak hit's neighbours get an eighth of a point; whole threads of better ones fill a short answer."""
    strong, weak = conversation("t", 10), conversation("u", 30)
    hits = [*strong, weak[15], weak[29]]
    lexical = {**{each.id: 5.0 for each in strong}, weak[15].id: 3.0, weak[29].id: 1.0}
    pool = pool_of(hits, {}, lexical)
    assert wanted(pool, Favour(), Limits(5, 0)) == []
    places = wanted(pool, Favour(), Limits(100, 2_000))
    assert [(place.thread, place.first, place.last) for place in places] == [("t", 10, 14), ("u", 10, 20)]


def reached(places: list[Window]) -> set[int]:
    return {position for place in places for position in range(place.first, place.last + 1)}


def test_other_parts_of_a_divided_message_are_read() -> None:
    hits = [candidate("a", position=3, ordinal=1), candidate("b", position=4), candidate("c", position=40)]
    pool = pool_of(hits, {}, {"a": 3.0, "b": 2.0, "c": 1.0})
    limits = Limits(50, 2_000)
    assert reached(wanted(pool, Favour(), limits)) == {0, 1, 2, 5, 6, 7, 8, 9}
    pool.divided.add(("t", 3))
    assert 3 in reached(wanted(pool, Favour(), limits))


def test_nothing_found_wants_nothing() -> None:
    assert wanted(pool_of([], {}, {}), Favour(), Limits(50, 2_000)) == []


def test_whose_messages_are_asked_for_reaches_further() -> None:
    """A neighbour may be the named author's: half a point more is the most it can get."""
    strong, weak = conversation("t", 10), conversation("u", 30, "Ben")
    hits = [*strong, weak[15], weak[29]]
    pool = pool_of(hits, {}, {**{each.id: 5.0 for each in strong}, weak[15].id: 3.0, weak[29].id: 1.0})
    limits = Limits(11, 0)
    plain = wanted(pool, Favour(), limits)
    named = wanted(pool, Favour(author="Ada"), limits)
    assert reached(plain) < reached(named)
