"""From a query to a search, and from a ranking to an answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError

from afterturn.consumers.recall.prompt.packing import pack
from afterturn.consumers.recall.prompt.timeline import render
from afterturn.consumers.recall.ranking.candidates import time_order
from afterturn.consumers.recall.ranking.pool import Payload, Pool
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.recall.ranking.scoring import Ranked
from afterturn.consumers.store.narrowing import narrowing
from afterturn.consumers.store.search import Search
from afterturn.consumers.text.budget import tokens_of
from afterturn.schemas.conditions import Condition
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Answer, FoundBy, Query, RecalledMemory, ScoreParts
from afterturn.schemas.when import resolve_time

_FOUND_BY: tuple[FoundBy, ...] = ("vector", "keyword", "neighbour")
_INSTANT = timedelta(microseconds=1)
_LAST = datetime.max.replace(tzinfo=UTC)


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


def newest_first(pool: Pool) -> list[Ranked]:
    """The ranking of memories no question was asked about: what happened last comes first. Nothing found them."""
    latest = sorted(pool.candidates.values(), key=time_order, reverse=True)
    return [Ranked(candidate, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, frozenset()) for candidate in latest]


class Selection:
    """What of a ranking an answer shows: a list of so many, and what fits into the text."""

    def __init__(self, ranked: Sequence[Ranked], limit: int, max_tokens: int, recipe: Recipe) -> None:
        self._listed = ranked[:limit]
        self._in_text = frozenset(pack([entry.candidate for entry in ranked], max_tokens, recipe).ids)
        self._ranked = ranked

    def answer(self, pool: Pool, *, explain: bool) -> Answer:
        """The answer, with the texts of the pool."""
        texts = {id_: pool.payloads[id_]["content"] for id_ in self._in_text}
        text = render((entry.candidate for entry in self._ranked if entry.candidate.id in texts), texts)
        memories = tuple(
            memory_of(entry, pool.payloads[entry.candidate.id], in_text=entry.candidate.id in texts, explain=explain)
            for entry in self._listed
        )
        return Answer.model_construct(
            memories=memories, text=text, tokens=tokens_of(len(text)), degraded=(), took_ms=0.0
        )


def memory_of(entry: Ranked, payload: Payload, *, in_text: bool, explain: bool) -> RecalledMemory:
    """One memory of an answer. What a later version has stored and this one doesn't know is passed through."""
    candidate = entry.candidate
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
        "confidence": payload.get("confidence", 1.0),
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
