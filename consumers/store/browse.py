"""What browsing reads of the store: memories page by page in an order that stays, threads, and counts."""

from __future__ import annotations

from collections.abc import Collection

from afterturn.consumers.store import filters
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.search import Search
from afterturn.schemas.parts import LIVE, Status
from afterturn.schemas.scope import Scope

SHOWN: tuple[Status, ...] = tuple(sorted(LIVE))
"""The statuses of memories that are there."""


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
        seen = filters.searched(Search(tenant=tenant, scope=tuple(scope.pairs()), statuses=SHOWN))
        body = {
            "filter": filters.all_of(filters.has_id(ids), *seen),
            "limit": len(ids),
            "with_payload": False,
            "with_vector": False,
        }
        answer = await self._client.post("looking for memories", "/scroll", body)
        return {point["id"] for point in answer["points"]}

    async def count(self, search: Search) -> int:
        """How many memories a search may find, exactly."""
        body = {"filter": filters.all_of(*filters.searched(search)), "exact": True}
        answer = await self._client.post("counting memories", "/count", body)
        return int(answer["count"])
