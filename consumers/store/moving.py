"""Moving a collection to another partition count: what the store does of it, each step safe to do again.

What is under way is kept in the collection's metadata, beside its settings: no service starts on it until it is done.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from qdrant_client import models

from afterturn.consumers.store import filters, points, schema
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.doctor import collection_info, target
from afterturn.consumers.store.errors import NoCollection, StoreAway, WrongStore
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings

_PAGE = 5_000
_TENANTS_AT_ONCE = 50


@dataclass(frozen=True, slots=True)
class Underway:
    """A collection's settings, and those it is being moved to; ``begun`` once points may have been changed."""

    settings: FoldSettings
    to: FoldSettings | None = None
    begun: bool = False


class MovingStore:
    """The steps on the store.

    Every method raises:
        StoreAway: Qdrant does not answer, not in time, or says it can't now: retry.
        WrongStore: the collection, the credentials or the version are wrong, or its metadata are not ours: stop.
    """

    def __init__(self, client: StoreClient) -> None:
        self._client = client

    async def underway(self) -> Underway:
        """The collection's settings, and what is under way."""
        metadata = await self._metadata()
        marker = metadata.pop(schema.REPARTITION, None)
        try:
            settings = FoldSettings.model_validate(metadata)
            if not marker:
                return Underway(settings)
            return Underway(settings, FoldSettings.model_validate(marker["to"]), bool(marker["begun"]))
        except (ValidationError, KeyError, TypeError):
            raise WrongStore(f"The metadata of the collection behind {self._client.alias} are not ours.") from None

    async def mark(self, to: FoldSettings, *, begun: bool) -> None:
        """Keep every service from starting until ``finish`` or ``unmark``."""
        await self._set({schema.REPARTITION: {"to": to.model_dump(mode="json"), "begun": begun}})

    async def unmark(self) -> None:
        """Let services start again with the settings of before: nothing was changed."""
        await self._set({schema.REPARTITION: None})

    async def finish(self, to: FoldSettings) -> None:
        """Give the collection its new settings, and let services start with them."""
        await self._set({**to.model_dump(mode="json"), schema.REPARTITION: None})

    async def checkpoints(self, partitions: Iterable[int]) -> dict[int, Checkpoint | None]:
        """The checkpoints of these partitions."""
        return {partition: await points.read_checkpoint(self._client, partition) for partition in partitions}

    async def begin_epoch(self, partitions: int, epoch: int) -> None:
        """Put every checkpoint there is, and those of so many partitions, to the beginning of an epoch.

        A recorder of the log of before that was late finds another epoch than its own, and stops.
        """
        chosen = filters.all_of(filters.match("point", "checkpoint"))
        found = await points.scroll(self._client, "reading checkpoints", chosen)
        known = {points.checkpoint_of(payload).partition for payload in found.values()}
        rows = [
            points.checkpoint_row(Checkpoint(partition=partition, next=rev_of(epoch, 0)))
            for partition in sorted(known | set(range(partitions)))
        ]
        for start in range(0, len(rows), points.MAX_UPSERT):
            await self._client.change(
                "writing checkpoints", "PUT", "", {"points": rows[start : start + points.MAX_UPSERT]}
            )

    async def move_tenants(self, homes: Mapping[str, int]) -> None:
        """Give all points of these tenants their partitions; what has its own already is left alone."""
        operations: list[models.UpdateOperation] = [
            models.SetPayloadOperation(
                set_payload=models.SetPayload(
                    payload={"partition": home}, filter=models.Filter.model_validate(_elsewhere(tenant, home))
                )
            )
            for tenant, home in homes.items()
        ]
        for start in range(0, len(operations), _TENANTS_AT_ONCE):
            async with self._client.call("moving tenants") as api:
                done = await api.batch_update_points(
                    self._client.alias,
                    operations[start : start + _TENANTS_AT_ONCE],
                    wait=True,
                    ordering=models.WriteOrdering.STRONG,
                )
            if any(each.status is not models.UpdateStatus.COMPLETED for each in done):
                raise StoreAway("moving tenants", "not completed")

    async def receipts_tenants(self) -> AsyncIterator[set[str]]:
        """The tenants of all receipts, page by page: one that was never recorded has nothing else."""
        chosen = filters.all_of(filters.match("point", "receipt"))
        async for page in points.pages(self._client, "reading receipts", chosen, _PAGE, with_payload=["tenant"]):
            yield {str(point["payload"]["tenant"]) for point in page}

    async def forget_collections(self) -> None:
        """Delete the receipts of collections: they belong to a partition, and to no tenant."""
        await self._client.change("removing receipts", "POST", "/delete", {"filter": _of_collections()})

    async def _metadata(self) -> dict[str, Any]:
        info = await collection_info(self._client, await self._name())
        return dict(schema.part(info, "config", "metadata"))

    async def _set(self, changes: dict[str, Any]) -> None:
        """Change the metadata, and see that they are as they should be."""
        name = await self._name()
        async with self._client.call("changing the collection's metadata") as api:
            await api.update_collection(name, metadata=changes)
        found = await self._metadata()
        if any((found.get(field) or None) != (value or None) for field, value in changes.items()):
            raise WrongStore(f"The store took a change of the metadata of {name} and does not show it.")

    async def _name(self) -> str:
        name = await target(self._client)
        if name is None:
            raise NoCollection(self._client.alias)
        return name


def _elsewhere(tenant: str, home: int) -> filters.Filter:
    return {**filters.all_of(filters.tenant_is(tenant)), "must_not": [filters.match("partition", home)]}


def _of_collections() -> filters.Filter:
    return filters.all_of(filters.tenant_is(""), filters.match("point", "receipt"))
