"""What recall reads to answer, in as few and as small reads as can be."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.read import Hit, ReadStore, SearchHits, SparseVector
from afterturn.consumers.store.search import Search, Window
from afterturn.schemas.ids import checkpoint_id
from afterturn.schemas.points import Checkpoint

MAX_PLACES = 2_000
"""Memories that one read of places gives at most: a position holds one, or a long message's parts."""
SHOWN_FIELDS = (
    "thread", "scope", "position", "ordinal", "parts", "author", "role", "occurred_at", "chars", "asks", "kind",
    "importance", "confidence", "content", "type", "turn_id", "recorded_at", "tags", "source",
    "decay", "content_revised", "valid_from", "valid_to", "invalidated_at", "entities", "summary",
)  # fmt: skip
"""What an answer shows of a memory, and what ranking needs to place it."""
LIST_FIELDS = (
    "thread", "scope", "position", "ordinal", "occurred_at", "recorded_at", "importance", "confidence", "decay",
    "content_revised", "valid_from", "valid_to", "invalidated_at",
)  # fmt: skip
"""What gives a memory its place in a list."""


class AnswerStore(ReadStore):
    """The store as an answer is made from it. Every method raises as those of ``ReadStore`` do."""

    async def hits(
        self, search: Search, dense: Sequence[float] | None, sparse: SparseVector | None, limit: int
    ) -> SearchHits:
        """``search``, with all an answer may show: most hits are shown, and one larger answer is cheaper than two."""
        return await self.search(search, dense, sparse, limit, SHOWN_FIELDS)

    async def around(self, search: Search, places: Sequence[Window]) -> list[Hit]:
        """The memories at these places, as far as the search may see them; hits carry ``SHOWN_FIELDS``."""
        if not places:
            return []
        return await self._scroll(search, filters.windows(places), MAX_PLACES)

    async def within(self, search: Search, first: datetime, last: datetime) -> list[Hit]:
        """The memories that happened within two times, both included, at most ``MAX_PLACES``; ``SHOWN_FIELDS``."""
        return await self._scroll(search, filters.times("occurred_at", gte=first, lte=last), MAX_PLACES)

    async def shown(self, search: Search, ids: Sequence[str]) -> list[Hit]:
        """Those of these memories that the search may see, in no order; hits carry ``SHOWN_FIELDS``."""
        return await self._scroll(search, filters.has_id(ids), len(ids)) if ids else []

    async def mentioning(self, search: Search, entities: Sequence[str], limit: int) -> list[Hit]:
        """Memories that mention one of these entities, by id; hits carry ``SHOWN_FIELDS``."""
        return await self._scroll(search, filters.any_of("entities[].id", entities), limit) if entities else []

    async def highest(self, search: Search, by: Literal["importance", "confidence"], limit: int) -> list[Hit]:
        """The memories of the highest importance or stored confidence, in descending order, those of one value in any.

        Hits carry ``LIST_FIELDS``.
        """
        return await self._ordered(search, by, limit, LIST_FIELDS)

    async def newest(self, search: Search, limit: int) -> list[Hit]:
        """The memories that happened last among those the search may see, latest first; hits carry ``SHOWN_FIELDS``.

        Those of one instant come in any order. A memory without ``occurred_at`` is not among them.
        """
        return await self._ordered(search, "occurred_at", limit, SHOWN_FIELDS)

    async def _ordered(self, search: Search, by: str, limit: int, fields: Sequence[str]) -> list[Hit]:
        body = {
            "query": {"order_by": {"key": by, "direction": "desc"}},
            "filter": filters.all_of(*filters.searched(search)),
            "limit": limit,
            "with_payload": list(fields),
        }
        answer = await self._client.post("listing memories", "/query", body)
        return [Hit(point["id"], 0.0, point["payload"]) for point in answer["points"]]

    async def _scroll(self, search: Search, further: filters.Condition, limit: int) -> list[Hit]:
        body = {
            "filter": filters.all_of(*filters.searched(search), further),
            "limit": limit,
            "with_payload": list(SHOWN_FIELDS),
            "with_vector": False,
        }
        answer = await self._client.post("reading memories", "/scroll", body)
        return [Hit(point["id"], 0.0, point["payload"]) for point in answer["points"]]

    async def count(self, search: Search) -> int:
        """How many memories the search may see."""
        return await points.count(self._client, "counting memories", filters.all_of(*filters.searched(search)))

    async def checkpoints(self, partitions: Iterable[int]) -> dict[int, Checkpoint]:
        """The checkpoints of those of these partitions that have one, by partition; one read."""
        ids = [checkpoint_id(partition) for partition in partitions]
        found = await points.retrieve(self._client, ids, with_payload=True)
        read = map(points.checkpoint_of, found.values())
        return {checkpoint.partition: checkpoint for checkpoint in read}
