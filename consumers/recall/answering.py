"""From a query to a search, and from a ranking to an answer. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from afterturn.consumers.recall.candidates import time_order
from afterturn.consumers.recall.packing import pack
from afterturn.consumers.recall.pool import Payload, Pool
from afterturn.consumers.recall.ranking import Ranked
from afterturn.consumers.recall.recipe import Recipe
from afterturn.consumers.recall.rendering import render
from afterturn.consumers.store.search import Search
from afterturn.consumers.text.budget import tokens_of
from afterturn.schemas.errors import ContractError
from afterturn.schemas.parts import Source
from afterturn.schemas.query import Answer, FoundBy, Query, RecalledMemory, ScoreParts, resolve_time

_FOUND_BY: tuple[FoundBy, ...] = ("vector", "keyword", "neighbour")
_INSTANT = timedelta(microseconds=1)


def search_of(tenant: str, query: Query, now: datetime) -> Search:
    """What a query restricts, with every relative time taken from ``now``.

    ``as_of`` asks for what was known then: nothing that happened later, nothing that had expired.

    Raises:
        ContractError: a time lies before year 1; the field is named.
    """
    until = _time("until", query.until, now)
    if query.as_of is not None and (until is None or until > query.as_of):
        until = query.as_of + _INSTANT
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
    )


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
        self.listed = ranked[:limit]
        self.in_text = frozenset(pack([entry.candidate for entry in ranked], max_tokens, recipe).ids)
        self._ranked = ranked

    def ids(self) -> set[str]:
        """The memories shown, in either."""
        return {*self.in_text, *(entry.candidate.id for entry in self.listed)}

    def answer(self, pool: Pool, *, explain: bool) -> Answer:
        """The answer; a memory whose content could not be read, as it has gone meanwhile, is left out."""
        texts = {id_: payload["content"] for id_, payload in pool.payloads.items() if id_ in self.in_text}
        text = render((entry.candidate for entry in self._ranked if entry.candidate.id in texts), texts)
        memories = tuple(
            memory_of(entry, pool.payloads[entry.candidate.id], in_text=entry.candidate.id in texts, explain=explain)
            for entry in self.listed
            if entry.candidate.id in pool.payloads
        )
        return Answer.model_construct(
            memories=memories, text=text, tokens=tokens_of(len(text)), degraded=(), took_ms=0.0
        )


def memory_of(entry: Ranked, payload: Payload, *, in_text: bool, explain: bool) -> RecalledMemory:
    """One memory of an answer. Not validated: it comes from the store, where it was validated."""
    source = payload.get("source")
    return RecalledMemory.model_construct(
        id=entry.candidate.id,
        text=payload["content"],
        kind=entry.candidate.kind,
        type=payload.get("type") or entry.candidate.kind,
        author=payload.get("author"),
        role=payload.get("role"),
        thread=payload.get("thread"),
        turn_id=payload.get("turn_id"),
        position=payload.get("position"),
        occurred_at=entry.candidate.occurred_at if "occurred_at" in payload else None,
        importance=payload.get("importance", 0.5),
        confidence=payload.get("confidence", 1.0),
        tags=tuple(payload.get("tags", ())),
        source=None if source is None else Source.model_construct(**source),
        found_by=found_by(entry.found_by),
        score=entry.score,
        in_text=in_text,
        parts=ScoreParts.model_construct(**entry.parts._asdict()) if explain else None,
    )


def found_by(arms: Collection[FoundBy]) -> tuple[FoundBy, ...]:
    """What found a memory, in a fixed order."""
    return tuple(arm for arm in _FOUND_BY if arm in arms)


def without(ranked: Iterable[Ranked], gone: Collection[str]) -> list[Ranked]:
    """A ranking without these."""
    return [entry for entry in ranked if entry.candidate.id not in gone]
