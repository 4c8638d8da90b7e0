"""Embabel dice's ranking: three lists (nearest, by words, by entities that these mention), fused by rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from afterturn.consumers.recall.ranking.reciprocal import reciprocal

CANDIDATES = 10
"""Times the limit: memories whose words are compared, and the most believed of them."""
ENTITIES = 4
"""Entities whose other memories are looked up, where hits are few."""
RELATED = 3
"""Times the limit: memories that these entities may bring in."""


class Fact(NamedTuple):
    """What dice knows of a memory.

    Attributes:
        id: the memory.
        words: the tokens of its text.
        confidence: the effective one.
        entities: ids of the entities it mentions, in order.
    """

    id: str
    words: AbstractSet[int]
    confidence: float
    entities: tuple[str, ...] = ()


class Tiered(NamedTuple):
    """A memory's score, the sum of what the three lists give it."""

    id: str
    score: float
    vector: float
    keyword: float
    related: float


def by_words(facts: Iterable[Fact], question: AbstractSet[int], limit: int) -> list[str]:
    """Return those with most of the question's words, best first; between equals the most believed."""
    pool = sorted(facts, key=lambda fact: -fact.confidence)[: limit * CANDIDATES]
    counted = [(len(question & fact.words), fact.id) for fact in pool]
    best = sorted((each for each in counted if each[0]), key=lambda each: -each[0])
    return [identity for _, identity in best[:limit]]


def entities_of(hits: Iterable[Fact]) -> list[str]:
    """Return the first few entities that the hits mention."""
    return list(dict.fromkeys(entity for fact in hits for entity in fact.entities))[:ENTITIES]


def by_entities(facts: Iterable[Fact], limit: int) -> list[str]:
    """Return the most believed of those that mention them."""
    return [fact.id for fact in sorted(facts, key=lambda fact: -fact.confidence)[: limit * RELATED]]


def fuse(vector: Sequence[str], keyword: Sequence[str], related: Sequence[str]) -> list[Tiered]:
    """Return the three lists as one, best first; between equals the order of the lists."""
    tiers = [reciprocal(tier) for tier in (vector, keyword, related)]
    fused = []
    for identity in dict.fromkeys([*vector, *keyword, *related]):
        shares = [tier.get(identity, 0.0) for tier in tiers]
        fused.append(Tiered(identity, sum(shares), *shares))
    return sorted(fused, key=lambda each: -each.score)
