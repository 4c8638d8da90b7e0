"""Cursors: where a list without a question goes on. Opaque to callers, and bound to the query they were given for."""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import NamedTuple

import orjson

from afterturn.consumers.recall import cursors
from afterturn.consumers.recall.ranking.candidates import Candidate, time_order
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Query

_SHOWN_ONLY = {
    "after", "after_wait", "consistent", "count", "cursor", "explain", "format", "limit", "max_tokens", "note",
    "seen", "topic", "use_when",
}  # fmt: skip
"""Fields that change what is shown of a list, not the list."""


class Place(NamedTuple):
    """A memory's place in a list, by which it is sorted in descending order: a value, then when it happened."""

    value: float
    moment: datetime
    thread_key: str
    position: int
    ordinal: int
    id: str


class Page(NamedTuple):
    """Where a page begins: the instant of the first page, and the last place that was listed."""

    at: datetime
    after: Place


def place_of(candidate: Candidate, value: float = 0.0) -> Place:
    """A memory's place in a list that is sorted by a value."""
    return Place(value, *time_order(candidate))


def fingerprint(tenant: str, query: Query) -> str:
    """What a cursor is bound to: whose memories, which of them, in what order."""
    asked = query.model_dump(mode="json", exclude=_SHOWN_ONLY, exclude_none=True)
    return sha256(orjson.dumps([tenant, asked], option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]


def cursor_of(bound_to: str, page: Page) -> str:
    """The cursor of a page."""
    value, moment, *rest = page.after
    return cursors.written([bound_to, page.at.isoformat(), value, moment.isoformat(), *rest])


def page_of(cursor: str, bound_to: str) -> Page:
    """The page a cursor stands for.

    Raises:
        ContractError: it is no cursor, or was given for another query.
    """
    try:
        bound, at, value, moment, thread_key, position, ordinal, id_ = cursors.read(cursor)
        page = Page(
            datetime.fromisoformat(at),
            Place(float(value), datetime.fromisoformat(moment), str(thread_key), int(position), int(ordinal), str(id_)),
        )
    except (ValueError, TypeError, OverflowError):
        raise ContractError("invalid", "cursor", "is no cursor of this service") from None
    if bound != bound_to or page.at.tzinfo is None or page.after.moment.tzinfo is None:
        raise ContractError("invalid", "cursor", "was given for another query: page with the query it came from")
    return page
