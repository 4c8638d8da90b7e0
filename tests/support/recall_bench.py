"""Recall without its process: over a store, with the events it announced kept."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from prometheus_client import CollectorRegistry

from afterturn.consumers.recall.answering.engine import Recall, Seams
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.events import MemoryEvent
from afterturn.schemas.query import Answer, Query
from afterturn.schemas.settings import FoldSettings
from support.remembered import Remembering

NOW = datetime(2026, 4, 1, tzinfo=UTC)


@dataclass
class Bench:
    """Recall, what writes memories for it, and what it announced."""

    seams: Seams
    remembering: Remembering
    events: list[MemoryEvent]
    recall: Recall

    def recall_with(self, settings: RecallSettings | None = None, **seams: Any) -> Recall:
        """Recall with other settings, or standing on something else."""
        return Recall(replace(self.seams, **seams), settings or RecallSettings())

    async def ask(self, tenant: str, text: str | None = None, **fields: Any) -> Answer:
        """The answer to a query."""
        return await self.recall.answer(tenant, Query.model_validate({"text": text} | fields), NOW)


@asynccontextmanager
async def bench_on(store: StoreSettings, embedder: Embedder) -> AsyncIterator[Bench]:
    """A bench on a store whose collection is there."""
    async with opened(store) as client:
        fold = fold_of(embedder)
        events: list[MemoryEvent] = []
        answers = AnswerStore(client, dimension=fold.dimension)
        metrics = RecallMetrics(CollectorRegistry())
        seams = Seams(answers, embedder, fold, events.append, lambda _: False, metrics)
        yield Bench(seams, Remembering(client, embedder, fold), events, Recall(seams, RecallSettings()))


def fold_of(embedder: Embedder) -> FoldSettings:
    """The settings of the tests' collections."""
    return FoldSettings(
        embedder=embedder.slug, dimension=embedder.dimension, topic="recall.turns", partitions=3, group="recall"
    )


async def make_collection(settings: StoreSettings) -> None:
    """Make the collection behind an alias."""
    embedder = await open_embedder("wordllama")
    try:
        async with opened(settings) as client:
            assert await create_or_check(client, fold_of(embedder)) == []
    finally:
        await embedder.close()


def texts(answer: Answer) -> list[str]:
    """What the memories of an answer say, in rank order."""
    return [memory.text for memory in answer.memories]
