"""How far a stored payload is believed at an instant."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from afterturn.schemas.belief import Belief, effective


def belief_of(payload: Mapping[str, Any]) -> Belief:
    """Return what a payload holds of it."""
    revised = payload.get("content_revised") or payload.get("recorded_at")
    times = (payload.get(name) for name in ("valid_from", "valid_to", "invalidated_at"))
    return Belief(payload.get("confidence", 1.0), payload.get("decay", 0.0), _moment(revised), *map(_moment, times))


def effective_of(payload: Mapping[str, Any], at: datetime) -> float:
    """Return a payload's confidence at an instant."""
    if "decay" not in payload and "valid_from" not in payload and "invalidated_at" not in payload:
        confidence: float = payload.get("confidence", 1.0)
        return confidence
    return effective(belief_of(payload), at)


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
