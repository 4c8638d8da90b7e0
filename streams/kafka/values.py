"""What Kafka says of topics, as values."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

__all__ = ("TopicInfo", "TopicPartition")


class TopicPartition(NamedTuple):
    """A partition of a topic."""

    topic: str
    partition: int


@dataclass(frozen=True)
class TopicInfo:
    """A topic as the broker describes it."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str] = field(default_factory=dict[str, str])
