"""The parts commands, events and memories are made of."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, field_validator, model_validator

from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Kind, Role
from afterturn.schemas.types import (
    Content,
    Count,
    Identifier,
    JsonObject,
    Model,
    Share,
    Tags,
    Time,
    Uuid,
    as_tuple,
    is_blank,
)

Status = Literal["candidate", "active", "superseded", "evicted", "merged", "deleted", "erased"]
LIVE: frozenset[Status] = frozenset({"candidate", "active", "superseded"})
"""The statuses of memories that are there; the others mark tombstones."""
Identifiers = Annotated[tuple[Identifier, ...], Field(fail_fast=True, max_length=256), BeforeValidator(as_tuple)]
Uuids = Annotated[tuple[Uuid, ...], Field(fail_fast=True, max_length=256), BeforeValidator(as_tuple)]
Text = Annotated[Content, Field(max_length=256)]
Names = Annotated[tuple[Text, ...], Field(fail_fast=True, max_length=64), BeforeValidator(as_tuple)]


class Message(Model):
    """One text of one author in a turn. A blank one is accepted and recorded as nothing."""

    role: Role
    author: Identifier | None = None
    content: Content
    importance: Share | None = None
    tags: Tags = ()
    data: JsonObject = Field(default_factory=dict)


class Run(Model):
    """How the agent's run behind a turn went."""

    id: Identifier
    outcome: Literal["ok", "error"]
    error: Identifier | None = None
    tools: Names = ()
    duration_ms: Count


class Entity(Model):
    """A person, place or thing a memory mentions."""

    span: Annotated[Text, Field(min_length=1)]
    type: Identifier
    id: Identifier | None = None
    role: Literal["subject", "object", "other"] | None = None


class Source(Model):
    """Where a memory comes from."""

    type: Literal["run", "user", "tool", "eval", "human"]
    id: Identifier
    uri: Annotated[Content, Field(max_length=2_048)] | None = None
    label: Text | None = None


class Derived(Model):
    """What a derived command rests on: it is skipped if any of it was removed or erased since."""

    source_ids: Annotated[
        tuple[Uuid, ...], Field(fail_fast=True, min_length=1, max_length=256), BeforeValidator(as_tuple)
    ]
    based_on: Count
    extra_key: bool = False


class Set(Model):
    """The fields a revision may set."""

    status: Status | None = None
    confidence: Share | None = None
    decay: Share | None = None
    importance: Share | None = None
    reinforce_count: Count | None = None
    level: Count | None = None
    trust: Share | None = None
    tags: Tags | None = None
    entities: Annotated[tuple[Entity, ...], Field(fail_fast=True, max_length=64), BeforeValidator(as_tuple)] | None = (
        None
    )
    expires_at: Time | None = None
    valid_to: Time | None = None
    invalidated_at: Time | None = None

    @field_validator("status")
    @classmethod
    def _a_revision_may_set_it(cls, status: Status | None) -> Status | None:
        if status in ("candidate", "deleted", "erased"):
            raise ValueError("must be active, superseded, merged or evicted; to remove for good, forget or erase")
        return status


class Change(Model):
    """One memory's revision; with ``rev`` it applies only to that version."""

    id: Uuid
    rev: Count | None = None
    set: Set


class ConsolidationSource(Model):
    """A memory a summary was made of, as it was then."""

    id: Uuid
    rev: Count


class SummaryData(Model):
    """What a summary covers."""

    period: Annotated[tuple[Time, Time], BeforeValidator(as_tuple)] | None = None
    source_count: Count
    derived_from: Uuids


class Summary(Model):
    """The memory that takes a group's place; its importance is the maximum present."""

    kind: Kind
    type: Identifier | None = None
    content: Content
    tags: Tags = ()
    confidence: Share
    importance: Share
    level: Count
    data: SummaryData

    @model_validator(mode="after")
    def _says_something(self) -> Summary:
        if is_blank(self.content):
            raise ValueError("content must not be blank")
        return self


class Filter(Model):
    """Which memories a command selects; absent fields do not restrict, and a list names at least one value."""

    scope: Scope | None = None
    threads: Identifiers | None = None
    tags_any: Tags | None = None
    kinds: Annotated[tuple[Kind, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] | None = None
    authors: Identifiers | None = None
    since: Time | None = None
    until: Time | None = None

    @model_validator(mode="after")
    def _lists_name_something(self) -> Filter:
        if any(getattr(self, name) == () for name in type(self).model_fields):
            raise ValueError("a list must name something; leave the field out where it does not restrict")
        return self

    def restricts(self) -> bool:
        """Whether any memory could be left out by it."""
        others = self.model_dump(exclude={"scope"}, exclude_none=True)
        return bool(others) or (self.scope is not None and bool(self.scope.pairs()))


class Usage(Model):
    """Model work done for a command or an answer; ``model`` is named where a language model was asked."""

    model: Identifier | None = None
    calls: Count = 0
    embedder_calls: Count = 0
    embedded_tokens: Count = 0
    model_calls: Count = 0
    tokens_in: Count = 0
    tokens_out: Count = 0

    def any(self) -> bool:
        """Whether a model did anything."""
        return any((self.calls, self.embedder_calls, self.model_calls))

    def __add__(self, other: Usage) -> Usage:
        """What both took; a model is named where it is the only one."""
        numbers = {
            name: getattr(self, name) + getattr(other, name) for name in type(self).model_fields if name != "model"
        }
        models = {each.model for each in (self, other) if each.model is not None}
        return Usage(model=models.pop() if len(models) == 1 else None, **numbers)
