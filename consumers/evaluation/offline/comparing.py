"""A recipe and changes of it, each with what it gains and how certain that is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from afterturn.consumers.evaluation.measures import by_category
from afterturn.consumers.evaluation.offline.intervals import (
    MEASURES,
    Interval,
    Table,
    answerable,
    held_out,
    paired,
    table,
)
from afterturn.consumers.evaluation.offline.running import Bench, Outcome
from afterturn.consumers.recall.ranking.recipe import Recipe

GOAL = "R@10"
"""What a value is chosen by where it is judged held out."""
_MULTI_HOP, _ADVERSARIAL = 1, 5


@dataclass(frozen=True, slots=True)
class Line:
    """A change.

    Attributes:
        name: what is changed; ``(held out)`` says that each conversation was asked with the value the others chose.
        figures: its measures over the answerable questions.
        gains: how they differ from the recipe's as it is.
        hard: R@10 of category 1 and R@2k of category 5, None where there is no such question.
        chosen: the values chosen, by conversation.
    """

    name: str
    figures: Mapping[str, float]
    gains: Mapping[str, Interval]
    hard: tuple[float | None, float | None]
    chosen: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Compared:
    """The recipe's measures by category as it is, and a line a change."""

    categories: Mapping[str, Mapping[str, float]]
    lines: Sequence[Line]

    def as_json(self) -> dict[str, Any]:
        """What of it JSON can hold: everything."""
        lines = [
            asdict(line) | {"gains": {name: gain._asdict() for name, gain in line.gains.items()}} for line in self.lines
        ]
        return {"categories": self.categories, "changes": lines}


async def compare(
    bench: Bench, recipe: Recipe, groups: Mapping[str, Mapping[str, Recipe]], done: Callable[[], None]
) -> Compared:
    """Ask with the recipe and with every change of it. ``done`` is called after each.

    Args:
        bench: the tenants.
        recipe: as it is served.
        groups: changes by what is tried, then by their name; a group's values are also judged held out.
        done: hears of progress.

    Raises:
        Retry, Stop: as ``Reader.ask`` does.
    """
    served = await bench.run(recipe)
    done()
    judge = _Judge(served)
    lines = []
    for name, changes in groups.items():
        tables = {"as it is": judge.table}
        for label, changed in changes.items():
            tables[label] = table(await bench.run(changed))
            done()
            lines.append(judge.line(label, tables[label]))
        rows, chosen = held_out(tables, judge.clusters, GOAL)
        lines.append(judge.line(f"{name} (held out)", rows, chosen))
    return Compared(by_category(served), lines)


class _Judge:
    def __init__(self, served: Sequence[Outcome]) -> None:
        self.table = table(served)
        self.clusters = [outcome.conversation for outcome in served]
        self._answerable = answerable(served)
        self._categories = np.array([outcome.category for outcome in served])

    def line(self, name: str, rows: Table, chosen: Mapping[str, str] | None = None) -> Line:
        counted = rows[self._answerable]
        differences = counted - self.table[self._answerable]
        clusters = [c for c, counts in zip(self.clusters, self._answerable, strict=True) if counts]
        return Line(
            name,
            {measure: float(counted[:, column].mean()) for column, measure in enumerate(MEASURES)},
            {measure: paired(differences[:, column], clusters) for column, measure in enumerate(MEASURES)},
            (self._mean(rows, _MULTI_HOP, "R@10"), self._mean(rows, _ADVERSARIAL, "R@2k")),
            chosen or {},
        )

    def _mean(self, rows: Table, category: int, measure: str) -> float | None:
        values = rows[self._categories == category, MEASURES.index(measure)]
        return float(values.mean()) if len(values) else None
