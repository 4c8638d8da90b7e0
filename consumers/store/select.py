"""What commands that go alone need of the store: whole selections, chunk by chunk, and counts taken afterwards.

Such a command writes its chunks with its own rev, so what it has still to do is what has a lower one.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.client import StoreClient
from afterturn.schemas.parts import Filter, Status
from afterturn.schemas.points import Memory, StoredPoint

Kind = Literal["memory", "receipt", "thread", "tenant"]
_ALL: tuple[Kind, ...] = ("memory", "receipt", "thread", "tenant")


class SelectStore:
    """Selections over a tenant or a partition; each call is one read of at most ``limit`` points, in no order.

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

    async def derived(self, tenant: str, ids: Iterable[str], below: int, limit: int) -> dict[str, Memory]:
        """A tenant's live memories with rev < ``below`` that were made from any of these."""
        found = await self._page(filters.derived(tenant, ids, below), limit)
        return {id_: point for id_, point in found.items() if isinstance(point, Memory)}

    async def everything(
        self, tenant: str, below: int, limit: int, kinds: Iterable[Kind] = _ALL
    ) -> dict[str, StoredPoint]:
        """A tenant's points of these kinds with rev < ``below``, tombstones too."""
        return await self._page(filters.everything(tenant, kinds, below), limit)

    async def changed_at(self, tenant: str, rev: int, status: Status) -> int:
        """How many of a tenant's memories have this rev and status: what a command has done so far."""
        return await self._count(filters.changed_at(tenant, rev, status))

    async def count(self, tenant: str, chosen: Filter | None, below: int) -> int:
        """How many memories ``matching`` would return in all."""
        return await self._count(filters.forgotten(tenant, chosen, below))

    async def collectable(self, partition: int, below: int, limit: int) -> dict[str, StoredPoint]:
        """A partition's receipts and tombstones that were made, and last changed, before ``below``."""
        return await self._page(filters.collectable(partition, below), limit)

    async def remove(self, ids: Iterable[str], below: int) -> None:
        """Delete those of these points whose rev is still below ``below``; only ``log.collect`` may."""
        chosen = filters.all_of(filters.has_id(ids), filters.bounds("rev", lt=below))
        await self._client.change("removing points", "POST", "/delete", {"filter": chosen})

    async def _page(self, chosen: dict[str, Any], limit: int) -> dict[str, StoredPoint]:
        body = {"filter": chosen, "limit": limit, "with_payload": True, "with_vector": False}
        answer = await self._client.post("selecting points", "/scroll", body)
        return {point["id"]: points.stored(point["id"], point["payload"]) for point in answer["points"]}

    async def _count(self, chosen: dict[str, Any]) -> int:
        answer = await self._client.post("counting points", "/count", {"filter": chosen, "exact": True})
        return int(answer["count"])
