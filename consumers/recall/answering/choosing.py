"""Which neighbours of the hits to read: only those that may come into the answer.

A score comes from the hits alone: neighbours that are no hits have none to give. So before anything else is read the
hits' ranks among each other are known, and of a neighbour the most it can reach. What ranks behind the end of the list
and behind the first hit that no longer fits into the text is not read: the gap left there is filled by hits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from afterturn.consumers.recall.prompt.packing import pack
from afterturn.consumers.recall.ranking.kernel import gain
from afterturn.consumers.recall.ranking.pool import Pool
from afterturn.consumers.recall.ranking.scoring import Ranked, Scoring
from afterturn.consumers.store.search import Window

NEARLY_NOTHING = 1e-9
"""Scores are sums: equal ones may differ in their last digits."""


class Limits(NamedTuple):
    """How much an answer shows: the length of the list, the tokens of the text."""

    listed: int
    max_tokens: int


def places_to_read(ranked: Sequence[Ranked], scoring: Scoring, pool: Pool, limits: Limits) -> list[Window]:
    """Return the places around the best hits whose memories, hits or not, may still come into the answer.

    Args:
        ranked: the hits, best first; those the answer must not show left out.
        scoring: what the hits give to others.
        pool: what the search found.
        limits: how much the answer shows.
    """
    packed = frozenset(pack([entry.candidate for entry in ranked], limits.max_tokens, scoring.recipe).ids)
    fitting = next((place for place, entry in enumerate(ranked) if entry.candidate.id not in packed), len(ranked))
    last = max(limits.listed - 1, fitting)
    least = ranked[last].score if last < len(ranked) else 0.0
    return list(_places(scoring, pool, least - _most_bonus(scoring, pool)))


def _most_bonus(scoring: Scoring, pool: Pool) -> float:
    """The most a memory can get that only reading it tells: whose it is, what it says, when it was said."""
    recipe, asked = scoring.recipe, scoring.asked
    author = 0.0 if scoring.favour.author is None else recipe.author
    role = 0.0 if scoring.favour.role is None else recipe.first_person
    date = recipe.date if asked.named or asked.spans else 0.0
    answer = recipe.answer if pool.looking.wanted.anything else 0.0
    return max(author, role) + (recipe.when if asked.when else 0.0) + date + answer


def _places(scoring: Scoring, pool: Pool, least: float) -> Iterator[Window]:
    """Yield the places in the windows of the best hits whose gain reaches ``least``, those of the hits left out."""
    places, kernel = scoring.places, scoring.recipe.kernel
    best_days = {key: (key, day) for key, day in sorted(scoring.sessions, key=scoring.sessions.__getitem__)}
    for key, first, last in scoring.around:
        thread, scores = pool.threads[key], scoring.threads[key]
        best_day = best_days.get(key, (key, 0))  # which day a place is of only reading it tells
        held = [
            position
            for position in range(first, last + 1)
            if (
                (key, position) not in places or (key, position) in pool.divided
            )  # of a message in parts, some are hits
            and _reaches(gain(scores, position, kernel), scoring.talk((key, position), best_day), least)
        ]
        for start, end in _runs(held):
            yield Window(thread.name, thread.scope, start, end)


def _reaches(gained: float, talk: float, least: float) -> bool:
    return gained > 0 and gained + talk >= least - NEARLY_NOTHING


def _runs(positions: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield ranges that hold the positions, which are ascending; a gap of one is read over."""
    if not positions:
        return
    first = last = positions[0]
    for position in positions[1:]:
        if position > last + 2:
            yield first, last
            first = position
        last = position
    yield first, last
