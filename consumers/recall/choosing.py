"""What to read of memories after the search: only what the answer may show.

A score comes from the hits alone: neighbours that are no hits have none to give. So before anything else is read the
hits' ranks among each other are known, and of a neighbour the most it can reach. What ranks behind the end of the list
and behind the first hit that no longer fits into the text is not read: the gap left there is filled by hits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from afterturn.consumers.recall.fusion import fuse
from afterturn.consumers.recall.kernel import Place, by_thread, gain, place_scores, windows
from afterturn.consumers.recall.packing import pack
from afterturn.consumers.recall.pool import Pool
from afterturn.consumers.recall.ranking import Favour, Ranked
from afterturn.consumers.recall.recipe import Recipe
from afterturn.consumers.store.search import Window

SPARE = 10
"""Hits read beyond those shown so far: neighbours that take a place make the packing try further ones."""

NEARLY_NOTHING = 1e-9
"""Scores are sums: equal ones may differ in their last digits."""


class Limits(NamedTuple):
    """How much an answer shows: the length of the list, the tokens of the text."""

    listed: int
    max_tokens: int


class Wanted(NamedTuple):
    """What to read: hits, by id, and places around them."""

    ids: frozenset[str]
    places: list[Window]


def to_show(ranked: Sequence[Ranked], pool: Pool, favoured: Favour, limits: Limits, recipe: Recipe) -> Wanted:
    """Return which hits an answer may show, and which places around them may still come into it.

    Args:
        ranked: the hits, best first.
        pool: what the search found.
        favoured: whose messages the question asks for.
        limits: how much the answer shows.
        recipe: the numbers.
    """
    limit, max_tokens = limits
    packed = frozenset(pack([entry.candidate for entry in ranked], max_tokens, recipe).ids)
    fitting = next((place for place, entry in enumerate(ranked) if entry.candidate.id not in packed), len(ranked))
    last = max(limit - 1, fitting)
    shown = {entry.candidate.id for entry in ranked[: last + SPARE]}
    least = ranked[last].score if last < len(ranked) else 0.0
    return Wanted(packed | shown, list(_places(pool, least - _most_bonus(favoured, recipe), recipe)))


def _most_bonus(favoured: Favour, recipe: Recipe) -> float:
    if favoured.author is not None:
        return recipe.author
    return 0.0 if favoured.role is None else recipe.first_person


def _places(pool: Pool, least: float, recipe: Recipe) -> Iterator[Window]:
    """Yield the places in the windows of the best hits whose gain reaches ``least``, those of the hits left out."""
    places = place_scores(fuse(pool.dense, pool.lexical, recipe).scores, pool.candidates)
    threads = by_thread(places)
    for window in windows(places, recipe.best, len(recipe.kernel)):
        thread, scores = pool.threads[window.thread_key], threads[window.thread_key]
        held = [
            position
            for position in range(window.from_position, window.to_position + 1)
            if _may_come(pool, (window.thread_key, position), places)
            and _reaches(gain(scores, position, recipe.kernel), least)
        ]
        for first, last in _runs(held):
            yield Window(thread.name, thread.scope, first, last)


def _reaches(gained: float, least: float) -> bool:
    return gained > 0 and gained >= least - NEARLY_NOTHING


def _may_come(pool: Pool, place: Place, places: dict[Place, float]) -> bool:
    """Whether a place holds memories that are no hits; of a message in parts some may be."""
    return place not in places or place in pool.divided


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
