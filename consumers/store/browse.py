"""What browsing reads of the store: memories page by page in an order that stays, threads, and counts."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.search import Search
from afterturn.schemas.ids import tenant_id, thread_id
from afterturn.schemas.parts import LIVE, Status
from afterturn.schemas.points import Memory, TenantState, ThreadState
from afterturn.schemas.scope import Scope

SHOWN: tuple[Status, ...] = tuple(sorted(LIVE))
"""The statuses of memories that are there."""
_MOST_TYPES = 1_000
Value = int | float | str
"""What memories are ordered by, as it is stored: a number, or a time as text."""


class Order(NamedTuple):
    """An order by a payload field that every memory has; among equals the lower id comes first."""

    key: str
    descending: bool


class Place(NamedTuple):
    """A memory's place in an order."""

    value: Value
    id: str


class BrowseStore:
    """Reads of one tenant, each within a scope.

    Every method raises:
        StoreAway: Qdrant does not answer, not in time, or says it can't now: retry.
        WrongStore: the collection, the credentials or the version are wrong: stop.
        StoreRefused: this call was refused for what it carries.
    """

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def there(self, tenant: str, scope: Scope, ids: Collection[str]) -> set[str]:
        """Which of these ids are live memories of the tenant within the scope."""
        if not ids:
            return set()
        seen = filters.searched(_all(tenant, scope))
        found = await self._scroll(filters.all_of(filters.has_id(ids), *seen), len(ids), with_payload=False)
        return {point["id"] for point in found}

    async def memory(self, tenant: str, scope: Scope, id_: str) -> Memory | None:
        """A live memory of the tenant within the scope, or None."""
        point = (await points.read_points(self._client, [id_])).get(id_)
        if not isinstance(point, Memory) or point.tenant != tenant or point.status not in LIVE:
            return None
        return point if set(scope.pairs()) <= set(point.scope.pairs()) else None

    async def count(self, search: Search) -> int:
        """How many memories a search may find, exactly."""
        return await self._count(filters.all_of(*filters.searched(search)))

    async def page(self, search: Search, order: Order, after: Place | None, limit: int) -> dict[str, Memory]:
        """The first ``limit`` memories in this order after a place, all of them once however many are equal.

        The store gives equals in any order, and of the last ones any: those are read by their ids.
        """
        found: dict[str, Memory] = {}
        if after is not None:
            found = await self._equal(search, order, after, limit)
        need = limit - len(found)
        if need <= 0:
            return found
        beyond = await self._beyond(search, order, None if after is None else after.value, need)
        groups = [list(group) for _, group in groupby(beyond, key=lambda point: point["payload"][order.key])]
        whole = groups if len(beyond) < need else groups[:-1]
        for group in whole:
            found |= points.memories(sorted(group, key=_id))
        if len(beyond) >= need:
            value: Value = groups[-1][0]["payload"][order.key]
            found |= await self._equal(search, order, Place(value, ""), limit - len(found))
        return found

    async def thread(self, tenant: str, scope: Scope, thread: str) -> ThreadState | None:
        """Where the thread of exactly this scope stands, or None."""
        id_ = thread_id(tenant, scope, thread)
        point = (await points.read_points(self._client, [id_])).get(id_)
        return point if isinstance(point, ThreadState) and point.thread is not None else None

    async def messages(self, state: ThreadState, first: int, end: int) -> dict[str, Memory]:
        """A thread's memories from a position to below another, removed or not, in no order."""
        place = filters.bounds("position", gte=first, lt=end)
        chosen = filters.all_of(filters.of_thread(state.tenant, state.scope, state.thread or ""), place)
        found = await points.scroll(self._client, "reading a thread", chosen)
        return points.memories({"id": id_, "payload": payload} for id_, payload in found.items())

    async def values(self, tenant: str, scope: Scope, field: str) -> dict[str, int]:
        """How many live memories have each value of a field."""
        chosen = filters.all_of(*filters.searched(_all(tenant, scope)))
        body = {"key": field, "filter": chosen, "exact": True, "limit": _MOST_TYPES}
        answer = await self._client.ask("counting values", "/facet", body)
        return {str(hit["value"]): int(hit["count"]) for hit in answer["hits"]}

    async def pinned(self, tenant: str, scope: Scope) -> int:
        """How many live memories are pinned."""
        chosen = filters.all_of(*filters.searched(_all(tenant, scope)))
        return await self._count({**chosen, "must_not": [filters.not_pinned()]})

    async def tenants(self, after: str | None, limit: int) -> tuple[dict[str, TenantState], str | None]:
        """The states of tenants in the order of their ids, from one on; and the id that comes next."""
        body: dict[str, Any] = {"filter": filters.all_of(filters.match("point", "tenant")), "limit": limit}
        if after is not None:
            body["offset"] = after
        answer = await self._client.post("listing tenants", "/scroll", body | {"with_payload": True})
        read = {point["id"]: points.stored(point["id"], point["payload"]) for point in answer["points"]}
        states = {id_: point for id_, point in read.items() if isinstance(point, TenantState)}
        return states, answer["next_page_offset"]

    async def tenants_named(self, tenants: Iterable[str]) -> dict[str, TenantState]:
        """The states of these tenants, those that have one."""
        found = await points.read_points(self._client, [tenant_id(tenant) for tenant in tenants])
        return {id_: point for id_, point in found.items() if isinstance(point, TenantState)}

    async def _equal(self, search: Search, order: Order, after: Place, limit: int) -> dict[str, Memory]:
        """Memories of one value, by id, beyond a place's."""
        chosen = filters.all_of(*filters.searched(search), _bound(order.key, "gte", after.value, "lte"))
        found = await self._scroll(chosen, limit + 1, offset=after.id or None)
        return points.memories([point for point in found if point["id"] != after.id][:limit])

    async def _beyond(self, search: Search, order: Order, value: Value | None, limit: int) -> list[dict[str, Any]]:
        """Memories beyond a value, as the store orders them."""
        conditions = filters.searched(search)
        if value is not None:
            conditions.append(_bound(order.key, "lt" if order.descending else "gt", value))
        by = {"key": order.key, "direction": "desc" if order.descending else "asc"}
        return await self._scroll(filters.all_of(*conditions), limit, order_by=by)

    async def _scroll(
        self, chosen: filters.Filter, limit: int, *, with_payload: bool = True, **more: object
    ) -> list[dict[str, Any]]:
        given = {name: value for name, value in more.items() if value is not None}
        body = {"filter": chosen, "limit": limit, "with_payload": with_payload, "with_vector": False, **given}
        found: list[dict[str, Any]] = (await self._client.post("browsing", "/scroll", body))["points"]
        return found

    async def _count(self, chosen: filters.Filter) -> int:
        return await points.count(self._client, "counting memories", chosen)


async def counts(store: BrowseStore, tenant: str, scope: Scope) -> tuple[dict[str, dict[str, int]], int]:
    """How many live memories have each status, kind and type; and how many are pinned."""
    fields = ("status", "kind", "type")
    pinning = store.pinned(tenant, scope)
    found, pinned = await asyncio.gather(
        asyncio.gather(*(store.values(tenant, scope, field) for field in fields)), pinning
    )
    return dict(zip(fields, found, strict=True)), pinned


def _all(tenant: str, scope: Scope) -> Search:
    return Search(tenant=tenant, scope=tuple(scope.pairs()), statuses=SHOWN)


def _bound(key: str, first: str, value: Value, second: str | None = None) -> filters.Condition:
    limits = dict.fromkeys((first, second) if second else (first,), value)
    if isinstance(value, str):
        return filters.times(key, **{name: datetime.fromisoformat(value) for name in limits})
    return {"key": key, "range": limits}


def _id(point: dict[str, Any]) -> str:
    id_: str = point["id"]
    return id_
