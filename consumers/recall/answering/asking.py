"""A query at its one instant: from what was asked to what is searched. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from afterturn.consumers.recall.answering.paging import Page, fingerprint, page_of
from afterturn.consumers.store.narrowing import narrowing
from afterturn.consumers.store.search import Search
from afterturn.schemas.conditions import Condition
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Query
from afterturn.schemas.types import is_blank, is_uuid
from afterturn.schemas.when import resolve_time

_INSTANT = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Asking:
    """A query at its one instant: what it restricts, decays and orders by is judged then.

    Attributes:
        query: as it came.
        question: its text, None where it lists.
        at: the instant; on a further page that of the first.
        search: what it restricts.
        bound_to: what its cursors are bound to.
        page: where a list goes on.
    """

    query: Query
    question: str | None
    at: datetime
    search: Search
    bound_to: str
    page: Page | None

    @classmethod
    def of(cls, tenant: str, query: Query, now: datetime) -> Asking:
        """The query, asked now.

        Raises:
            ContractError: it names a time or a cursor that is none, or contradicts itself.
        """
        question = asked_of(query)
        bound_to = "" if question else fingerprint(tenant, query)
        page = None if query.cursor is None else page_of(query.cursor, bound_to)
        now = now if page is None else page.at
        return cls(query, question, query.as_of or now, search_of(tenant, query, now), bound_to, page)


def asked_of(query: Query) -> str | None:
    """The question of a query, None where it lists.

    Raises:
        ContractError: it has a question, and says in what order to list or where a list goes on.
    """
    if query.text is None or is_blank(query.text):
        return None
    for name in ("order", "cursor"):
        if getattr(query, name) is not None:
            raise ContractError("invalid", name, "is for a query without text: a question has its own ranking")
    return query.text


def search_of(tenant: str, query: Query, now: datetime) -> Search:
    """What a query restricts, with every relative time taken from ``now``, those of ``filter`` from ``as_of``.

    ``as_of`` asks for what was known then: nothing that happened later, nothing that had expired.

    Raises:
        ContractError: a time lies before year 1; the field is named.
    """
    until = _time("until", query.until, now)
    if query.as_of is not None and (until is None or until > query.as_of):
        until = min(query.as_of, _LAST - _INSTANT) + _INSTANT
    return Search(
        tenant=tenant,
        scope=tuple(query.scope.pairs()),
        threads=query.threads,
        exclude_threads=query.exclude_threads,
        authors=query.authors,
        roles=query.roles,
        kinds=query.kinds,
        types=query.types,
        tags_any=query.tags_any,
        tags_all=query.tags_all,
        since=_time("since", query.since, now),
        until=until,
        min_importance=query.min_importance,
        min_confidence=query.min_confidence,
        as_of=query.as_of or now,
        without=() if asked_of(query) else tuple(filter(is_uuid, query.seen)),
        where=None if query.filter is None else _where(query.filter, query.as_of or now),
    )


def _where(condition: Condition, at: datetime) -> dict[str, Any]:
    try:
        return narrowing(condition, at)
    except ContractError as error:
        raise ContractError(error.reason, "filter", error.problem) from None


def _time(name: str, text: str | None, now: datetime) -> datetime | None:
    try:
        return None if text is None else resolve_time(text, now)
    except ContractError as error:
        raise ContractError(error.reason, name, error.problem) from None
