"""The desk: whose a request is, whether it may, and what answers it, as far as that is there."""

from __future__ import annotations

import math
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from starlette.requests import Request

from afterturn.consumers.recall.access.gate import Gate
from afterturn.consumers.recall.access.principals import Principal, Right
from afterturn.consumers.recall.answering.engine import Recall
from afterturn.consumers.recall.answering.states import TenantStates
from afterturn.consumers.recall.health import Health
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.recall.web.answers import NotReady
from afterturn.consumers.recall.web.following import Following
from afterturn.consumers.recall.web.requests import body_of, require_local_host, tenant_named
from afterturn.consumers.recall.web.slots import Slots
from afterturn.consumers.recall.writes import Writes
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.browse import BrowseStore
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.select import SelectStore
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import QuotaExceeded
from afterturn.streams.publisher import TurnPublisher
from afterturn.streams.quota import Buckets

P = TypeVar("P")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, and for which tenant."""

    principal: Principal
    tenant: str


@dataclass(frozen=True, slots=True)
class Records:
    """What tells of single memories, tenants and writes, once the store is there."""

    browse: BrowseStore
    select: SelectStore
    states: TenantStates
    writes: Writes
    fold: FoldSettings

    @classmethod
    def of(cls, client: StoreClient, store: AnswerStore, fold: FoldSettings, states: TenantStates) -> Records:
        """Those of an open store."""
        return cls(BrowseStore(client), SelectStore(client), states, Writes(store, fold), fold)


class Desk:
    """What answers requests, as far as it is there: parts come when what they stand on can be reached."""

    def __init__(
        self, settings: RecallSettings, metrics: RecallMetrics, health: Health, gate: Gate | None = None
    ) -> None:
        self.settings = settings
        self.metrics = metrics
        self.health = health
        self.slots = Slots(settings.concurrency, settings.queue, metrics)
        self._gate = gate or Gate()
        self._buckets = None if settings.quota is None else Buckets(settings.quota)
        self.recall: Recall | None = None
        self.publisher: TurnPublisher | None = None
        self.records: Records | None = None
        self.following: Following | None = None
        self._may_wait = settings.concurrency + settings.queue

    async def admit(self, request: Request, right: Right) -> Caller:
        """Who asks, for which tenant, if they may now.

        Raises:
            HTTPException: the request was meant for another host.
            Unauthenticated, Forbidden: they are not known, or may not.
            ContractError: no tenant is named, or no name.
            QuotaExceeded: the principal is over its quota.
            Retry: who they are can't be found out now.
        """
        principal = await self._known(request, right)
        tenant = principal.tenant(tenant_named(request))
        self._within_quota(principal.id or tenant)
        return Caller(principal, tenant)

    async def admit_operator(self, request: Request, right: Right | None) -> Principal:
        """Who asks about all of their tenants, or about themselves, if they may now. Raises as ``admit`` does."""
        principal = await self._known(request, right)
        self._within_quota(principal.id)
        return principal

    async def body(self, request: Request) -> bytes:
        """The body, within the limits.

        Raises:
            HTTPException: it is too large, too slow, compressed, or no JSON.
        """
        return await body_of(request, self.settings.max_body, self.settings.body_timeout)

    def answering(self) -> Recall:
        """What answers queries.

        Raises:
            NotReady: it isn't there yet.
        """
        return self._there(self.recall)

    def reading(self) -> Records:
        """What tells of memories and writes.

        Raises:
            NotReady: it isn't there yet.
        """
        return self._there(self.records)

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[float]:
        """Wait for something outside of the slots; gives how long that may be: no time where too many wait already."""
        self._may_wait -= 1
        try:
            yield math.inf if self._may_wait >= 0 else 0.0
        finally:
            self._may_wait += 1

    def publishing(self) -> TurnPublisher:
        """What puts commands on the turn log.

        Raises:
            NotReady: it isn't there yet.
        """
        return self._there(self.publisher)

    def streaming(self) -> Following:
        """What opens streams of events.

        Raises:
            NotReady: it isn't there yet.
        """
        return self._there(self.following)

    def _there(self, part: P | None) -> P:
        if part is None:
            raise NotReady(self.health.missing)
        return part

    async def _known(self, request: Request, right: Right | None) -> Principal:
        if self._gate.open:
            require_local_host(request)
        principal = await self._gate.principal(request.headers.getlist("authorization"), datetime.now(UTC))
        if right is not None:
            principal.require(right)
        return principal

    def _within_quota(self, who: str) -> None:
        wait = 0.0 if self._buckets is None else self._buckets.take(who, time.monotonic())
        if wait:
            self.metrics.over_quota.inc()
            raise QuotaExceeded(wait)
