"""Recall: a question in, an answer out, with what is lacking named instead of an error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from afterturn.consumers.recall.answering import Selection, newest_first, search_of, without
from afterturn.consumers.recall.arrivals import Arrivals, tenant_partition, token_of
from afterturn.consumers.recall.choosing import to_show
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.names import strip_names
from afterturn.consumers.recall.outcomes import Announce, recalled, skipped
from afterturn.consumers.recall.packing import unseen
from afterturn.consumers.recall.pool import Pool
from afterturn.consumers.recall.ranking import Ranked, favour, rank
from afterturn.consumers.recall.recipe import MEASURED, Recipe
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.recall.states import TenantStates
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.read import Arm
from afterturn.consumers.store.search import Search
from afterturn.consumers.text import lexical
from afterturn.consumers.text.budget import tokens_of
from afterturn.consumers.text.embedder import Embedder, Vector
from afterturn.schemas.errors import ContractError
from afterturn.schemas.parts import Usage
from afterturn.schemas.points import TenantState
from afterturn.schemas.query import Answer, Query
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.schemas.types import is_blank
from afterturn.streams.errors import Retry

MOST_HITS = 500
"""Hits an arm is asked for at most: those of the recipe, and one more for each memory the caller has seen."""
NEWEST = 200
"""Memories read where no question is asked."""
MOST_NEWEST = 1_000
_LACKS: dict[Arm, str] = {"dense": "vector", "lexical": "keyword"}
_NOTHING = Usage()


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer so far: what it lacks, and what it cost."""

    answer: Answer
    lacks: tuple[str, ...] = ()
    usage: Usage = _NOTHING


@dataclass(frozen=True, slots=True)
class Seams:
    """What recall stands on. ``heals`` says of a partition whether its store is behind what was committed."""

    store: AnswerStore
    embedder: Embedder
    fold: FoldSettings
    announce: Announce
    heals: Callable[[int], bool]
    metrics: RecallMetrics


class Recall:
    """Answers queries. It never writes, and an answer lacks what could not be had in time."""

    def __init__(self, seams: Seams, settings: RecallSettings, recipe: Recipe = MEASURED) -> None:
        self._seams = seams
        self._store = seams.store
        self._settings = settings
        self._recipe = recipe
        self._states = TenantStates(
            seams.store.tenant, seconds=settings.state_seconds, entries=settings.state_entries
        )
        self._arrivals = Arrivals(seams.store, seams.fold, seconds=settings.after_wait)

    async def answer(self, tenant: str, query: Query, now: datetime) -> Answer:
        """What the tenant's memories say to a query.

        ``degraded`` of the answer names what it lacks: ``after`` (the awaited turn isn't there yet), ``healing`` (the
        store is catching up), ``vector`` or ``keyword`` (an arm of the search failed), ``neighbour`` (what stands
        around the hits), ``search`` (the whole of it: the answer is empty).

        Raises:
            ContractError: the query names a time or a token that is none, or lacks a dimension the tenant requires.
            Stop: the store or the embedder is not what this process was made for.
        """
        started = time.perf_counter()
        search = search_of(tenant, query, now)
        token = None if query.after is None else token_of(tenant, query.after, self._seams.fold)
        lacks = await self._behind(tenant, token)
        try:
            async with asyncio.timeout(self._settings.answer_timeout):
                reply = await self._read(search, query, fresh=token is not None)
        except (Retry, TimeoutError) as error:
            self._seams.announce(skipped(tenant, "unavailable", now, _ms(started), error=type(error).__name__))
            reply = Reply(Answer(), ("search",))
        return self._finish(tenant, reply, lacks, now, started)

    def _finish(self, tenant: str, reply: Reply, lacks: tuple[str, ...], now: datetime, started: float) -> Answer:
        lacks, took = (*lacks, *reply.lacks), _ms(started)
        answer = reply.answer.model_copy(update={"degraded": lacks, "took_ms": took})
        self._seams.metrics.degraded(lacks)
        self._seams.metrics.memories.inc(len(answer.memories))
        if "search" not in lacks:
            self._seams.announce(recalled(tenant, answer, reply.usage, now))
        return answer

    async def _behind(self, tenant: str, token: Token | None) -> tuple[str, ...]:
        """Wait for a token; what of the tenant's log the store doesn't hold yet."""
        lacks: tuple[str, ...] = ()
        if token is not None:
            with self._seams.metrics.after_seconds.time():
                lacks = () if await self._arrivals.wait(tenant, token) else ("after",)
        heals = self._seams.heals(tenant_partition(tenant, self._seams.fold))
        return (*lacks, "healing") if heals else lacks

    async def _read(self, search: Search, query: Query, *, fresh: bool) -> Reply:
        state = await self._states.get(search.tenant, fresh=fresh)
        return await self._permitted(state, search, query)

    async def _permitted(self, state: TenantState | None, search: Search, query: Query) -> Reply:
        ...
