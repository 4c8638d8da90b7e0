"""From a query to a search, and from a ranking to an answer. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from afterturn.consumers.recall.finding import Entry, Found
from afterturn.consumers.recall.prompt.packing import pack
from afterturn.consumers.recall.prompt.timeline import render
from afterturn.consumers.recall.ranking.confidence import effective_of
from afterturn.consumers.recall.ranking.pool import Payload
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.store.narrowing import narrowing
from afterturn.consumers.store.search import Search
from afterturn.consumers.text.budget import tokens_of
from afterturn.schemas.conditions import Condition
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Answer, FoundBy, Query, RecalledMemory, ScoreParts
from afterturn.schemas.types import is_blank
from afterturn.schemas.when import resolve_time

_FOUND_BY: tuple[FoundBy, ...] = ("vector", "keyword", "neighbour", "related")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_INSTANT = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)


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
        without=() if asked_of(query) else tuple(filter(_ID.fullmatch, query.seen)),
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


def answer_of(found: Found, query: Query, at: datetime, recipe: Recipe) -> Answer:
    """The answer to a query: a list of so many, and what fits into the text."""
    candidates = [entry.candidate for entry in found.ranked]
    in_text = frozenset(pack(candidates, query.max_tokens, recipe).ids)
    texts = {id_: found.pool.payloads[id_]["content"] for id_ in in_text}
    text = render((candidate for candidate in candidates if candidate.id in texts), texts)
    memories = tuple(
        memory_of(
            entry,
            found.pool.payloads[entry.candidate.id],
            at,
            in_text=entry.candidate.id in texts,
            explain=query.explain,
        )
        for entry in found.ranked[: query.limit]
    )
    return Answer.model_construct(
        memories=memories,
        text=text,
        tokens=tokens_of(len(text)),
        degraded=(),
        limits=found.limits,
        cursor=found.cursor,
        took_ms=0.0,
    )


def memory_of(entry: Entry, payload: Payload, at: datetime, *, in_text: bool, explain: bool) -> RecalledMemory:
    """One memory of an answer. What a later version has stored and this one doesn't know is passed through."""
    candidate = entry.candidate
    stated, believed = payload.get("confidence", 1.0), effective_of(payload, at)
    fields = {
        "id": candidate.id,
        "text": payload["content"],
        "kind": candidate.kind,
        "type": payload.get("type") or candidate.kind,
        "author": payload.get("author"),
        "role": payload.get("role"),
        "thread": payload.get("thread"),
        "turn_id": payload.get("turn_id"),
        "position": payload.get("position"),
        "occurred_at": candidate.occurred_at if "occurred_at" in payload else None,
        "importance": payload.get("importance", 0.5),
        "confidence": stated,
        "effective_confidence": None if believed == stated else believed,
        "tags": tuple(payload.get("tags", ())),
        "source": payload.get("source"),
        "found_by": found_by(entry.found_by),
        "score": entry.score,
        "in_text": in_text,
        "parts": ScoreParts(**entry.parts._asdict()) if explain else None,
    }
    try:
        return RecalledMemory.model_validate(fields)  # faster than model_construct
    except ValidationError:
        return RecalledMemory.model_construct(None, **fields)


def found_by(arms: Collection[FoundBy]) -> tuple[FoundBy, ...]:
    """What found a memory, in a fixed order."""
    return tuple(arm for arm in _FOUND_BY if arm in arms)
