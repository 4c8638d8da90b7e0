"""Making what the services need, and saying how what is there differs: topics and collection."""

from __future__ import annotations

from dataclasses import dataclass

from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store import collection
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.schema import Difference as CollectionDifference
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams.kafka import Admin, KafkaSettings
from afterturn.streams.topics import Difference as TopicDifference
from afterturn.streams.topics import create_or_check, plans


@dataclass(frozen=True, slots=True)
class Prepared:
    """What is there after preparing, and in what it differs from these settings."""

    topics: tuple[str, ...]
    collection: str
    topic_differences: tuple[TopicDifference, ...]
    collection_differences: tuple[CollectionDifference, ...]

    @property
    def fine(self) -> bool:
        """Whether services can start on it."""
        return not self.collection_differences and all(d.severity == "note" for d in self.topic_differences)


async def prepare(service: ServiceSettings, kafka: KafkaSettings, store: StoreSettings) -> Prepared:
    """Create the topics and the collection where they are missing; nothing that exists is changed.

    Raises:
        Retry: Kafka, Qdrant or the embedder is away.
        Stop: one of them refuses, or the collection holds vectors of another dimension.
    """
    wanted = plans(service.topics, service.shape)
    async with Admin(kafka) as admin:
        topics = await create_or_check(admin, wanted)
    embedder = await open_embedder(service.embedder)
    try:
        async with opened(store) as client:
            found = await collection.create_or_check(client, service.fold(embedder))
            name = await collection.target(client)
    finally:
        await embedder.close()
    return Prepared(tuple(plan.name for plan in wanted), name or "", tuple(topics), tuple(found))
