"""Reciprocal rank fusion, as B4 and dice do it: each list gives 1 / (60 + rank)."""

from __future__ import annotations

from collections.abc import Iterable

K = 60


def reciprocal(ranked: Iterable[str], k: int = K, weight: float = 1.0) -> dict[str, float]:
    """Return what a list gives each of its memories, best first; ranks count from 1."""
    return {identity: weight / (k + rank) for rank, identity in enumerate(ranked, 1)}
