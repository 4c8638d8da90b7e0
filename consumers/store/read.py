"""Recall's view of the store: two searches in one request, then neighbours and texts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from afterturn.consumers.store import filters, points
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import WrongDimension
from afterturn.consumers.store.search import Search, Window
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint, TenantState
from afterturn.streams.errors import Retry

__all__ = (
    "ANSWER_FIELDS",
    "RANKING_FIELDS",
    "Arm",
    "Hit",
    "ReadStore",
    "Search",
    "SearchHits",
    "SparseVector",
    "Window",
)

RANKING_FIELDS = (
    "thread", "scope", "position", "ordinal", "parts", "author", "role", "occurred_at", "chars", "asks", "kind",
    "importance", "confidence", "summary",
)  # fmt: skip
"""The payload fields of a hit: what ranking needs, and no text."""
ANSWER_FIELDS = (
    "point", "partition", "born", "rev", "tenant", "status", "ordinal", "content", "kind", "type", "collection", "key",
    "author", "role", "thread", "turn_id", "scope", "position", "part", "parts", "occurred_at", "recorded_at",
    "importance", "confidence", "tags", "source", "data", "derived_from", "summary",
)  # fmt: skip
"""The payload fields ``texts`` reads: what an answer shows of a memory, and what every point has."""
Arm = Literal["dense", "lexical"]
SparseVector: TypeAlias = tuple[list[int], list[float]]
"""Token ids, ascending, and their weights."""


class Hit(NamedTuple):
    """A memory found: its id, its score in the arm that found it (0 of a neighbour), and payload fields as stored."""

    id: str
    score: float
    payload: dict[str, Any]


@dataclass(frozen=True, slots=True)
class SearchHits:
    """What the two arms found, best first, and which of them failed (a failed arm's list is empty)."""

    dense: list[Hit] = field(default_factory=list)
    lexical: list[Hit] = field(default_factory=list)
    failed: dict[Arm, Retry] = field(default_factory=dict)


class ReadStore:
    """What recall reads; it never writes.

    Every method raises:
        StoreAway: Qdrant does not answer, not in time, or says it can't now: degrade.
        WrongStore: the collection, the credentials or the version are wrong: stop.
        StoreRefused: this call was refused for what it carries.
    """

    def __init__(self, client: StoreClient, *, dimension: int) -> None:
        self._client = client
        self._dimension = dimension

    async def tenant(self, tenant: str) -> TenantState | None:
        """Where the tenant stands, or None for one nothing was recorded for."""
        found = await points.read_points(self._client, [tenant_id(tenant)])
        return next((point for point in found.values() if isinstance(point, TenantState)), None)

    async def checkpoint(self, partition: int) -> Checkpoint | None:
        """The partition's checkpoint, or None where nothing was ever written."""
        return await points.read_checkpoint(self._client, partition)

    async def receipt(self, id: str) -> StoredPoint | None:  # noqa: A002 - a point's id
        """The point at a receipt's id, or None. It may be another tenant's: compare ``tenant`` before using it."""
        return (await points.read_points(self._client, [id])).get(id)

    async def born_at(self, tenant: str, rev: int) -> int:
        """How many of a tenant's memories and receipts the command at this rev made, as far as they have landed."""
        return await points.count(self._client, "counting a command's points", filters.born_at(tenant, rev))

    async def search(
        self,
        search: Search,
        dense: Sequence[float] | None,
        sparse: SparseVector | None,
        limit: int = 100,
        fields: Sequence[str] = RANKING_FIELDS,
    ) -> SearchHits:
        """Both arms in one request, each filtered inside the search; an arm without a vector is left out.

        Where the request is refused or fails, each arm is tried once alone, so that one that works still answers.
        Lexical weights are those of the tenant's own corpus. Hits carry ``fields``.

        Raises:
            WrongDimension: the question's vector has another size than the collection's.
            StoreAway, StoreRefused: no arm answered.
        """
        if dense is not None and len(dense) != self._dimension:
            raise WrongDimension(self._client.alias, len(dense), self._dimension)
        arms = _arms(search, dense, sparse, limit, fields)
        if not arms:
            return SearchHits()
        try:
            return _hits(dict(zip(arms, await self._batch(list(arms.values())), strict=True)), {})
        except Retry as error:
            if len(arms) == 1:
                raise
            return await self._each_alone(arms, error)

    async def neighbours(self, search: Search, wanted: Sequence[Window], limit: int = 1_000) -> list[Hit]:
        """The memories at these places that the same search may see; hits carry ``RANKING_FIELDS`` and ``content``."""
        if not wanted:
            return []
        chosen = filters.all_of(*filters.searched(search), filters.windows(wanted))
        fields = [*RANKING_FIELDS, "content"]
        body = {"filter": chosen, "limit": limit, "with_payload": fields, "with_vector": False}
        answer = await self._client.post("reading neighbours", "/scroll", body)
        return [Hit(point["id"], 0.0, point["payload"]) for point in answer["points"]]

    async def texts(self, ids: Iterable[str]) -> dict[str, Memory]:
        """What an answer shows of these memories, by id; those removed meanwhile are left out. One read."""
        found = await points.retrieve(self._client, list(ids), with_payload=list(ANSWER_FIELDS))
        read = ((id_, points.stored(id_, payload)) for id_, payload in found.items())
        return {id_: point for id_, point in read if isinstance(point, Memory) and point.content is not None}

    async def _batch(self, searches: list[dict[str, Any]]) -> list[dict[str, Any]]:
        answers: list[dict[str, Any]] = await self._client.post("searching", "/query/batch", {"searches": searches})
        return answers

    async def _each_alone(self, arms: dict[Arm, dict[str, Any]], error: Retry) -> SearchHits:
        results = await asyncio.gather(*(self._alone(body) for body in arms.values()))
        found: dict[Arm, dict[str, Any]] = {}
        failed: dict[Arm, Retry] = {}
        for arm, result in zip(arms, results, strict=True):
            if isinstance(result, Retry):
                failed[arm] = result
            else:
                found[arm] = result
        if not found:
            raise error
        return _hits(found, failed)

    async def _alone(self, body: dict[str, Any]) -> dict[str, Any] | Retry:
        try:
            return (await self._batch([body]))[0]
        except Retry as error:
            return error


def _arms(
    search: Search, dense: Sequence[float] | None, sparse: SparseVector | None, limit: int, fields: Sequence[str]
) -> dict[Arm, dict[str, Any]]:
    common = {"filter": filters.all_of(*filters.searched(search)), "limit": limit, "with_payload": list(fields)}
    arms: dict[Arm, dict[str, Any]] = {}
    if dense is not None:
        arms["dense"] = {**common, "query": {"nearest": dense}, "using": points.DENSE}
    if sparse is not None and sparse[0]:
        corpus = {"idf": {"corpus": filters.all_of(filters.tenant_is(search.tenant))}}
        tokens = {"nearest": {"indices": sparse[0], "values": sparse[1]}}
        arms["lexical"] = {**common, "query": tokens, "using": points.SPARSE, "params": corpus}
    return arms


def _hits(found: dict[Arm, dict[str, Any]], failed: dict[Arm, Retry]) -> SearchHits:
    return SearchHits(_listed(found.get("dense")), _listed(found.get("lexical")), failed)


def _listed(answer: dict[str, Any] | None) -> list[Hit]:
    return [Hit(point["id"], point["score"], point["payload"]) for point in answer["points"]] if answer else []
