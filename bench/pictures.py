"""``--plots``: pictures of kept figures for the documentation, as SVG: a text, which shows in a diff what changed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from html import escape
from pathlib import Path
from typing import Any

import orjson

from bench.figures import RESULTS

DOCS = Path(__file__).parent.parent / "docs"
TITLES = {
    "recall-memories": ("Recall and the raw query by a tenant's memories, p50", "memories of the tenant"),
    "recall-tenants": ("Recall and the raw query by tenants in the store, p50", "tenants in the store"),
}
"""Title and horizontal axis of each picture."""
Lines = dict[str, list[tuple[float, float]]]
_WIDTH, _HEIGHT = 760, 400
_LEFT, _ENDS, _TOP, _FLOOR = 60, 530, 60, 345
_COLOURS = ("#14509e", "#d9782d", "#2d8a4e", "#8a4fa3")


def draw() -> list[Path]:
    """Draw every picture from the newest results that hold it; the files written."""
    written = []
    for picture, (title, axis) in TITLES.items():
        lines = newest(picture)
        if lines:
            path = DOCS / f"{picture}.svg"
            path.write_text(_Picture(lines).svg(title, axis), encoding="utf-8")
            written.append(path)
    return written


def newest(picture: str, results: Path = RESULTS) -> Lines:
    """The lines of a picture from the newest results that hold it, none where none does."""
    for path in sorted(results.glob("*.json"), reverse=True):
        figures: list[dict[str, Any]] = orjson.loads(path.read_bytes())["figures"]
        lines: Lines = {}
        for figure in figures:
            drawn = figure.get("drawn")
            if drawn and drawn["picture"] == picture:
                lines.setdefault(drawn["line"], []).append((drawn["at"], figure["value"]))
        if lines:
            return lines
    return {}


class _Picture:
    """Lines in ms over a logarithmic axis."""

    def __init__(self, lines: Lines) -> None:
        self._lines = lines
        points = [point for line in lines.values() for point in line]
        self._numbers = sorted({at for at, _ in points})
        self._step = _step(max(value for _, value in points))
        self._steps = math.ceil(max(value for _, value in points) / self._step)

    def svg(self, title: str, axis: str) -> str:
        """The picture."""
        size = f'width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}"'
        font = 'font-family="sans-serif" font-size="12"'
        background = f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="#fff"/>'
        titled = [f"<title>{escape(title)}</title>", background, _text(_LEFT, 28, title, size=16)]
        below = _text((_LEFT + _ENDS) / 2, _FLOOR + 42, axis, anchor="middle")
        body = "\n".join([*titled, *self._grid(), below, *self._curves()])
        return f'<svg xmlns="http://www.w3.org/2000/svg" {size} {font}>\n{body}\n</svg>\n'

    def _grid(self) -> Iterator[str]:
        yield _text(_LEFT - 8, _TOP - 12, "ms", anchor="end")
        for number in range(self._steps + 1):
            value = number * self._step
            yield f'<path d="M{_LEFT} {self._y(value)}H{_ENDS}" stroke="#ddd"/>'
            yield _text(_LEFT - 8, self._y(value) + 4, f"{value:g}", anchor="end")
        for at in self._numbers:
            yield _text(self._x(at), _FLOOR + 20, f"{at:,.0f}", anchor="middle")

    def _curves(self) -> Iterator[str]:
        for number, ((name, line), colour) in enumerate(zip(self._lines.items(), _COLOURS, strict=False)):
            places = [(self._x(at), self._y(value)) for at, value in sorted(line)]
            path = " ".join(f"{across},{down}" for across, down in places)
            yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
            yield from (f'<circle cx="{across}" cy="{down}" r="3.5" fill="{colour}"/>' for across, down in places)
            yield f'<rect x="{_ENDS + 24}" y="{_TOP + 24 * number}" width="14" height="4" fill="{colour}"/>'
            yield _text(_ENDS + 46, _TOP + 24 * number + 6, name)

    def _x(self, at: float) -> float:
        first, last = self._numbers[0], self._numbers[-1]
        return round(_LEFT + (_ENDS - _LEFT) * math.log(at / first) / (math.log(last / first) or 1.0), 1)

    def _y(self, value: float) -> float:
        return round(_FLOOR - (_FLOOR - _TOP) * value / (self._step * self._steps), 1)


def _step(most: float) -> float:
    """A round distance between lines: some five of them."""
    rough = most / 5
    size = 10 ** math.floor(math.log10(rough))
    return float(next(size * each for each in (1, 2, 5, 10) if size * each >= rough))


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="{size}" fill="#222">{escape(text)}</text>'
