"""The recorder's view of the store: everything a lane reads and writes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import StoreRefused, WrongStore
from afterturn.consumers.store.points import MAX_UPSERT, PointWrite
from afterturn.consumers.store.select import SelectStore
from afterturn.consumers.store.wire import Still
from afterturn.schemas.ids import checkpoint_id, rev_of
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint

__all__ = ("MAX_UPSERT", "PointWrite", "WriteStore")


class WriteStore:
    """What a lane reads and writes; one object serves every lane of a process.

    Every method raises:
        StoreAway: Qdrant does not answer, not in time, or says it can't now: retry.
        WrongStore: the collection, the credentials or the version are wrong: stop.
        StoreRefused: this call was refused for what it carries (a 4xx about it).
    """

    def __init__(self, client: StoreClient, *, dimension: int, epoch: int) -> None:
        self._client = client
        self._dimension = dimension
        self._epoch = epoch
        self.selections = SelectStore(client)

    async def checkpoint(self, partition: int) -> Checkpoint | None:
        """The partition's checkpoint, or None where nothing was ever written."""
        return await points.read_checkpoint(self._client, partition)

    async def open_checkpoint(self, partition: int) -> Checkpoint:
        """Write ``opens`` + 1 (or the first checkpoint: the epoch's start, opens 1) and return what is read after it.

        The store applies writes one after another, so every write it took before this one is there whole. Whether one
        landed meanwhile is told by a reading from before the call.

        Raises:
            WrongStore: the checkpoint was removed meanwhile.
        """
        before = await self.checkpoint(partition)
        if before is None:
            await self._insert_checkpoint(partition)
        else:
            await self._set(partition, {"opens": before.opens + 1})
        after = await self.checkpoint(partition)
        if after is None:
            raise WrongStore(f"The checkpoint of partition {partition} vanished while it was being opened.")
        return after

    async def count(self, partition: int, opens: int, begun: int) -> None:
        """Keep in the checkpoint how often it was opened, and its next record begun alone, without progress.

        Raises:
            StoreRefused: there is no checkpoint, or the store takes nothing.
        """
        await self._set(partition, {"opens": opens, "begun": begun})

    async def told(self, partition: int, rev: int) -> None:
        """Keep in the checkpoint that the outcomes of everything below a rev are announced."""
        await self._set(partition, {"told": rev})

    async def settle(self, partition: int) -> None:
        """Return once every earlier write has landed whole. Doesn't count as an opening; no checkpoint, no write."""
        try:
            await self._set(partition, {"partition": partition})
        except StoreRefused as refused:
            if refused.status != points.NO_SUCH_POINT:
                raise

    async def mark_spoilt(self, partition: int) -> None:
        """Mark the partition's checkpoint: a copy was put back under a running recorder, no lane may open on it.

        Raises:
            StoreRefused: there is no checkpoint.
        """
        await self._set(partition, {"spoilt": True})

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Those of these points that exist, by id, without vectors; one read for each 5,000 ids."""
        return await points.read_points(self._client, ids)

    async def tails(
        self, wanted: Mapping[str, int], first_rev: int, *, episodes: bool = False, above: int | None = None
    ) -> dict[str, dict[str, Memory]]:
        """For each tenant, its ``wanted`` lowest-ranked memories (or episodes), lowest first; one batched read for all.

        They are the live ones that aren't pinned, and those with rev ≥ ``first_rev`` whatever their state: an
        interrupted write may have left them, and ``plan`` reads them as what they were. ``above``: only those that rank
        higher than this ``evict_key``.
        """
        asked = {tenant: count for tenant, count in wanted.items() if count > 0}
        if not asked:
            return {}
        searches = [
            _tail(filters.tail(tenant, first_rev, episodes=episodes, above=above), count)
            for tenant, count in asked.items()
        ]
        answers = await self._client.post("reading tails", "/query/batch", {"searches": searches})
        return {tenant: points.memories(answer["points"]) for tenant, answer in zip(asked, answers, strict=True)}

    async def derived(self, tenant: str, ids: Iterable[str], first_rev: int) -> dict[str, Memory]:
        """A tenant's live memories made from any of these, by id, and those with rev ≥ ``first_rev`` as they are."""
        chosen = filters.derived(tenant, ids, first_rev)
        payloads = await points.scroll(self._client, "reading what was made from memories", chosen)
        found = ((id_, points.stored(id_, payload)) for id_, payload in payloads.items())
        return {id_: point for id_, point in found if isinstance(point, Memory)}

    async def landing(
        self, partition: int, tenants: Iterable[str], first_rev: int
    ) -> tuple[Checkpoint | None, dict[str, StoredPoint]]:
        """The last read before planning: the checkpoint, and all points of these tenants with rev ≥ ``first_rev``."""
        own = checkpoint_id(partition)
        chosen = filters.landed(own, tenants, first_rev)
        payloads = await points.scroll(self._client, "reading what has landed", chosen)
        found = payloads.pop(own, None)
        checkpoint = None if found is None else points.checkpoint_of(found)
        return checkpoint, {id_: points.stored(id_, payload) for id_, payload in payloads.items()}

    async def write(
        self,
        batch: Sequence[PointWrite],
        *,
        previous: int,
        next_: int,
        checkpoint: Checkpoint | None,
        still_ours: Still = None,
    ) -> None:
        """Write a batch in one conditional upsert, and return once it is applied and durable.

        Missing points are inserted; of those there, a checkpoint changes only from ``previous`` ≤ next < ``next_``,
        any other point only from rev < ``next_``. The reply doesn't tell which did. ``checkpoint`` comes last; None
        where a later chunk of the same command brings it. At most ``MAX_UPSERT`` points with it.
        ``still_ours`` is asked until the last of it has been sent: what a stopped process sends on when it wakes would
        insert anew what was collected since.

        Raises:
            BadVector: a vector isn't finite; nothing was sent.
            WrongDimension: a vector has another size than the collection; nothing was sent.
            StoreAway: also when the store took the write but didn't say it was completed: read again, then decide.
        """
        rows = [points.row(point, self._dimension) for point in batch]
        if checkpoint is not None:
            rows.append(points.checkpoint_row(checkpoint))
        body = {"points": rows, "update_filter": filters.unwritten(previous, next_)}
        await self._client.change("writing a batch", "PUT", "", body, still_ours)

    async def _insert_checkpoint(self, partition: int) -> None:
        first = Checkpoint(partition=partition, next=rev_of(self._epoch, 0), opens=1)
        body = {"points": [points.checkpoint_row(first)], "update_mode": "insert_only"}
        await self._client.change("making a checkpoint", "PUT", "", body)

    async def _set(self, partition: int, fields: dict[str, Any]) -> None:
        body = {"payload": fields, "points": [checkpoint_id(partition)]}
        await self._client.change("changing a checkpoint", "POST", "/payload", body)


def _tail(chosen: dict[str, Any], count: int) -> dict[str, Any]:
    return {
        "query": {"order_by": {"key": "evict_key", "direction": "asc"}},
        "filter": chosen,
        "limit": count,
        "with_payload": True,
    }
