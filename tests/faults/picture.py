"""A soak drawn: resident memory and lag by the second, and when which fault happened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

WIDTH, PANEL, MARGIN = 1_400, 300, 70
_LINE, _MARK, _GRID, _TEXT = (20, 80, 170), (220, 120, 60), (225, 225, 225), (40, 40, 40)


@dataclass(frozen=True)
class Sample:
    """Seconds since the beginning, the recorders' resident memory in MB, and the lag in offsets, None if unknown."""

    at: float
    memory: float
    lag: int | None


@dataclass(frozen=True)
class Mark:
    """A fault, by the second."""

    at: float
    what: str


def draw(samples: Sequence[Sample], marks: Sequence[Mark], title: str, to: Path) -> None:
    """Write a PNG with two panels."""
    image = Image.new("RGB", (WIDTH, 2 * PANEL + 3 * MARGIN), "white")
    pen = ImageDraw.Draw(image)
    seconds = max([1.0, *(sample.at for sample in samples)])
    pen.text((MARGIN, 14), title, fill=_TEXT, font=ImageFont.load_default(18))
    _panel(pen, MARGIN, "resident memory, MB", [(s.at, s.memory) for s in samples], marks, seconds)
    lags = [(s.at, float(s.lag)) for s in samples if s.lag is not None]
    _panel(pen, 2 * MARGIN + PANEL, "lag, records", lags, marks, seconds)
    image.save(to)


def _panel(
    pen: ImageDraw.ImageDraw,
    top: int,
    name: str,
    line: Sequence[tuple[float, float]],
    marks: Sequence[Mark],
    seconds: float,
) -> None:
    highest = max([1.0, *(value for _, value in line)]) * 1.1
    right, small = WIDTH - MARGIN / 2, ImageFont.load_default(12)

    def x(at: float) -> float:
        return MARGIN + (right - MARGIN) * at / seconds

    def y(value: float) -> float:
        return top + PANEL - PANEL * value / highest

    for share in range(6):
        value = highest * share / 5
        pen.line([(MARGIN, y(value)), (right, y(value))], fill=_GRID)
        pen.text((8, y(value) - 7), f"{value:,.0f}", fill=_TEXT, font=small)
        pen.text(
            (x(seconds * share / 5) - 12, top + PANEL + 6), f"{seconds * share / 5:,.0f} s", fill=_TEXT, font=small
        )
    for mark in marks:
        pen.line([(x(mark.at), top), (x(mark.at), top + PANEL)], fill=_MARK)
        pen.text((x(mark.at) + 2, top + 2), mark.what[:1], fill=_MARK, font=small)
    pen.line([(x(at), y(value)) for at, value in line], fill=_LINE, width=2)
    pen.text((MARGIN + 4, top - 20), name, fill=_TEXT, font=ImageFont.load_default(14))
