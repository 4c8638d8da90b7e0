"""Recall's latency over a raw two-arm query on the same store."""

from __future__ import annotations

import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import orjson
from qdrant_client import AsyncQdrantClient, models
from support.kafka import KafkaBroker
from support.recalls import RecallProcess
from support.recorders import service_environment, service_settings
from support.store import StoreProcess, connect

from afterturn.consumers.preparing import prepare
from afterturn.consumers.recall.answering.engine import SERVED
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams import KafkaSettings
from bench.figures import Figure
from bench.workload import store_all, text, turns

FIELDS = ["content", "author", "occurred_at", "thread", "position", "role", "importance"]
WARM_UP, ASKED = 20, 200
CANDIDATES = 100
"""Hits of an arm in the recipe as it was measured (retrieval.md)."""
Say = Callable[[str], None]


async def against_raw(kafka: KafkaBroker, store: StoreProcess, folder: Path, size: int, say: Say) -> list[Figure]:
    """p50 of recall over HTTP, and of the raw query through Qdrant's own client, asked in turn."""
    service, embedder = await set_up(kafka, store, "recall1")
    say(f"storing {size} memories of one tenant")
    await fill(service, store, embedder, size, 1)
    recall = RecallProcess(folder, service_environment(kafka.bootstrap, store.url, "recall1"))
    recall.start()
    ours: list[float] = []
    raw: list[float] = []
    as_served: list[float] = []
    try:
        async with connect(store.url) as connection:
            with httpx.Client(base_url=recall.url, timeout=30) as client:
                for question in questions(WARM_UP + ASKED):
                    ours.append(ask(client, "tenant-0", question))
                    raw.append(await _raw(connection, embedder, "tenant-0", question, CANDIDATES))
                    as_served.append(await _raw(connection, embedder, "tenant-0", question, SERVED.candidates))
    finally:
        recall.child.stop()
        await embedder.close()
    ours_p50, raw_p50, served_p50 = (statistics.median(each[WARM_UP:]) for each in (ours, raw, as_served))
    return [
        Figure(f"recall p50, {size} memories", ours_p50 * 1_000, "ms", "over HTTP, as its caller sees it"),
        Figure(f"recall p95, {size} memories", _p95(ours[WARM_UP:]) * 1_000, "ms"),
        Figure(
            "raw two-arm query p50", raw_p50 * 1_000, "ms", "qdrant-client, 2 x 100 hits, live memories of the tenant"
        ),
        Figure("recall / raw, p50", ours_p50 / raw_p50, "", at_most=1.5),
        Figure("recall / raw with as few hits as are served, p50", ours_p50 / served_p50, ""),
    ]


async def set_up(kafka: KafkaBroker, store: StoreProcess, prefix: str) -> tuple[ServiceSettings, Embedder]:
    """Topics and collection made, and the embedder opened."""
    service = service_settings(service_environment(kafka.bootstrap, store.url, prefix))
    await prepare(service, KafkaSettings(bootstrap_servers=kafka.bootstrap), StoreSettings(url=store.url))
    return service, await open_embedder(service.embedder)


async def fill(
    service: ServiceSettings, store: StoreProcess, embedder: Embedder, count: int, tenants: int, *, first: int = 0
) -> None:
    """Store ``count`` memories round robin over ``tenants`` tenants, numbered from ``first``."""
    fold = service.fold(embedder)
    async with opened(StoreSettings(url=store.url)) as client:
        memories = WriteStore(client, dimension=fold.dimension, epoch=0)
        await store_all(memories, embedder, list(turns(count, tenants, first=first)), fold)


def questions(count: int) -> list[str]:
    """Questions of the words the memories are made of."""
    rng = random.Random(7)
    return [f"What about the {text(rng, 40)}?" for _ in range(count)]


def ask(client: httpx.Client, tenant: str, question: str) -> float:
    """Seconds to an answer that holds memories."""
    body = orjson.dumps({"text": question})
    began = time.perf_counter()
    answer = client.post("/v1/recall", headers={"Afterturn-Tenant": tenant}, content=body)
    spent = time.perf_counter() - began
    assert answer.is_success, answer.text
    assert answer.json()["memories"]
    return spent


async def _raw(connection: AsyncQdrantClient, embedder: Embedder, tenant: str, question: str, hits: int) -> float:
    dense = await embedder.embed_query(question)
    words = lexical.query(question)
    seen = {"tenant": tenant, "point": "memory", "status": "active"}
    tenant_only = models.Filter(must=[match("tenant", tenant)])
    live = models.Filter(must=[match(key, value) for key, value in seen.items()])
    requests = [
        models.QueryRequest(query=dense, using="dense", filter=live, limit=hits, with_payload=FIELDS),
        models.QueryRequest(
            query=models.SparseVector(indices=words.indices, values=words.values),
            using="bm25",
            filter=live,
            limit=hits,
            with_payload=FIELDS,
            params=models.SearchParams(idf=models.IdfCorpusParams(corpus=tenant_only)),
        ),
    ]
    began = time.perf_counter()
    await connection.query_batch_points("memories", requests)
    return time.perf_counter() - began


def match(key: str, value: str) -> models.FieldCondition:
    """A payload field that equals a value."""
    return models.FieldCondition(key=key, match=models.MatchValue(value=value))


def _p95(values: list[float]) -> float:
    return sorted(values)[int(0.95 * len(values))]
