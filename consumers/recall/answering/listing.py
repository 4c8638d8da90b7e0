"""Lists of memories nothing was asked of: by when they happened, by confidence or by importance, page by page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Literal

from afterturn.consumers.recall.answering.finding import Credible, Found, Placed
from afterturn.consumers.recall.answering.paging import Page, Place, cursor_of, place_of
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.confidence import effective_of
from afterturn.consumers.recall.ranking.pool import Pool, candidate_of, moment_of, thread_key
from afterturn.consumers.store.answers import MAX_PLACES, AnswerStore
from afterturn.consumers.store.read import Hit
from afterturn.consumers.store.search import Search
from afterturn.schemas.query import Limit, Order, Query

READ = 200
"""Memories read for a text at least: a list may be short and the text long."""
ORDERED = 10_000
"""Memories that are put into an order of confidence or importance: a tenant's usual bound."""
_INSTANT = timedelta(microseconds=1)
_END = datetime.max.replace(tzinfo=UTC)
Ranked = list[tuple[Place, Hit]]


class Lister:
    """Lists memories. Its order is total, so pages neither repeat nor leave out a memory that stays as it is."""

    def __init__(self, store: AnswerStore) -> None:
        self._store = store

    async def page(self, search: Search, query: Query, bound_to: str, at: datetime, page: Page | None) -> Found:
        """The memories from a page's beginning on, and the cursor of the next page where this one is full.

        ``at`` is the instant of all pages, ``bound_to`` what their cursors are bound to.

        Raises:
            Retry: the store does not answer.
        """
        wanted = max(READ, query.limit)
        after = None if page is None else page.after
        credible = Credible(query.min_confidence, at)
        limits: tuple[Limit, ...]
        if query.order in (None, "newest"):
            listed, limits = await self._newest(search, wanted, credible, after)
        else:
            assert query.order is not None
            listed, limits = await self._by_value(search, query.order, wanted, credible, after)
        pool = Pool()
        pool.add(hit for _, hit in listed)
        ranked = [Placed(pool.candidates[hit.id]) for _, hit in listed]
        full = len(listed) >= query.limit
        cursor = cursor_of(bound_to, Page(at, listed[query.limit - 1][0])) if full else None
        return Found(ranked, pool, limits=limits, cursor=cursor)

    async def _newest(
        self, search: Search, wanted: int, credible: Credible, after: Place | None
    ) -> tuple[Ranked, tuple[Limit, ...]]:
        """Read on until so many are found: those of one instant are read together, as they are in no order."""
        found: Ranked = []
        limits: tuple[Limit, ...] = ()
        before = None if after is None or after.moment == _END else after.moment + _INSTANT
        while len(found) < wanted:
            if before is not None and (search.until is None or before < search.until):
                search = replace(search, until=before)
            read = await self._store.newest(search, wanted)
            if not read:
                break
            before = moment_of(read[-1].payload)
            if len(read) == wanted:
                together = await self._store.within(search, before, before)
                limits = ("pool",) if len(together) >= MAX_PLACES else limits
                read = [hit for hit in read if moment_of(hit.payload) > before] + together
            found += [(place, hit) for place, hit in _placed(credible.of(read)) if after is None or place < after]
            if len(read) < wanted:
                break
        return sorted(found, key=_place, reverse=True), limits

    async def _by_value(
        self, search: Search, order: Order, wanted: int, credible: Credible, after: Place | None
    ) -> tuple[Ranked, tuple[Limit, ...]]:
        key: Literal["importance", "confidence"] = "importance" if order == "importance" else "confidence"
        read = await self._store.highest(search, key, ORDERED)
        limits: tuple[Limit, ...] = ("pool",) if len(read) == ORDERED else ()
        ranked = sorted(_placed(credible.of(read), order, credible.at), key=_place, reverse=True)
        chosen = [place for place, _ in ranked if after is None or place < after][:wanted]
        shown = {hit.id: hit for hit in await self._store.shown(search, [place.id for place in chosen])}
        return [(place, shown[place.id]) for place in chosen if place.id in shown], limits


def _placed(hits: Sequence[Hit], order: Order = "newest", at: datetime | None = None) -> Ranked:
    return [(place_of(_candidate(hit), _value(hit, order, at)), hit) for hit in hits]


def _value(hit: Hit, order: Order, at: datetime | None) -> float:
    if order == "newest" or at is None:
        return 0.0
    importance: float = hit.payload.get("importance", 0.5)
    return importance if order == "importance" else effective_of(hit.payload, at)


def _candidate(hit: Hit) -> Candidate:
    return candidate_of(hit.id, hit.payload, thread_key(hit.payload))


def _place(ranked: tuple[Place, Hit]) -> Place:
    return ranked[0]
