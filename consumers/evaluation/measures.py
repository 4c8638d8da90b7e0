"""Recall measured over questions. Pure.

R@k: mean share of a question's evidence among the first k memories. A@k: share of questions with all of it there.
``@2k``: within a prompt text of 2,000 tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

RANKS = (5, 10, 20)
ANSWERABLE = frozenset({1, 2, 3, 4})
"""Category 5 asks what was never said: it is reported, and left out of the overall figures."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question that was asked: the evidence to find, what was listed in rank order, what the text showed."""

    category: int
    evidence: frozenset[str]
    listed: Sequence[str]
    shown: frozenset[str]
    seconds: float


def share(evidence: frozenset[str], found: Iterable[str]) -> float:
    """The share of the evidence that was found."""
    return len(evidence.intersection(found)) / len(evidence)


def measure(asked: Sequence[Asked]) -> dict[str, float]:
    """The measures over some questions, each with evidence: R@5, R@10, R@20, R@2k, A@2k and their number."""
    count = len(asked)
    figures = {f"R@{k}": sum(share(q.evidence, q.listed[:k]) for q in asked) / count for k in RANKS}
    shown = [share(q.evidence, q.shown) for q in asked]
    return figures | {"R@2k": sum(shown) / count, "A@2k": sum(s == 1 for s in shown) / count, "questions": count}


def by_category(asked: Sequence[Asked]) -> Mapping[str, dict[str, float]]:
    """The measures of each category, and of the answerable ones (1-4) together; without evidence none is measured."""
    told = [q for q in asked if q.evidence]
    groups = {str(c): [q for q in told if q.category == c] for c in sorted({q.category for q in told})}
    groups["1-4"] = [q for q in told if q.category in ANSWERABLE]
    return {name: measure(group) for name, group in groups.items() if group}


def percentile(values: Sequence[float], share_: float) -> float:
    """The value below which this share of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share_ * len(ordered)))]
