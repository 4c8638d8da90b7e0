"""Whether a difference is more than chance: intervals by resampling, and numbers chosen without the questions they
are judged by. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from afterturn.consumers.evaluation.measures import ANSWERABLE, share
from afterturn.consumers.evaluation.offline.running import Outcome

RESAMPLES = 2_000
MEASURES = ("R@5", "R@10", "R@20", "R@2k", "A@2k")
_COLUMN = {name: column for column, name in enumerate(MEASURES)}
_SEED = 5
Table = NDArray[np.float64]
"""A row a question, a column a measure."""


class Interval(NamedTuple):
    """A mean difference, and the bounds that hold 95 of 100 resampled ones."""

    mean: float
    low: float
    high: float

    @property
    def certain(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low > 0 or self.high < 0


def table(outcomes: Sequence[Outcome]) -> Table:
    """Each question's measures."""
    rows = [
        [*(share(o.evidence, o.listed[:k]) for k in (5, 10, 20)), (shown := share(o.evidence, o.shown)), shown == 1]
        for o in outcomes
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), len(MEASURES))


def answerable(outcomes: Sequence[Outcome]) -> NDArray[np.bool_]:
    """Which questions count overall: categories 1-4."""
    return np.array([o.category in ANSWERABLE for o in outcomes], dtype=bool)


def paired(differences: Sequence[float] | NDArray[np.float64], clusters: Sequence[str]) -> Interval:
    """The mean of paired differences with its interval: conversations are drawn, then their questions.

    Raises:
        ValueError: there is no difference.
    """
    if not len(differences):
        raise ValueError("no differences: there is no question")
    random = np.random.default_rng(_SEED)
    values = np.asarray(differences, dtype=np.float64)
    groups = [values[[c == name for c in clusters]] for name in dict.fromkeys(clusters)]
    means = np.empty(RESAMPLES)
    for sample in range(RESAMPLES):
        drawn = [groups[index] for index in random.integers(len(groups), size=len(groups))]
        chosen = [group[random.integers(len(group), size=len(group))] for group in drawn]
        means[sample] = sum(float(group.sum()) for group in chosen) / sum(map(len, chosen))
    low, high = np.percentile(means, [2.5, 97.5])
    return Interval(float(values.mean()), float(low), float(high))


def held_out(tables: Mapping[str, Table], clusters: Sequence[str], goal: str) -> tuple[Table, dict[str, str]]:
    """Each conversation's questions as the variant answers them that is best on all other conversations.

    Args:
        tables: A table a variant, the rows of all the same questions; of equal variants the first is taken.
        clusters: The conversation of each row.
        goal: The measure to choose by.

    Returns:
        The rows put together, and the chosen variant by conversation.
    """
    names = np.array(clusters)
    column = _COLUMN[goal]
    rows = np.empty_like(next(iter(tables.values())))
    chosen: dict[str, str] = {}
    for conversation in dict.fromkeys(clusters):
        out = names == conversation
        chosen[conversation] = max(tables, key=lambda name: float(tables[name][~out, column].sum()))
        rows[out] = tables[chosen[conversation]][out]
    return rows, chosen
