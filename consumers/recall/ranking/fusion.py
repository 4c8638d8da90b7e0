"""Fusion of what the two arms of a search found."""

from collections.abc import Mapping
from dataclasses import dataclass

from afterturn.consumers.recall.ranking.recipe import MEASURED, Recipe
from afterturn.schemas.query import FoundBy

EPSILON = 1e-9
"""Keeps the normalisation of equal scores defined: they all become 0."""

_TENTH, _FULL = 9, 1.5
"""The hit the best is compared with (from 0), and how fast trust becomes full: two thirds above it are enough."""
Hits = Mapping[str, float]
"""An arm's answer: score by id, best first."""


_FOUND_BY: dict[tuple[bool, bool], frozenset[FoundBy]] = {
    (False, True): frozenset({"vector"}),
    (True, False): frozenset({"keyword"}),
    (True, True): frozenset({"vector", "keyword"}),
    (False, False): frozenset({"neighbour"}),
}


@dataclass(frozen=True, slots=True)
class Fused:
    """Both arms on one scale.

    Attributes:
        lexical: The lexical arm's share of a score, by id: normalised and weighted.
        dense: The dense arm's share, likewise.
        scores: Their sum. The keys stand in the order of the hits, lexical ones first.
    """

    lexical: Hits
    dense: Hits
    scores: Hits

    def found_by(self, identity: str) -> frozenset[FoundBy]:
        """Return the arms whose list holds the memory; `neighbour` alone for one in neither list."""
        return _FOUND_BY[identity in self.lexical, identity in self.dense]


def min_max(hits: Hits) -> dict[str, float]:
    """Return the scores scaled to 0..1. A list of one, or of equal scores, becomes 0."""
    if not hits:
        return {}
    low = min(hits.values())
    width = max(hits.values()) - low + EPSILON
    return {identity: (score - low) / width for identity, score in hits.items()}


def standing_out(hits: Hits, doubt: float) -> float:
    """Return how far a list is trusted, from 1 - `doubt` to 1: the more, the further its best hit is above the tenth.

    A question whose words are everywhere finds many messages equally well: none of them by its words.
    """
    if not hits or not doubt:
        return 1.0
    ordered = sorted(hits.values(), reverse=True)
    tenth = ordered[_TENTH] if len(ordered) > _TENTH else 0.0
    return min(1.0, 1 - doubt + doubt * _FULL * (ordered[0] - tenth) / (ordered[0] + EPSILON))


def fuse(dense: Hits, lexical: Hits, recipe: Recipe = MEASURED) -> Fused:
    """Return lexical + 0.7 · dense, each list scaled to 0..1 first.

    The lexical share is raised to the recipe's power, and weighs less where its best hit doesn't stand out.

    A lexical score of 0 or less says that no word of the question occurs: such a hit is left out.
    """
    said = {identity: score for identity, score in lexical.items() if score > 0}
    weight = recipe.lexical_weight * standing_out(said, recipe.lexical_doubt)
    by_word = {identity: weight * share**recipe.lexical_power for identity, share in min_max(said).items()}
    by_sense = {identity: recipe.dense_weight * share for identity, share in min_max(dense).items()}
    scores = dict(by_word)
    for identity, share in by_sense.items():
        scores[identity] = scores.get(identity, 0.0) + share
    return Fused(by_word, by_sense, scores)
