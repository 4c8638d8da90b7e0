"""Points: what is kept in the store. Payloads leave out what has its default."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, JsonValue, ValidationError

from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import Operation, SkipReason
from afterturn.schemas.parts import Entity, Source, Status, Uuids
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Kind, Role, TenantSettings
from afterturn.schemas.types import Count, Model, Time, as_tuple

RANK_SHIFT = 43
"""evict_key = rank · 2^43 + number, below 2^53, where stores compare integers exactly."""
MAX_AUTHORS = 256


class Outcome(Model):
    """How a command ended: kept in its receipt, so that a replay reports it and writes nothing.

    ``counts`` are the outcome event's counts by field name.
    """

    event: Annotated[str, Field(pattern=r"^[a-z]+\.[a-z]+\.v\d+$")]
    operation: Operation | None = None
    reason: SkipReason | None = None
    error: str | None = None
    counts: dict[str, int] = Field(default_factory=dict)


class Point(Model):
    """What every point has: its partition, and the revs that made it and last changed it."""

    partition: Count
    born: Count
    rev: Count

    def payload(self) -> dict[str, Any]:
        """The stored payload: JSON values, defaults and absent fields left out, the point's kind always there."""
        dumped = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        dumped["point"] = getattr(self, "point")  # noqa: B009 - each subclass names its kind
        return dumped


class Memory(Point):
    """A memory, or the tombstone of one: what is removed keeps its place, order and sources, never its content.

    ``summary`` is the id of the summary that took its place: until it expires it is still recalled, beside that.
    ``stale`` is one that decay has put aside, and that may be revived.
    """

    point: Literal["memory"] = "memory"
    tenant: str
    status: Status
    ordinal: Count
    evict_key: Count | None = None
    scope: Scope = Scope()
    kind: Kind | None = None
    type: str | None = None
    collection: str | None = None
    key: str | None = None
    content: str | None = None
    chars: Count | None = None
    asks: bool = False
    data: dict[str, JsonValue] = Field(default_factory=dict)
    tags: Annotated[tuple[str, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] = ()
    thread: str | None = None
    turn_id: str | None = None
    position: Count | None = None
    part: Count | None = None
    parts: Count | None = None
    role: Role | None = None
    author: str | None = None
    occurred_at: Time | None = None
    recorded_at: Time | None = None
    effective_at: Time | None = None
    expires_at: Time | None = None
    content_revised: Time | None = None
    metadata_revised: Time | None = None
    importance: float | None = None
    confidence: float | None = None
    decay: float = 0.0
    trust: float | None = None
    reinforce_count: Count = 0
    level: Count = 0
    pinned: bool = False
    entities: Annotated[tuple[Entity, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] = ()
    source: Source | None = None
    source_ids: Uuids = ()
    derived_from: Uuids = ()
    valid_from: Time | None = None
    valid_to: Time | None = None
    invalidated_at: Time | None = None
    embedder: str | None = None
    summary: str | None = None
    stale: bool = False
    outcome: Outcome | None = None
    digest: str | None = None
    cascade: bool = False


class Receipt(Point):
    """The receipt of a command that left no memory at ordinal 0; a ``dead`` one only its own replay overwrites.

    An erased one has lost its digest: what comes again under its key is a duplicate, whatever it says.
    """

    point: Literal["receipt"] = "receipt"
    tenant: str
    status: Literal["erased"] | None = None
    outcome: Outcome
    digest: str | None = None
    dead: bool = False


class ThreadState(Point):
    """Where a thread stands: the position its next message gets. An erased one has lost its name."""

    point: Literal["thread"] = "thread"
    tenant: str
    status: Literal["erased"] | None = None
    scope: Scope = Scope()
    thread: str | None = None
    next_position: Count = 0


class KeyState(Point):
    """Which memory a publisher's own key stands for now, and in which version. An erased one has lost its name."""

    point: Literal["key"] = "key"
    tenant: str
    status: Literal["erased"] | None = None
    scope: Scope = Scope()
    key: str | None = None
    current: str | None = None
    version: Count | None = None


class TenantState(Point):
    """Where a tenant stands: counts of live, episodic and pinned memories, the number of its last, who has written."""

    point: Literal["tenant"] = "tenant"
    tenant: str
    live: Count = 0
    episodes: Count = 0
    pinned: Count = 0
    number: Count = 0
    authors: Annotated[tuple[str, ...], Field(fail_fast=True, max_length=MAX_AUTHORS), BeforeValidator(as_tuple)] = ()
    settings: TenantSettings = TenantSettings()
    erased_at: Count | None = None


class Checkpoint(Model):
    """Which offset of a partition comes next, as a rev; it alone has ``next`` and no ``rev``.

    ``told`` is up to where all outcomes are announced. ``key`` and ``time`` (milliseconds) are of the last record
    folded in, to recognise the log by; ``opens`` counts openings without progress, ``begun`` how often the next record
    was begun alone with nothing heard of it since; ``spoilt`` marks a copy that was restored under a running recorder.
    ``log_start`` is where the log was seen to begin at ``log_start_seen`` (milliseconds), ``collected`` what was
    collected last.
    """

    point: Literal["checkpoint"] = "checkpoint"
    partition: Count
    next: Count
    told: Count | None = None
    key: str | None = None
    time: Count | None = None
    opens: Count = 0
    begun: Count = 0
    plan_version: Count = 1
    spoilt: bool = False
    log_start: Count | None = None
    log_start_seen: Count | None = None
    collected: Count = 0

    def payload(self) -> dict[str, Any]:
        """The stored payload; ``opens`` is always there, so that progress takes it back."""
        dumped = self.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
        return dumped | {"point": self.point, "opens": self.opens, "plan_version": self.plan_version}


StoredPoint = Memory | Receipt | ThreadState | KeyState | TenantState
_MODELS: dict[str, type[StoredPoint]] = {
    "memory": Memory,
    "receipt": Receipt,
    "thread": ThreadState,
    "key": KeyState,
    "tenant": TenantState,
}


def point_of(payload: dict[str, Any]) -> StoredPoint:
    """A point from its stored payload; fields a later version added are ignored.

    Raises:
        ContractError: where the payload is none of ours; its content is left out.
    """
    kind = payload.get("point")
    model = _MODELS.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise ContractError("invalid", "point", "must be memory, receipt, thread, key or tenant")
    try:
        return model.model_validate(payload, extra="ignore")
    except ValidationError as error:
        fault = from_pydantic(error)
    raise fault


def evict_key(importance: float, number: int, *, superseded: bool = False) -> int:
    """What orders a tenant's memories for leaving, lowest first: superseded, then importance, then recorded earliest.

    (0 if superseded, else 1 + floor(1000 · importance)) · 2^43 + the memory's number in its tenant.
    """
    rank = 0 if superseded else 1 + int(1_000 * importance)
    return (rank << RANK_SHIFT) + number
