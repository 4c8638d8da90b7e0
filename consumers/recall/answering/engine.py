"""Recall: a question in, an answer out, with what is lacking named instead of an error."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from afterturn.consumers.recall.answering.arrivals import Arrivals, Log, tenant_partition, token_of
from afterturn.consumers.recall.answering.asking import Asking
from afterturn.consumers.recall.answering.finding import Credible, Found
from afterturn.consumers.recall.answering.labelling import LabelResolver, SourceLabels, labels
from afterturn.consumers.recall.answering.listing import Lister
from afterturn.consumers.recall.answering.outcomes import Announce, Reply, event_of
from afterturn.consumers.recall.answering.profiles import Asked, Profiles
from afterturn.consumers.recall.answering.reading import Reader
from afterturn.consumers.recall.answering.seeking import bounded, sought
from afterturn.consumers.recall.answering.showing import COUNTED, Extras, answer_of
from afterturn.consumers.recall.answering.states import TenantStates
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.ranking.recipe import MEASURED
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.search import Search
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.errors import Unscoped
from afterturn.schemas.points import TenantState
from afterturn.schemas.query import Answer, Query
from afterturn.schemas.settings import FoldSettings, TenantSettings
from afterturn.schemas.token import Token
from afterturn.streams.errors import Retry

SERVED = replace(
    MEASURED,
    candidates=50,
    best=5,
    author=0.6,
    address=0.2,
    lexical_power=1.5,
    lexical_doubt=0.5,
    question=0.3,
    reply=0.3,
    session=0.15,
    when=0.3,
    date=0.5,
    answer=0.4,
)
"""The recipe as it is served; docs/quality.md has what each number is worth, and what was tried beside it."""
RECIPES = {"usual": SERVED, "wide": replace(SERVED, candidates=100, best=10)}
"""By the setting ``breadth``: ``wide`` finds a little more, and takes about a quarter longer."""


@dataclass(frozen=True, slots=True)
class Seams:
    """What recall stands on.

    ``heals`` tells of a partition whether the store is behind what was committed. Without ``log`` nothing can be
    waited for but tokens.
    """

    store: AnswerStore
    embedder: Embedder
    fold: FoldSettings
    announce: Announce
    heals: Callable[[int], bool]
    metrics: RecallMetrics
    log: Log | None = None
    labels: LabelResolver = field(default_factory=SourceLabels)


class Recall:
    """Answers queries. It never writes, and names what an answer lacks instead of failing.

    Attributes:
        states: what is remembered of tenants, for a moment.
    """

    def __init__(self, seams: Seams, settings: RecallSettings) -> None:
        self._seams = seams
        self._timeout = settings.answer_timeout
        self._recipe = RECIPES[settings.breadth]
        self._lister = Lister(seams.store)
        self._profiles = Profiles(seams.store)
        self._embed_timeout = settings.embed_timeout
        self._reader = Reader(seams.store, seams.embedder, self._recipe, embed_timeout=settings.embed_timeout)
        self._arrivals = Arrivals(seams.store, seams.fold, seconds=settings.after_wait)
        self.states = TenantStates(seams.store.tenant, seconds=settings.state_seconds, entries=settings.state_entries)

    async def answer(self, tenant: str, query: Query, now: datetime) -> Answer:
        """What the tenant's memories say to a query; without a text, what happened last.

        ``degraded`` of the answer names what it lacks: ``after`` (what was waited for isn't there), ``healing`` (the
        store is catching up), ``vector`` or ``keyword`` (an arm of the search failed), ``neighbour`` (what stands
        around the hits), ``search`` (the whole of it: the answer is empty).

        Raises:
            ContractError: the query names a time or a token that is none, or lacks a dimension the tenant requires.
            Stop: the store or the embedder is not what this process was made for.
        """
        started = time.perf_counter()
        asking = Asking.of(tenant, query, now)
        token = None if query.after is None else token_of(tenant, query.after, self._seams.fold)
        lacks = await self._behind(tenant, token, query)
        try:
            async with asyncio.timeout(self._timeout):
                state = await self.states.get(tenant, fresh=token is not None or query.consistent)
                reply = await self._permitted(state, asking)
        except Unscoped:
            self._told(tenant, Reply(skipped="scope"), now, 0.0)
            raise
        except (Retry, TimeoutError) as error:
            reply = Reply(lacks=("search",), skipped="unavailable", error=type(error).__name__)
        ms = (time.perf_counter() - started) * 1_000
        return self._told(tenant, replace(reply, lacks=(*lacks, *reply.lacks)), now, ms)

    async def _behind(self, tenant: str, token: Token | None, query: Query) -> tuple[str, ...]:
        """Wait for a token, or for all there is; what of the tenant's log the store doesn't hold yet."""
        partition = tenant_partition(tenant, self._seams.fold)
        arrived = True
        if token is not None or query.consistent:
            with self._seams.metrics.after_seconds.time():
                if token is not None:
                    arrived = await self._arrivals.wait(tenant, token, query.after_wait)
                if arrived and query.consistent:
                    arrived = await self._arrivals.all_of(partition, self._seams.log, query.after_wait)
        lacks = () if arrived else ("after",)
        return (*lacks, "healing") if self._seams.heals(partition) else lacks

    async def _permitted(self, state: TenantState | None, asking: Asking) -> Reply:
        """The reply, as far as the tenant's settings let it be asked for."""
        settings = state.settings if state else TenantSettings()
        if missing := asking.query.scope.missing(settings.required_scope or ()):
            raise Unscoped.missing(missing)
        if settings.phases is not None and settings.phases.recall == "off":
            return Reply(skipped="off")
        finding = self._found(asking, state.authors if state else ())
        counting = asking.query.count or asking.query.format in COUNTED
        if counting:
            found, available = await asyncio.gather(finding, self._counted(asking.search))
        else:
            found, available = await finding, None
        extras = Extras(await self._labels(asking, found), available)
        return Reply(answer_of(found, asking.query, asking.at, self._recipe, extras), found.lacks, found.usage)

    async def _counted(self, search: Search) -> int | None:
        try:
            return await self._seams.store.count(search)
        except Retry:
            return None  # the answer is good without it

    async def _labels(self, asking: Asking, found: Found) -> dict[str, tuple[str, ...]]:
        listed = [entry.candidate.id for entry in found.ranked[: asking.query.limit]]
        payloads = {id_: found.pool.payloads[id_] for id_ in listed}
        return await labels(self._seams.labels, asking.search.tenant, payloads)

    async def _found(self, asking: Asking, authors: Sequence[str]) -> Found:
        search, query = asking.search, asking.query
        if asking.question is None:
            return await self._lister.page(search, query, asking.bound_to, asking.at, asking.page)
        if query.profile != "recipe":
            made = await sought(self._seams.embedder, bounded(asking.question), self._embed_timeout)
            found = await self._profiles.ask(Asked(search, query, asking.question, made.dense, made.sparse, asking.at))
            return replace(found, lacks=(*made.lacks, *found.lacks), usage=made.usage)
        credible = Credible(query.min_confidence, asking.at)
        return await self._reader.ask(search, query, asking.question, authors, credible)

    def _told(self, tenant: str, reply: Reply, now: datetime, ms: float) -> Answer:
        """The answer, after it was counted and announced."""
        answer = reply.answer.model_copy(
            update={"degraded": reply.lacks, "usage": reply.usage if reply.usage.any() else None, "took_ms": ms}
        )
        self._seams.metrics.degraded(reply.lacks)
        self._seams.metrics.memories.inc(len(answer.memories))
        self._seams.announce(event_of(tenant, reply, now, ms))
        return answer
