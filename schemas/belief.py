"""How far a memory is believed at an instant: what was stored, decayed, and only while it holds."""

from __future__ import annotations

from datetime import datetime
from math import exp
from typing import NamedTuple

DECAY_K = 2.0
"""How fast a decay of 1 works: e^-2 a day."""


class Belief(NamedTuple):
    """What is stored of it.

    Attributes:
        confidence: as it was stated, 0..1.
        decay: how fast it fades, 0 (never) to 1.
        revised: when the content was last revised; None where it never fades.
        valid_from, valid_to: when the fact begins and ceases to hold.
        invalidated_at: since when it is known to be wrong.
    """

    confidence: float
    decay: float = 0.0
    revised: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    invalidated_at: datetime | None = None


def effective(belief: Belief, at: datetime) -> float:
    """Return the confidence at an instant, 0..1.

    0 once it is invalidated and outside its window; unfaded within a closed window; else faded by the whole days since
    the window opened, or since the content was revised.
    """
    if belief.invalidated_at is not None and belief.invalidated_at <= at:
        return 0.0
    since = belief.revised
    if belief.valid_from is not None:
        if at < belief.valid_from or (belief.valid_to is not None and at >= belief.valid_to):
            return 0.0
        if belief.valid_to is not None:
            return belief.confidence
        since = belief.valid_from
    if not belief.decay or since is None:
        return belief.confidence
    return belief.confidence * exp(-belief.decay * DECAY_K * max(0, (at - since).days))
