"""What recall is asked and what it answers (``POST /v1/recall``)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from afterturn.schemas.conditions import Where
from afterturn.schemas.parts import Identifiers, Source, Usage
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Kind, Role
from afterturn.schemas.types import Content, Identifier, Model, Share, Tags, Time, as_tuple
from afterturn.schemas.when import When

MAX_TEXT = 100_000
TENANT_HEADER = "Afterturn-Tenant"
"""Names the tenant of a request, in UTF-8."""
TOPIC = "the user & context"
"""What memory is about, where nobody says it."""

Kinds = Annotated[tuple[Kind, ...], Field(fail_fast=True, max_length=4), BeforeValidator(as_tuple)]
Roles = Annotated[tuple[Role, ...], Field(fail_fast=True, max_length=4), BeforeValidator(as_tuple)]
Ids = Annotated[tuple[str, ...], Field(fail_fast=True, max_length=10_000), BeforeValidator(as_tuple)]
FoundBy = Literal["vector", "keyword", "neighbour", "related"]
Order = Literal["newest", "confidence", "importance"]
Profile = Literal["recipe", "b4-keyword", "b4-hybrid", "dice", "llm4s"]
Format = Literal["timeline", "sections", "lines", "index", "tagged", "contribution", "groups"]
Limit = Literal["pool"]
Line = Annotated[Content, Field(max_length=256)]
Strings = Annotated[tuple[str, ...], Field(fail_fast=True), BeforeValidator(as_tuple)]


class Query(Model):
    """What is asked of recall. The tenant is never in it: it comes from the credential.

    ``limit`` bounds the list of memories, ``max_tokens`` the text; ``until`` is exclusive. Without ``text`` memories
    are listed by ``order``, page by page with ``cursor``. ``after_wait`` is how many seconds
    ``after`` is waited for, at most as long as the service waits in any case. With ``count`` the answer says how many
    memories the query's filters leave.
    """

    text: Annotated[Content, Field(max_length=MAX_TEXT)] | None = None
    scope: Scope = Scope()
    threads: Identifiers | None = None
    exclude_threads: Identifiers | None = None
    authors: Identifiers | None = None
    roles: Roles | None = None
    kinds: Kinds | None = None
    types: Identifiers | None = None
    tags_any: Tags | None = None
    tags_all: Tags | None = None
    since: When | None = None
    until: When | None = None
    as_of: Time | None = None
    min_importance: Share | None = None
    min_confidence: Share | None = None
    filter: Where | None = None
    order: Order | None = None
    cursor: Annotated[str, Field(max_length=10_000)] | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    max_tokens: Annotated[int, Field(ge=0, le=100_000)] = 2_000
    seen: Ids = ()
    after: Annotated[str, Field(max_length=128)] | None = None
    after_wait: Annotated[float, Field(ge=0, le=60)] | None = None
    consistent: bool = False
    count: bool = False
    profile: Profile = "recipe"
    format: Format = "timeline"
    note: bool = True
    topic: Line | None = None
    use_when: Line | None = None
    explain: bool = False


class ScoreParts(Model):
    """What a memory's score is made of."""

    lexical: float = 0.0
    dense: float = 0.0
    neighbour: float = 0.0
    author: float = 0.0
    question: float = 0.0
    recency: float = 0.0
    confidence: float = 0.0
    related: float = 0.0
    time: float = 0.0
    answer: float = 0.0


class RecalledMemory(Model):
    """One memory of an answer: what it says, where it is from, what found it, and whether the text shows it."""

    id: str
    text: str
    kind: Kind
    type: str
    author: str | None = None
    role: Role | None = None
    thread: str | None = None
    turn_id: str | None = None
    position: int | None = None
    occurred_at: Time | None = None
    importance: float
    confidence: float
    effective_confidence: float | None = None
    tags: Strings = ()
    source: Source | None = None
    labels: Strings | None = None
    entities: Strings | None = None
    found_by: Annotated[tuple[FoundBy, ...], Field(fail_fast=True), BeforeValidator(as_tuple)]
    score: float
    in_text: bool
    parts: ScoreParts | None = None


class Answer(Model):
    """What recall found: memories in rank order, and one text for the prompt in time order."""

    memories: Annotated[tuple[RecalledMemory, ...], Field(fail_fast=True), BeforeValidator(as_tuple)] = ()
    text: str = ""
    tokens: int = 0
    degraded: Strings = ()
    limits: Strings = ()
    cursor: str | None = None
    available: int | None = None
    usage: Usage | None = None
    took_ms: float = 0.0


class Accepted(Model):
    """A write was put on the turn log: not stored yet. ``token`` waits for it as ``after`` of a query."""

    status: Literal["accepted"] = "accepted"
    event_id: Identifier
    token: str
