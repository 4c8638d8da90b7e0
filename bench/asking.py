"""What is asked: the recall service, and the raw query its answers are held against.

**The raw query** is what any recall over this store must do at least: the two arms of the recipe in one request, for
the same tenant's active memories, as many hits an arm as recall asks for, with the payload fields the recipe ranks by
and shows. ``bare`` sends it as JSON over the HTTP client that recall uses, and parses the answer with orjson, as recall
does. ``client`` sends the same through Qdrant's own client, as an agent without Afterturn would. Both are handed the
question's vectors ready made. Recall is asked over HTTP, as its caller asks it: its time holds the embedding, these two
arms, the neighbours of the hits, ranking, the prompt text, and a second way through HTTP and JSON.
"""

from __future__ import annotations

import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import orjson
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.conversions.common_types import QueryResponse
from support.store import connect

from afterturn.consumers.store.answers import SHOWN_FIELDS
from afterturn.consumers.store.wire import Wire
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder, Vector
from afterturn.schemas.query import TENANT_HEADER
from bench.workload import text

WARM_UP = 20
FIELDS: list[str] = list(SHOWN_FIELDS)
Ask = Callable[["Question"], Awaitable[float]]
"""Asks a question; the seconds it took, the parsing of the answer included."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and what the arms search for."""

    text: str
    dense: Vector
    words: lexical.LexicalVector


async def questions(embedder: Embedder, count: int, seed: int = 7) -> list[Question]:
    """Questions of the words the memories are made of."""
    rng = random.Random(seed)
    asked = []
    for _ in range(count):
        said = f"What about the {text(rng, 40)}?"
        dense = await embedder.embed_query(said)
        assert dense is not None
        asked.append(Question(said, dense, lexical.query(said)))
    return asked


class Asker:
    """Opens what asks; closed together."""

    def __init__(self, resources: AsyncExitStack) -> None:
        self._resources = resources

    async def recall(self, url: str, tenant: str) -> Ask:
        """Asks the recall service over HTTP."""
        wire = await self._resources.enter_async_context(Wire(url, {TENANT_HEADER: tenant}))

        async def ask(question: Question) -> float:
            body = orjson.dumps({"text": question.text})
            began = time.perf_counter()
            answer = await wire.send("POST", "/v1/recall", body, again=True)
            found = orjson.loads(answer.content)
            spent = time.perf_counter() - began
            assert answer.status == 200, answer.content
            assert found["memories"]
            assert not found["degraded"]
            return spent

        return ask

    async def bare(self, url: str, tenant: str, hits: int) -> Ask:
        """Sends the raw query as JSON."""
        wire = await self._resources.enter_async_context(Wire(url))
        of_tenant, seen = _conditions(tenant)

        async def ask(question: Question) -> float:
            common = {"filter": {"must": seen}, "limit": hits, "with_payload": FIELDS}
            dense = {**common, "query": {"nearest": question.dense}, "using": "dense"}
            words = {"indices": question.words.indices, "values": question.words.values}
            corpus = {"idf": {"corpus": {"must": of_tenant}}}
            sparse = {**common, "query": {"nearest": words}, "using": "bm25", "params": corpus}
            began = time.perf_counter()
            body = orjson.dumps({"searches": [dense, sparse]})
            answer = await wire.send("POST", "/collections/memories/points/query/batch", body, again=True)
            found = orjson.loads(answer.content)
            spent = time.perf_counter() - began
            assert all(arm["points"] for arm in found["result"])
            return spent

        return ask

    async def client(self, url: str, tenant: str, hits: int) -> Ask:
        """Sends the raw query through Qdrant's own client."""
        connection = await self._resources.enter_async_context(connect(url))

        async def ask(question: Question) -> float:
            began = time.perf_counter()
            found = await _through_client(connection, tenant, question, hits)
            spent = time.perf_counter() - began
            assert all(arm.points for arm in found)
            return spent

        return ask


@asynccontextmanager
async def asking() -> AsyncIterator[Asker]:
    """What opens askers."""
    async with AsyncExitStack() as resources:
        yield Asker(resources)


async def in_turn(asked: Sequence[Question], sides: Mapping[str, Ask]) -> dict[str, list[float]]:
    """Ask every side each question, one after another, so that what slows the machine slows all; warm-up left out."""
    spent: dict[str, list[float]] = {name: [] for name in sides}
    for question in asked:
        for name, ask in sides.items():
            spent[name].append(await ask(question))
    return {name: each[WARM_UP:] for name, each in spent.items()}


def p50(values: Sequence[float]) -> float:
    """The median."""
    return share_below(values, 0.5)


def p95(values: Sequence[float]) -> float:
    """What 95 of 100 stay below."""
    return share_below(values, 0.95)


def share_below(values: Sequence[float], share: float) -> float:
    """What this share of the values stays below."""
    return sorted(values)[int(share * len(values))]


def _conditions(tenant: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    of_tenant = [{"key": "tenant", "match": {"value": tenant}}]
    kind = {"key": "point", "match": {"value": "memory"}}
    status = {"key": "status", "match": {"value": "active"}}
    return of_tenant, [*of_tenant, kind, status]


async def _through_client(
    connection: AsyncQdrantClient, tenant: str, question: Question, hits: int
) -> list[QueryResponse]:
    of_tenant, seen = (models.Filter(must=[_field(each) for each in some]) for some in _conditions(tenant))
    words = models.SparseVector(indices=question.words.indices, values=question.words.values)
    idf = models.SearchParams(idf=models.IdfCorpusParams(corpus=of_tenant))
    dense = models.QueryRequest(query=question.dense, using="dense", filter=seen, limit=hits, with_payload=FIELDS)
    sparse = models.QueryRequest(query=words, using="bm25", filter=seen, limit=hits, with_payload=FIELDS, params=idf)
    return await connection.query_batch_points("memories", [dense, sparse])


def _field(condition: dict[str, Any]) -> models.FieldCondition:
    return models.FieldCondition(key=condition["key"], match=models.MatchValue(**condition["match"]))
