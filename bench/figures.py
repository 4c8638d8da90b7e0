"""What a benchmark says: figures with the goal they are held against, as a table and as JSON."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson
from rich.console import Console
from rich.table import Table

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True, slots=True)
class Drawn:
    """Where a figure stands in a picture (``pictures``): the picture's name, its line there, and at what number."""

    picture: str
    line: str
    at: float


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured value; ``at_least`` or ``at_most`` is the goal, where there is one."""

    name: str
    value: float
    unit: str
    note: str = ""
    at_least: float | None = None
    at_most: float | None = None
    drawn: Drawn | None = None

    @property
    def met(self) -> bool | None:
        """Whether the goal is met; None without one."""
        if self.at_least is None and self.at_most is None:
            return None
        return (self.at_least is None or self.value >= self.at_least) and (
            self.at_most is None or self.value <= self.at_most
        )


def show(figures: Sequence[Figure]) -> None:
    """Print the figures as a table."""
    table = Table("figure", "value", "goal", "note", title="Afterturn, measured", title_justify="left")
    for figure in figures:
        goal = f"≥ {figure.at_least:g}" if figure.at_least is not None else ""
        goal = f"≤ {figure.at_most:g}" if figure.at_most is not None else goal
        style = {True: "green", False: "red", None: None}[figure.met]
        table.add_row(figure.name, f"{figure.value:.3g} {figure.unit}", goal, figure.note, style=style)
    Console().print(table)


def keep(figures: Sequence[Figure]) -> Path:
    """Write the figures as JSON, with what they were measured on; the file's path."""
    RESULTS.mkdir(exist_ok=True)
    now = datetime.now(UTC)
    path = RESULTS / f"{now:%Y%m%dT%H%M%S}.json"
    machine = {"python": platform.python_version(), "machine": platform.machine(), "system": platform.platform()}
    body = {"at": now.isoformat(), **machine, "figures": [asdict(f) | {"met": f.met} for f in figures]}
    path.write_bytes(orjson.dumps(body, option=orjson.OPT_INDENT_2))
    return path
