"""What every service reads from the environment beside ``KAFKA_…`` and ``QDRANT_…``."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.settings import Bounds, FoldSettings, Partitioner, Recording
from afterturn.streams.topics import TopicNames, TopicShape

Port = Annotated[int, Field(ge=0, le=65_535)]


class ServiceSettings(BaseSettings):
    """Every field is read from ``AFTERTURN_<FIELD>``.

    All but the topics' shape is written into the collection's metadata by ``afterturn init``: a service whose settings
    differ stops.
    """

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_", frozen=True, extra="ignore")

    embedder: str = Field(default="wordllama", description="wordllama, fastembed:<model or folder>, openai:<model>")
    topic_prefix: str = Field(default="afterturn", pattern=r"^[a-zA-Z0-9._-]{1,200}$")
    group: str = Field(default="afterturn-recorder", min_length=1, max_length=200)
    partitions: Annotated[int, Field(ge=1, le=1_024)] = 12
    partitioner: Partitioner = "murmur2"
    epoch: Annotated[int, Field(ge=0, lt=512)] = 0
    max_memories: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    max_chars: Annotated[int, Field(ge=500, le=100_000)] = 4_000
    long: Literal["split", "cut"] = "split"
    replication: Annotated[int, Field(ge=1, le=32)] = 1
    retention_days: Annotated[float, Field(gt=0)] = 30.0

    @property
    def topics(self) -> TopicNames:
        """The names of the topics."""
        return TopicNames(self.topic_prefix)

    @property
    def shape(self) -> TopicShape:
        """How ``afterturn init`` makes the topics."""
        return TopicShape(self.partitions, self.replication, self.retention_days)

    def fold(self, embedder: Embedder) -> FoldSettings:
        """What shapes the fold under these settings."""
        return FoldSettings(
            embedder=embedder.slug,
            dimension=embedder.dimension,
            topic=self.topics.turns,
            partitions=self.partitions,
            group=self.group,
            epoch=self.epoch,
            partitioner=self.partitioner,
            bounds=Bounds(max_memories=self.max_memories),
            recording=Recording(max_chars=self.max_chars, long=self.long),
        )
