"""How much a lane takes at once, and when it gives a record up: decisions without I/O.

A record is never given up for what may be our own fault: only after so many attempts at it alone while all is healthy,
or so many deaths of the process with it alone at work; and once several in a row were refused, the lane waits instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

MOST = 1_000
"""Records a writer is shown at once; it takes as many as one write holds."""
SUSPECT_OPENINGS = 3
"""From so many openings without progress on a lane takes one record at a time, while no other lane is at work."""
DEATHS = 3
"""So many deaths with a record alone at work make it a dead letter."""

Verdict = Literal["alone", "again", "bury", "wait"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """When a refused record is given up.

    Attributes:
        attempts: at one record, alone, while everything it needs is healthy.
        in_a_row: dead letters of this kind without one record applied between them, after which a lane waits.
    """

    attempts: int = 5
    in_a_row: int = 3


BOUNDS = Bounds()


@dataclass(slots=True)
class Caution:
    """What one lane has met lately.

    Attributes:
        width: how many records the writer is shown: one after a refusal, twice as many after each that went well.
        attempts: at the record that is alone.
        in_a_row: records given up since the last that was applied.
    """

    bounds: Bounds = BOUNDS
    width: int = MOST
    attempts: int = 0
    in_a_row: int = 0

    def opened(self, opens: int) -> None:
        """A lane opened, for the ``opens``-th time without progress."""
        self.attempts = 0
        if opens >= SUSPECT_OPENINGS:
            self.width = 1

    def went_well(self, *, applied: bool) -> None:
        """A batch went well; ``applied``: the store took what a record says, not only that it was left out."""
        self.width = min(MOST, 2 * self.width)
        self.attempts = 0
        if applied:
            self.in_a_row = 0

    def refused(self) -> Verdict:
        """A batch was refused while all was healthy: what to do about it."""
        if self.width > 1:
            self.width = 1
            return "alone"
        self.attempts += 1
        if self.attempts < self.bounds.attempts:
            return "again"
        if self.in_a_row >= self.bounds.in_a_row:
            self.attempts = self.bounds.attempts - 1  # after the wait, one more try
            return "wait"
        return "bury"

    def buried(self) -> None:
        """The record that was alone is a dead letter."""
        self.attempts = 0
        self.in_a_row += 1
