"""MemoryEvents: durable events about memory work. Counts and names only, never content, never an error's text."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field

from afterturn.schemas.parts import Usage
from afterturn.schemas.types import Count, Identifier, Model, Time, as_tuple

Operation = Literal[
    "memory.recall", "memory.record", "memory.consolidate", "memory.resolve", "memory.revise", "memory.review",
    "memory.forget", "memory.pin", "tenant.configure", "tenant.erase",
]  # fmt: skip
SkipReason = Literal[
    "duplicate", "conflict", "blank", "stale", "erased", "gone", "pin_limit", "off", "dead_letter", "unavailable",
    "scope", "unknown", "unconfirmed", "refused",
]  # fmt: skip
Milliseconds = Annotated[float, Field(ge=0)]


class CommandRef(Model):
    """The command an event is the outcome of, and its place on the turn log."""

    id: Identifier
    type: Identifier
    epoch: Count
    partition: Count
    offset: Count


class _Event(Model):
    tenant: Identifier
    command: CommandRef | None = None
    thread: Identifier | None = None
    turn_id: Identifier | None = None
    at: Time
    ms: Milliseconds = 0.0


class Recorded(_Event):
    """A turn or a fact was recorded; ``unembedded`` memories are found by their words only."""

    TYPE: ClassVar[str] = "memory.recorded.v1"
    added: Count = 0
    evicted: Count = 0
    superseded: Count = 0
    parts: Count = 0
    unembedded: Count = 0
    usage: Usage = Usage()


class Consolidated(_Event):
    """Groups of old memories were replaced by summaries; ``left_out`` sources had changed meanwhile."""

    TYPE: ClassVar[str] = "memory.consolidated.v1"
    groups: Count = 0
    removed: Count = 0
    evicted: Count = 0
    left_out: Count | None = None
    usage: Usage = Usage()


class Revised(_Event):
    """Memories were revised: a count for each reason.

    ``review`` are pinned ones that lost a contradiction: nothing is changed, somebody has to look. ``left_out`` are
    changes of what is gone, pinned or of another version.
    """

    TYPE: ClassVar[str] = "memory.revised.v1"
    merged: Count = 0
    reinforced: Count = 0
    contradicted: Count = 0
    generalised: Count = 0
    stale: Count = 0
    revived: Count = 0
    expired: Count = 0
    corrected: Count = 0
    review: Count | None = None
    left_out: Count | None = None


class Reviewed(_Event):
    """Candidates were decided on; ``unknown`` ids are of nothing that waits for it."""

    TYPE: ClassVar[str] = "memory.reviewed.v1"
    activated: Count = 0
    superseded: Count = 0
    deduped: Count = 0
    rejected: Count = 0
    derived: Count | None = None
    unknown: Count | None = None


class Forgotten(_Event):
    """Memories were removed on request."""

    TYPE: ClassVar[str] = "memory.forgotten.v1"
    forgotten: Count = 0
    derived: Count = 0
    unknown: Count = 0


class Pinned(_Event):
    """Memories were pinned or released."""

    TYPE: ClassVar[str] = "memory.pinned.v1"
    pinned: Count = 0
    unpinned: Count = 0
    refused: Count = 0
    unknown: Count = 0


class Configured(_Event):
    """A tenant's settings changed; ``evicted`` memories had no place under its new bounds."""

    TYPE: ClassVar[str] = "tenant.configured.v1"
    evicted: Count = 0


class Erased(_Event):
    """A tenant was erased; the log itself is clear of it at ``log_clear_at``."""

    TYPE: ClassVar[str] = "tenant.erased.v1"
    erased: Count = 0
    log_clear_at: Time | None = None


class Skipped(_Event):
    """An operation was not carried out, and why; ``error`` is an error class's simple name."""

    TYPE: ClassVar[str] = "memory.skipped.v1"
    operation: Operation
    reason: SkipReason
    error: Annotated[str, Field(max_length=128, pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")] | None = None


class FoundBy(Model):
    """How many of the memories shown each arm found."""

    vector: Count = 0
    keyword: Count = 0
    neighbour: Count = 0
    related: Count | None = None


class Recalled(_Event):
    """An answer was given; sent in the background, it may be dropped (and is counted then)."""

    TYPE: ClassVar[str] = "memory.recalled.v1"
    hits: Count = 0
    tokens: Count = 0
    found_by: FoundBy = FoundBy()
    degraded: Annotated[tuple[str, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] = ()
    usage: Usage = Usage()


MemoryEvent = (
    Recorded | Consolidated | Revised | Reviewed | Forgotten | Pinned | Configured | Erased | Skipped | Recalled
)
EVENTS: tuple[type[MemoryEvent], ...] = (
    Recorded, Consolidated, Revised, Reviewed, Forgotten, Pinned, Configured, Erased, Skipped, Recalled,
)  # fmt: skip
EVENT_TYPES: dict[str, type[MemoryEvent]] = {model.TYPE: model for model in EVENTS}
"""The event of each CloudEvents type."""


class UnknownEvent(Model):
    """An event of a type this version doesn't know, passed through as it came."""

    TYPE: ClassVar[str] = ""
    type: str
    tenant: str
    body: dict[str, Any]
