"""What recall may ask for, as values."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from afterturn.schemas.parts import Status
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Kind, Role


class Window(NamedTuple):
    """A range of positions of one thread, both ends included. The thread is the one of exactly this scope."""

    thread: str
    scope: Scope
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Which memories a question may find. None doesn't restrict; an empty tuple matches nothing.

    ``until`` is exclusive. ``scope`` are the pairs of ``Scope.pairs()``: a named dimension must be equal. ``as_of``
    leaves out what had expired or did not hold then. ``where`` is a further condition, as ``narrowing`` makes it,
    ``without`` are the ids of memories to leave out.
    ``statuses`` are those a reader may see; with the active ones come those that a summary has superseded.
    """

    tenant: str
    scope: tuple[tuple[str, str], ...] = ()
    threads: tuple[str, ...] | None = None
    exclude_threads: tuple[str, ...] | None = None
    authors: tuple[str, ...] | None = None
    roles: tuple[Role, ...] | None = None
    kinds: tuple[Kind, ...] | None = None
    types: tuple[str, ...] | None = None
    tags_any: tuple[str, ...] | None = None
    tags_all: tuple[str, ...] | None = None
    since: datetime | None = None
    until: datetime | None = None
    min_importance: float | None = None
    min_confidence: float | None = None
    as_of: datetime | None = None
    where: dict[str, Any] | None = None
    without: tuple[str, ...] = ()
    statuses: tuple[Status, ...] = ("active",)
