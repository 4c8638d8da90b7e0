"""Packing by rank into a budget of characters. It works on lengths: no text is read for what is not shown."""

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from afterturn.consumers.recall.prompt.timeline import date_chars
from afterturn.consumers.recall.ranking.candidates import Candidate, session
from afterturn.consumers.recall.ranking.recipe import MEASURED, Recipe
from afterturn.consumers.recall.ranking.scoring import Ranked


class Packed(NamedTuple):
    """What fits.

    Attributes:
        ids: The chosen memories, in rank order.
        chars: Characters they take, headers included: never more than the budget, never fewer than the text rendered.
    """

    ids: tuple[str, ...]
    chars: int


def unseen(ranked: Iterable[Ranked], seen: Collection[str]) -> list[Ranked]:
    """Return the ranking without what the caller has been shown already. Apply it before any limit."""
    known = frozenset(seen)
    return [entry for entry in ranked if entry.candidate.id not in known]


def pack(candidates: Sequence[Candidate], max_tokens: int, recipe: Recipe = MEASURED) -> Packed:
    """Return the candidates that fit into `max_tokens`, taken by rank; one that does not fit is skipped.

    Args:
        candidates: In rank order, the whole ranking: a list's limit does not bound the text.
        max_tokens: The budget in tokens of `recipe.chars_per_token` characters.
        recipe: The numbers.
    """
    budget = left = max_tokens * recipe.chars_per_token
    chosen: list[str] = []
    headed: set[tuple[str, int]] = set()
    for candidate in candidates:
        cost = line_cost(candidate)
        block = session(candidate)
        if block not in headed:
            cost += header_cost(candidate)
        if cost <= left:
            left -= cost
            headed.add(block)
            chosen.append(candidate.id)
        if left < recipe.least_room:
            break
    return Packed(tuple(chosen), budget - left)


def line_cost(candidate: Candidate) -> int:
    """Return the characters of a memory's line: "author: text" and the line's end."""
    return len(candidate.speaker) + 3 + candidate.chars


def header_cost(candidate: Candidate) -> int:
    """Return the characters a date header is charged, one to spare."""
    return date_chars(candidate.occurred_at) + 4
