"""How a query ended, and the memory event that tells it: counts and names, no content."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from afterturn.schemas.events import FoundBy, MemoryEvent, Recalled, Skipped, SkipReason
from afterturn.schemas.parts import Usage
from afterturn.schemas.query import Answer

Announce = Callable[[MemoryEvent], None]
"""Takes an event and returns at once."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer as far as it came.

    Attributes:
        answer: what can be shown.
        lacks: what could not be had.
        usage: what it cost.
        skipped: why nothing was asked, where that is so.
        error: the simple name of the error that kept it from being asked.
    """

    answer: Answer = field(default_factory=Answer)
    lacks: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    skipped: SkipReason | None = None
    error: str | None = None


def event_of(tenant: str, reply: Reply, at: datetime, ms: float) -> MemoryEvent:
    """The event of a reply; with ``skipped`` the operation counts as not carried out."""
    if reply.skipped is not None:
        return Skipped(tenant=tenant, at=at, ms=ms, operation="memory.recall", reason=reply.skipped, error=reply.error)
    memories = reply.answer.memories
    counts = {arm: sum(arm in memory.found_by for memory in memories) for arm in FoundBy.model_fields}
    found_by = FoundBy.model_validate(counts | {"related": counts["related"] or None})
    return Recalled(
        tenant=tenant,
        at=at,
        ms=ms,
        hits=len(memories),
        tokens=reply.answer.tokens,
        found_by=found_by,
        degraded=reply.lacks,
        usage=reply.usage,
    )
