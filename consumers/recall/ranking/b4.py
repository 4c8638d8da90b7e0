"""B4.run's rankings: matched words by their rarity with recency and confidence, and the same fused with vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime, timedelta
from math import log
from typing import NamedTuple

from afterturn.consumers.recall.ranking.reciprocal import reciprocal

POOL = 256
"""Memories that share a word with the question and are ranked by words: the newest."""
VECTORS = 64
"""Nearest memories that are fused with them."""
HALF_LIFE = timedelta(days=14)
RELEVANCE, RECENCY, CONFIDENCE = 0.6, 0.3, 0.1


class Row(NamedTuple):
    """What B4 knows of a memory.

    Attributes:
        id: the memory.
        words: the tokens of its text.
        updated_at: when it was last revised.
        confidence: as stored; clamped to 0..1.
    """

    id: str
    words: AbstractSet[int]
    updated_at: datetime
    confidence: float


class Scored(NamedTuple):
    """A memory's score, the sum of the rest."""

    id: str
    score: float
    lexical: float
    dense: float
    recency: float
    confidence: float


def idf(containing: int, of: int) -> float:
    """Return how rare a word is that so many of so many memories contain."""
    return log(1 + (of - containing + 0.5) / (containing + 0.5))


def recency(age: timedelta) -> float:
    """Return 1 for now, half of it after 14 days; what lies ahead counts as now."""
    return float(0.5 ** (max(age, timedelta()) / HALF_LIFE))


def keyword(rows: Iterable[Row], question: AbstractSet[int], of: int, now: datetime) -> list[Scored]:
    """Return the memories that share a word with the question, best first.

    Args:
        rows: those that may.
        question: its tokens.
        of: how many memories there are in all.
        now: what ages are counted from.
    """
    pool = _pool(rows, question)
    relevance = _relevance(pool, question, of)
    scored = [
        (_scored(row, lexical=RELEVANCE * relevance[row.id], now=now, by=RECENCY, trust=CONFIDENCE), row)
        for row in pool
    ]
    return _sorted(scored)


def hybrid(
    rows: Sequence[Row], nearest: Sequence[str], question: AbstractSet[int], of: int, now: datetime
) -> list[Scored]:
    """Return both lists fused, best first: reciprocal ranks, raised by recency and confidence.

    Args:
        rows: the memories of both lists.
        nearest: ids by similarity, best first.
        question: its tokens.
        of: how many memories there are in all.
        now: what ages are counted from.
    """
    pool = _pool(rows, question)
    relevance = _relevance(pool, question, of)
    by_word = sorted(pool, key=lambda row: (-relevance[row.id], -row.updated_at.timestamp(), row.id))
    lexical, dense = reciprocal(row.id for row in by_word), reciprocal(nearest[:VECTORS])
    scored = []
    for row in rows:
        words, sense = lexical.get(row.id, 0.0), dense.get(row.id, 0.0)
        fused = words + sense
        if fused:
            by, trust = fused * RECENCY, fused * CONFIDENCE
            scored.append((_scored(row, lexical=words, dense=sense, now=now, by=by, trust=trust), row))
    return _sorted(scored)


def _pool(rows: Iterable[Row], question: AbstractSet[int]) -> list[Row]:
    found = [row for row in rows if not question.isdisjoint(row.words)]
    return sorted(found, key=lambda row: (-row.updated_at.timestamp(), row.id))[:POOL]


def _relevance(pool: Sequence[Row], question: AbstractSet[int], of: int) -> Mapping[str, float]:
    """The share of the question's words, each by its rarity, that each memory has."""
    rarity = {word: idf(sum(word in row.words for row in pool), of) for word in question}
    whole = sum(rarity.values())
    return {row.id: sum(rarity[word] for word in question & row.words) / whole for row in pool}


def _scored(row: Row, *, lexical: float, now: datetime, by: float, trust: float, dense: float = 0.0) -> Scored:
    new, believed = by * recency(now - row.updated_at), trust * min(1.0, max(0.0, row.confidence))
    return Scored(row.id, lexical + dense + new + believed, lexical, dense, new, believed)


def _sorted(scored: Iterable[tuple[Scored, Row]]) -> list[Scored]:
    ordered = sorted(scored, key=lambda pair: (-pair[0].score, -pair[1].updated_at.timestamp(), pair[1].id))
    return [each for each, _ in ordered]
