"""Points to and from the store's JSON, and the reads both views share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import BadVector, WrongDimension, WrongStore
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.ids import checkpoint_id
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint, point_of

DENSE, SPARSE = "dense", "bm25"
NO_SUCH_POINT = 404
MAX_UPSERT = 512
"""Points of one upsert, the checkpoint included: the collection's strict mode refuses more."""
READ_LIMIT = 10_000
"""Points of one page of a read; below the collection's ``max_query_limit``."""
MAX_IDS = 5_000
"""Ids of one retrieve: some 200 KB of request, an answer of a few MB."""
_LARGEST = 3.4e38  # of a 32-bit float; the sum of a stored vector's magnitudes stays far below


@dataclass(frozen=True, slots=True)
class PointWrite:
    """One point to write. Vectors are sent as they are; without any, the point has none afterwards, whatever it had.

    Attributes:
        id: the point's id, a UUID.
        point: its payload.
        dense: the embedding, or None where there is none.
        sparse: token ids (ascending) and their weights, or None where no word is left.
    """

    id: str
    point: StoredPoint
    dense: list[float] | None = None
    sparse: tuple[list[int], list[float]] | None = None

    @property
    def has_vectors(self) -> bool:
        """Whether a search can find it."""
        return self.dense is not None or self.sparse is not None


def row(write: PointWrite, dimension: int) -> dict[str, Any]:
    """A point as an upsert carries it.

    Raises:
        BadVector, WrongDimension: a vector may not be stored.
    """
    vectors: dict[str, Any] = {}
    if write.dense is not None:
        if len(write.dense) != dimension:
            raise WrongDimension("written to", len(write.dense), dimension)
        vectors[DENSE] = _finite(write.id, DENSE, write.dense)
    if write.sparse is not None and write.sparse[0]:
        vectors[SPARSE] = {"indices": write.sparse[0], "values": _finite(write.id, SPARSE, write.sparse[1])}
    return {"id": write.id, "vector": vectors, "payload": write.point.payload()}


def checkpoint_row(checkpoint: Checkpoint) -> dict[str, Any]:
    """A checkpoint as an upsert carries it."""
    return {"id": checkpoint_id(checkpoint.partition), "vector": {}, "payload": checkpoint.payload()}


def checkpoint_of(payload: dict[str, Any]) -> Checkpoint:
    """A checkpoint from its stored payload; fields a later version added are ignored.

    Raises:
        WrongStore: it is none of ours.
    """
    try:
        return Checkpoint.model_validate(payload, extra="ignore")
    except ValidationError as error:
        raise _foreign("of a checkpoint", from_pydantic(error)) from None


def stored(id_: str, payload: dict[str, Any]) -> StoredPoint:
    """A point from its stored payload; fields a later version added are ignored.

    Raises:
        WrongStore: it is none of ours.
    """
    try:
        return point_of(payload)
    except ContractError as error:
        raise _foreign(id_, error) from None


def memories(found: Iterable[dict[str, Any]]) -> dict[str, Memory]:
    """The memories among the points of an answer, in its order."""
    read = ((point["id"], stored(point["id"], point["payload"])) for point in found)
    return {id_: point for id_, point in read if isinstance(point, Memory)}


async def read_points(client: StoreClient, ids: Iterable[str]) -> dict[str, StoredPoint]:
    """Those of these points that exist, by id; a checkpoint is none that a command can name."""
    found = await retrieve(client, list(dict.fromkeys(ids)), with_payload=True)
    return {id_: stored(id_, payload) for id_, payload in found.items() if payload.get("point") != "checkpoint"}


async def read_checkpoint(client: StoreClient, partition: int) -> Checkpoint | None:
    """The partition's checkpoint, or None."""
    found = await retrieve(client, [checkpoint_id(partition)], with_payload=True)
    return next((checkpoint_of(payload) for payload in found.values()), None)


async def retrieve(client: StoreClient, ids: list[str], *, with_payload: bool | list[str]) -> dict[str, dict[str, Any]]:
    """The payloads of those of these points that exist, by id."""
    found: dict[str, dict[str, Any]] = {}
    for start in range(0, len(ids), MAX_IDS):
        body = {"ids": ids[start : start + MAX_IDS], "with_payload": with_payload, "with_vector": False}
        answer = await client.post("reading points", "", body)
        found.update((point["id"], point["payload"]) for point in answer)
    return found


async def scroll(client: StoreClient, operation: str, chosen: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The payloads of every point that passes, by id; page by page where there are many."""
    found: dict[str, dict[str, Any]] = {}
    async for page in pages(client, operation, chosen, READ_LIMIT):
        found.update((point["id"], point["payload"]) for point in page)
    return found


async def count(client: StoreClient, operation: str, chosen: dict[str, Any]) -> int:
    """How many points pass, exactly."""
    answer = await client.post(operation, "/count", {"filter": chosen, "exact": True})
    return int(answer["count"])


async def pages(
    client: StoreClient, operation: str, chosen: dict[str, Any], limit: int, *, with_payload: bool | list[str] = True
) -> AsyncIterator[list[dict[str, Any]]]:
    """Every point that passes, page by page, at most ``limit`` a page; a page may be empty."""
    body = {"filter": chosen, "limit": limit, "with_payload": with_payload, "with_vector": False}
    while True:
        answer = await client.post(operation, "/scroll", body)
        yield answer["points"]
        if answer["next_page_offset"] is None:
            return
        body["offset"] = answer["next_page_offset"]


def _finite(point: str, name: str, numbers: list[float]) -> list[float]:
    if not sum(map(abs, numbers)) <= _LARGEST:  # not (…): a NaN compares false to everything
        raise BadVector(point, name)
    return numbers


def _foreign(point: str, error: ContractError) -> WrongStore:
    return WrongStore(f"The point {point} is not one that Afterturn wrote, or was changed since: {error}.")
