"""What commands that go alone need of the store: whole selections, page by page, and counts taken afterwards.

Such a command writes its chunks with its own rev, so what it has still to do is what has a lower one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from typing import Any, Literal

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.client import StoreClient
from afterturn.schemas.ids import MAX_REV
from afterturn.schemas.parts import Filter
from afterturn.schemas.points import KeyState, Memory, StoredPoint, TenantState, ThreadState

Kind = Literal["memory", "receipt", "thread", "key", "tenant"]
ERASABLE: tuple[Kind, ...] = ("memory", "receipt", "thread", "key")
"""All that a tenant has, but its state."""


class SelectStore:
    """Selections over a tenant or a partition; a page is one read of at most ``limit`` points, in no order.

    Every method raises:
        StoreAway: Qdrant does not answer, not in time, or says it can't now: retry.
        WrongStore: the collection, the credentials or the version are wrong: stop.
        StoreRefused: this call was refused for what it carries.
    """

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def matching(self, tenant: str, chosen: Filter | None, below: int, limit: int) -> dict[str, Memory]:
        """A tenant's live memories with rev < ``below`` that a command's filter selects (None selects all)."""
        found = await self._page(filters.forgotten(tenant, chosen, below), limit)
        return {id_: point for id_, point in found.items() if isinstance(point, Memory)}

    async def everything(
        self, tenant: str, below: int, limit: int, kinds: Iterable[Kind] = ERASABLE
    ) -> dict[str, StoredPoint]:
        """A tenant's points of these kinds with rev < ``below``, tombstones too."""
        return await self._page(filters.everything(tenant, kinds, below), limit)

    async def changed_at(self, tenant: str, rev: int, limit: int) -> AsyncIterator[dict[str, Memory]]:
        """A tenant's memories that the command at this rev last changed, page by page."""
        async for page in self._pages(filters.changed_at(tenant, rev), limit):
            yield {id_: point for id_, point in page.items() if isinstance(point, Memory)}

    async def count(self, tenant: str, chosen: Filter | None, below: int) -> int:
        """How many memories ``matching`` would return in all."""
        return await self._count(filters.forgotten(tenant, chosen, below))

    async def count_named(self, tenant: str, ids: Iterable[str]) -> int:
        """How many of these ids are a tenant's live memories."""
        return await self._count(filters.all_of(filters.has_id(ids), filters.forgotten(tenant, None, MAX_REV)))

    async def count_everything(self, tenant: str, below: int) -> int:
        """How many points ``everything`` would return in all."""
        return await self._count(filters.everything(tenant, ERASABLE, below))

    async def tenants(self, limit: int) -> AsyncIterator[dict[str, TenantState]]:
        """The states of all tenants, page by page, in no order."""
        async for page in self._pages(filters.all_of(filters.match("point", "tenant")), limit):
            yield {id_: point for id_, point in page.items() if isinstance(point, TenantState)}

    async def count_tenants(self) -> int:
        """How many tenants have a state."""
        return await self._count(filters.all_of(filters.match("point", "tenant")))

    async def collectable(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        """A partition's receipts and tombstones that were made, and last changed, before ``below``, page by page."""
        async for page in self._pages(filters.collectable(partition, below), limit):
            yield page

    async def threads(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        """A partition's states of threads that were last changed before ``below``, page by page."""
        async for page in self._pages(filters.states(partition, "thread", below), limit):
            yield page

    async def keys(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        """A partition's states of keys that were last changed before ``below``, page by page."""
        async for page in self._pages(filters.states(partition, "key", below), limit):
            yield page

    async def with_siblings(self, tombstones: dict[str, Memory], below: int) -> set[str]:
        """Which of these are of commands that made another memory which can't be collected yet."""
        chosen = [filters.kept_beside(memory.tenant, memory.born, below) for memory in tombstones.values()]
        return await self._any(tombstones, chosen)

    async def in_use(self, threads: dict[str, ThreadState]) -> set[str]:
        """Which of these threads have a memory, removed or not."""
        chosen = [filters.of_thread(state.tenant, state.scope, state.thread or "") for state in threads.values()]
        return await self._any(threads, chosen)

    async def held(self, keys: dict[str, KeyState]) -> set[str]:
        """Which of these keys stand for a point that is there."""
        found = await points.read_points(self._client, [state.current for state in keys.values() if state.current])
        return {id_ for id_, state in keys.items() if state.current in found}

    async def remove(self, ids: Iterable[str], below: int) -> None:
        """Delete those of these points whose rev is still below ``below``; only ``log.collect`` may."""
        chosen = filters.all_of(filters.has_id(ids), filters.bounds("rev", lt=below))
        await self._client.change("removing points", "POST", "/delete", {"filter": chosen})

    async def _any(self, asked: Iterable[str], chosen: Sequence[filters.Filter]) -> set[str]:
        """Those asked for whose filter selects anything; one batched read."""
        if not chosen:
            return set()
        searches = [{"filter": each, "limit": 1, "with_payload": False} for each in chosen]
        answers = await self._client.post("looking for points", "/query/batch", {"searches": searches})
        return {id_ for id_, answer in zip(asked, answers, strict=True) if answer["points"]}

    async def _page(self, chosen: dict[str, Any], limit: int) -> dict[str, StoredPoint]:
        body = {"filter": chosen, "limit": limit, "with_payload": True, "with_vector": False}
        answer = await self._client.post("selecting points", "/scroll", body)
        return _read(answer["points"])

    async def _pages(self, chosen: dict[str, Any], limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        async for found in points.pages(self._client, "selecting points", chosen, limit):
            if found:
                yield _read(found)

    async def _count(self, chosen: dict[str, Any]) -> int:
        return await points.count(self._client, "counting points", chosen)


def _read(found: Iterable[dict[str, Any]]) -> dict[str, StoredPoint]:
    return {point["id"]: points.stored(point["id"], point["payload"]) for point in found}
