"""Commands: the events on the turn log. Each asks for a write in its tenant's order."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from afterturn.schemas.parts import (
    Change,
    ConsolidationSource,
    Derived,
    Entity,
    Filter,
    Message,
    Run,
    Source,
    Summary,
    Usage,
)
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Bounds, Dimensions, Kind, Phases, Recording
from afterturn.schemas.types import (
    Content,
    Count,
    Identifier,
    JsonObject,
    Model,
    Seconds,
    Share,
    Tags,
    Time,
    Uuid,
    as_tuple,
    is_blank,
)

Ids = Annotated[tuple[Uuid, ...], Field(fail_fast=True, min_length=1, max_length=1_000), BeforeValidator(as_tuple)]
Messages = Annotated[tuple[Message, ...], Field(fail_fast=True, max_length=256), BeforeValidator(as_tuple)]


class TurnCompleted(Model):
    """One exchange of a conversation, as its agent saw it; its key is (tenant, scope, thread, turn_id)."""

    TYPE: ClassVar[str] = "turn.completed.v1"
    tenant: Identifier
    scope: Scope = Scope()
    thread: Identifier
    turn_id: Identifier
    occurred_at: Time
    messages: Messages
    tags: Tags = ()
    data: JsonObject = Field(default_factory=dict)
    run: Run | None = None
    replaces: Identifier | None = None


class Remember(Model):
    """A fact, an insight or an episode to keep as one memory."""

    TYPE: ClassVar[str] = "memory.remember.v1"
    tenant: Identifier
    scope: Scope = Scope()
    collection: Identifier | None = None
    key: Identifier | None = None
    kind: Kind = "semantic"
    type: Identifier | None = None
    content: Content
    data: JsonObject = Field(default_factory=dict)
    tags: Tags = ()
    confidence: Share = 1.0
    importance: Share = 0.5
    decay: Share = 0.0
    entities: Annotated[tuple[Entity, ...], Field(fail_fast=True, max_length=64), BeforeValidator(as_tuple)] = ()
    valid_from: Time | None = None
    valid_to: Time | None = None
    observed_at: Time | None = None
    effective_at: Time | None = None
    expires_at: Time | None = None
    source: Source
    mode: Literal["off", "auto", "candidate", "ask"] | None = None
    version: Count | None = None
    derived: Derived | None = None

    @model_validator(mode="after")
    def _holds_together(self) -> Remember:
        if is_blank(self.content):
            raise ValueError("content must not be blank")
        if self.valid_from and self.valid_to and self.valid_to < self.valid_from:
            raise ValueError("valid_to must not be before valid_from")
        return self


class Revise(Model):
    """Changes to fields of memories that are there."""

    TYPE: ClassVar[str] = "memory.revise.v1"
    tenant: Identifier
    changes: Annotated[
        tuple[Change, ...], Field(fail_fast=True, min_length=1, max_length=200), BeforeValidator(as_tuple)
    ]
    reason: Literal["merged", "reinforced", "contradicted", "generalised", "stale", "revived", "expired", "corrected"]
    derived: Derived | None = None

    @model_validator(mode="after")
    def _names_each_once(self) -> Revise:
        if len({change.id for change in self.changes}) < len(self.changes):
            raise ValueError("changes must name each memory once")
        return self


class Review(Model):
    """A reviewer's decision on candidates."""

    TYPE: ClassVar[str] = "memory.review.v1"
    tenant: Identifier
    ids: Annotated[tuple[Uuid, ...], Field(fail_fast=True, min_length=1, max_length=200), BeforeValidator(as_tuple)]
    decision: Literal["approve", "reject"]
    reviewer: Identifier


class Consolidate(Model):
    """A summary that takes the place of a group of old memories."""

    TYPE: ClassVar[str] = "memory.consolidate.v1"
    tenant: Identifier
    scope: Scope = Scope()
    policy: Identifier
    group: Identifier
    sources: Annotated[
        tuple[ConsolidationSource, ...], Field(fail_fast=True, min_length=1, max_length=200), BeforeValidator(as_tuple)
    ]
    min_sources: Annotated[int, Field(ge=1)]
    summary: Summary
    source_ttl_s: Seconds
    based_on: Count
    usage: Usage = Usage()


class Forget(Model):
    """Memories to remove, by id or by a filter; what was derived from the removed alone goes too."""

    TYPE: ClassVar[str] = "memory.forget.v1"
    tenant: Identifier
    ids: Ids | None = None
    filter: Filter | None = None
    confirm: bool = False
    reason: Identifier

    @model_validator(mode="after")
    def _one_way_to_choose(self) -> Forget:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("give either ids or filter")
        if self.filter is not None and not self.filter.restricts():
            raise ValueError("an empty filter would remove everything; erase the tenant if that is meant")
        return self


class Pin(Model):
    """Memories to keep whatever the bound says, or to release."""

    TYPE: ClassVar[str] = "memory.pin.v1"
    tenant: Identifier
    ids: Ids
    pinned: bool = True


class Configure(Model):
    """A tenant's own settings."""

    TYPE: ClassVar[str] = "tenant.configure.v1"
    tenant: Identifier
    bounds: Bounds | None = None
    required_scope: Dimensions | None = None
    ttl_s: dict[Kind, Seconds] | None = None
    recording: Recording | None = None
    consolidation: JsonObject | None = None
    phases: Phases | None = None


class Erase(Model):
    """Everything a tenant has, removed for good."""

    TYPE: ClassVar[str] = "tenant.erase.v1"
    tenant: Identifier
    confirm: Identifier
    reason: Identifier

    @model_validator(mode="after")
    def _confirmed(self) -> Erase:
        if self.confirm != self.tenant:
            raise ValueError("confirm must repeat the tenant's name")
        return self


class Collect(Model):
    """Tombstones and receipts the log can no longer ask for; produced to its partition, without tenant and key."""

    TYPE: ClassVar[str] = "log.collect.v1"
    partition: Count
    below: Count


Command = TurnCompleted | Remember | Revise | Review | Consolidate | Forget | Pin | Configure | Erase | Collect
COMMANDS: tuple[type[Command], ...] = (
    TurnCompleted, Remember, Revise, Review, Consolidate, Forget, Pin, Configure, Erase, Collect,
)  # fmt: skip
COMMAND_TYPES: dict[str, type[Command]] = {model.TYPE: model for model in COMMANDS}
"""The command of each CloudEvents type."""
