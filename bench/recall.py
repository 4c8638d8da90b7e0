"""Recall's latency over a raw two-arm query on the same store, and its growth with the number of tenants."""

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
Say = Callable[[str], None]


async def against_raw(kafka: KafkaBroker, store: StoreProcess, folder: Path, size: int, say: Say) -> list[Figure]:
    """p50 of recall over HTTP, and of the raw query through Qdrant's own client, asked in turn."""
    service, embedder = await _prepare(kafka, store, "recall1")
    say(f"storing {size} memories of one tenant")
    await _fill(service, store, embedder, size, 1)
    recall = RecallProcess(folder, service_environment(kafka.bootstrap, store.url, "recall1"))
    recall.start()
    ours: list[float] = []
    raw: list[float] = []
    try:
        async with connect(store.url) as connection:
            with httpx.Client(base_url=recall.url, timeout=30) as client:
                for question in _questions(220):
                    ours.append(_ask(client, "tenant-0", question))
                    raw.append(await _raw(connection, embedder, "tenant-0", question))
    finally:
        recall.child.stop()
        await embedder.close()
    ours_p50, raw_p50 = statistics.median(ours[20:]), statistics.median(raw[20:])
    return [
        Figure(f"recall p50, {size} memories", ours_p50 * 1_000, "ms", "over HTTP, as its caller sees it"),
        Figure(f"recall p95, {size} memories", _p95(ours[20:]) * 1_000, "ms"),
        Figure(
            "raw two-arm query p50", raw_p50 * 1_000, "ms", "qdrant-client, 2 x 100 hits, live memories of the tenant"
        ),
        Figure("recall / raw, p50", ours_p50 / raw_p50, "", at_most=1.5),
    ]


async def growth(
    kafka: KafkaBroker, store: StoreProcess, folder: Path, tenants: int, size: int, say: Say
) -> list[Figure]:
    """p50 of the same tenant's questions with one tenant in the store, and with many of the same size."""
    service, embedder = await _prepare(kafka, store, "recall2")
    environment = service_environment(kafka.bootstrap, store.url, "recall2")
    await _fill(service, store, embedder, size, 1)
    alone = _timed(RecallProcess(folder, environment))
    say(f"storing {size} memories of each of {tenants} tenants")
    await _fill(service, store, embedder, size * (tenants - 1), tenants - 1, first=1)
    among = _timed(RecallProcess(folder, environment))
    await embedder.close()
    return [
        Figure(f"recall p50, 1 tenant of {size}", alone * 1_000, "ms"),
        Figure(f"recall p50, {tenants} tenants of {size}", among * 1_000, "ms"),
        Figure(f"growth from 1 to {tenants} tenants", among / alone, "", at_most=1.2),
    ]


def _timed(recall: RecallProcess) -> float:
    recall.start()
    try:
        with httpx.Client(base_url=recall.url, timeout=30) as client:
            return statistics.median([_ask(client, "tenant-0", question) for question in _questions(220)][20:])
    finally:
        recall.child.stop()


async def _prepare(kafka: KafkaBroker, store: StoreProcess, prefix: str) -> tuple[ServiceSettings, Embedder]:
    service = service_settings(service_environment(kafka.bootstrap, store.url, prefix))
    await prepare(service, KafkaSettings(bootstrap_servers=kafka.bootstrap), StoreSettings(url=store.url))
    return service, await open_embedder(service.embedder)


async def _fill(
    service: ServiceSettings, store: StoreProcess, embedder: Embedder, count: int, tenants: int, *, first: int = 0
) -> None:
    fold = service.fold(embedder)
    async with opened(StoreSettings(url=store.url)) as client:
        memories = WriteStore(client, dimension=fold.dimension, epoch=0)
        await store_all(memories, embedder, list(turns(count, tenants, first=first)), fold)


def _questions(count: int) -> list[str]:
    rng = random.Random(7)
    return [f"What about the {text(rng, 40)}?" for _ in range(count)]


def _ask(client: httpx.Client, tenant: str, question: str) -> float:
    body = orjson.dumps({"text": question})
    began = time.perf_counter()
    answer = client.post("/v1/recall", headers={"Afterturn-Tenant": tenant}, content=body)
    spent = time.perf_counter() - began
    assert answer.is_success, answer.text
    assert answer.json()["memories"]
    return spent


async def _raw(connection: AsyncQdrantClient, embedder: Embedder, tenant: str, question: str) -> float:
    dense = await embedder.embed_query(question)
    words = lexical.query(question)
    seen = {"tenant": tenant, "point": "memory", "status": "active"}
    tenant_only = models.Filter(must=[match("tenant", tenant)])
    live = models.Filter(must=[match(key, value) for key, value in seen.items()])
    requests = [
        models.QueryRequest(query=dense, using="dense", filter=live, limit=100, with_payload=FIELDS),
        models.QueryRequest(
            query=models.SparseVector(indices=words.indices, values=words.values),
            using="bm25",
            filter=live,
            limit=100,
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
