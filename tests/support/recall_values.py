"""Candidates and hits for the tests of recall's pure parts."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from hypothesis import settings
from hypothesis import strategies as st

from afterturn.consumers.recall.ranking.candidates import Candidate

START = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)
LAW = settings(deadline=None, max_examples=60)
"""No deadline: the machine that runs the tests may be busy."""

AUTHORS = ("Ada", "Ben", "Chidi Okafor")


def candidate(
    identity: str,
    *,
    thread: str = "t",
    position: int = 0,
    ordinal: int = 0,
    author: str = "Ada",
    role: str = "user",
    minutes: float = 0,
    chars: int = 40,
    short_question: bool = False,
    kind: str = "episodic",
) -> Candidate:
    """A candidate that happened `minutes` after the start."""
    at = START + timedelta(minutes=minutes)
    return Candidate(identity, thread, position, ordinal, author, role, at, chars, short_question, kind)


def by_id(candidates: Iterable[Candidate]) -> dict[str, Candidate]:
    return {each.id: each for each in candidates}


def conversation(thread: str, messages: int, author: str = "Ada") -> list[Candidate]:
    """A thread of messages, one a minute: ids t0, t1, …"""
    return [
        candidate(f"{thread}{place}", thread=thread, position=place, minutes=place, author=author)
        for place in range(messages)
    ]


scores = st.one_of(
    st.floats(-1, 30, allow_nan=False, allow_subnormal=False), st.sampled_from([0.0, 0.25, 0.5, 1.0, 2.0])
)


@st.composite
def candidate_sets(draw: st.DrawFn, *, at_most: int = 16) -> dict[str, Candidate]:
    """Messages of a few threads, split ones and facts of no thread among them."""
    count = draw(st.integers(0, at_most))
    made = [
        candidate(
            f"m{number}",
            thread=draw(st.sampled_from(["", "t", "u"])),
            position=draw(st.integers(0, 25)),
            ordinal=number,
            author=draw(st.sampled_from(["", *AUTHORS])),
            role=draw(st.sampled_from(["user", "assistant"])),
            minutes=draw(st.integers(0, 4_000)),
            chars=draw(st.integers(1, 400)),
            short_question=draw(st.booleans()),
        )
        for number in range(count)
    ]
    return by_id(made)


@st.composite
def hits_of(draw: st.DrawFn, identities: Iterable[str]) -> dict[str, float]:
    """An arm's answer about some of the memories, best first."""
    chosen = draw(st.lists(st.sampled_from(sorted(identities)), unique=True)) if identities else []
    found = {identity: draw(scores) for identity in chosen}
    return dict(sorted(found.items(), key=lambda hit: -hit[1]))
