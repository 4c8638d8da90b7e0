"""What browsing over HTTP shows: memories, threads, counts, tenants."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, JsonValue

from afterturn.schemas.parts import Entity, Source, Status
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Bounds, Kind, Role
from afterturn.schemas.types import Identifier, Model, Time, as_tuple

MAX_LIMIT = 1_000
MAX_MESSAGES = 200
Sort = Literal["newest", "oldest", "recorded", "important"]
"""By when it happened (newest, oldest), when it was recorded, or its importance; the id decides between equals."""
_Strings = Annotated[tuple[str, ...], BeforeValidator(as_tuple)]


class MemoryView(Model):
    """A memory as it is kept."""

    id: str
    status: Status
    kind: Kind
    type: str
    text: str
    scope: Scope = Scope()
    collection: str | None = None
    key: str | None = None
    thread: str | None = None
    turn_id: str | None = None
    position: int | None = None
    part: int | None = None
    parts: int | None = None
    role: Role | None = None
    author: str | None = None
    tags: _Strings = ()
    data: dict[str, JsonValue] = Field(default_factory=dict)
    entities: Annotated[tuple[Entity, ...], BeforeValidator(as_tuple)] = ()
    source: Source | None = None
    source_ids: _Strings = ()
    derived_from: _Strings = ()
    importance: float = 0.5
    confidence: float = 1.0
    decay: float = 0.0
    trust: float | None = None
    reinforce_count: int = 0
    level: int = 0
    pinned: bool = False
    occurred_at: Time | None = None
    recorded_at: Time | None = None
    effective_at: Time | None = None
    expires_at: Time | None = None
    valid_from: Time | None = None
    valid_to: Time | None = None
    invalidated_at: Time | None = None
    summary: str | None = None
    stale: bool = False


class MemoryPage(Model):
    """A page of memories.

    ``total`` counts all that the filters select, now and exactly. ``limit`` is the one that held, at most
    ``max_limit``. A full page has a ``cursor`` for the next one, so an exact multiple ends with an empty page.
    """

    memories: Annotated[tuple[MemoryView, ...], BeforeValidator(as_tuple)] = ()
    total: int
    total_exact: bool = True
    limit: int
    max_limit: int = MAX_LIMIT
    cursor: str | None = None


class ThreadMessage(Model):
    """A message of a thread, long ones whole again; or the gap that a removed one left, with ``removed`` saying how.

    ``missing_parts`` counts parts of a long message that were removed.
    """

    position: int
    removed: Literal["evicted", "merged", "deleted", "erased", "collected"] | None = None
    ids: _Strings = ()
    text: str | None = None
    status: Status | None = None
    role: Role | None = None
    author: str | None = None
    turn_id: str | None = None
    occurred_at: Time | None = None
    tags: _Strings = ()
    missing_parts: int | None = None


class ThreadPage(Model):
    """Messages of a thread in order. ``total`` counts its positions, ``next`` is where the next page begins."""

    thread: str
    scope: Scope = Scope()
    messages: Annotated[tuple[ThreadMessage, ...], BeforeValidator(as_tuple)] = ()
    total: int
    limit: int
    max_limit: int = MAX_MESSAGES
    next: int | None = None


class Me(Model):
    """What a caller may; ``tenants`` is absent where it may name any."""

    rights: Annotated[tuple[str, ...], BeforeValidator(as_tuple)]
    tenants: Annotated[tuple[Identifier, ...], BeforeValidator(as_tuple)] | None = None
    scope: Scope = Scope()


class Stats(Model):
    """How many memories there are, within the scope of who asks."""

    tenant: str
    scope: Scope = Scope()
    memories: int
    by_status: dict[str, int]
    by_kind: dict[str, int]
    by_type: dict[str, int]
    pinned: int
    bounds: Bounds


class TenantRow(Model):
    """A tenant, and how much it has."""

    tenant: str
    memories: int
    episodes: int
    pinned: int
    partition: int


class TenantPage(Model):
    """A page of tenants, in no order that says anything. ``states`` counts all that ever had a memory."""

    tenants: Annotated[tuple[TenantRow, ...], BeforeValidator(as_tuple)] = ()
    states: int
    limit: int
    max_limit: int = MAX_LIMIT
    cursor: str | None = None
