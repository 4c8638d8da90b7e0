"""The three topics: what they are called, how they should look, and making or checking them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal, Protocol

from afterturn.streams.kafka import TopicInfo

__all__ = (
    "Difference",
    "TopicAdmin",
    "TopicNames",
    "TopicPlan",
    "TopicShape",
    "clear_after",
    "create_or_check",
    "differences",
    "plans",
)

TURN_BYTES = 2_359_296
"""2.25 MiB: a turn of 2 MB and its headers."""
DEAD_LETTER_BYTES = TURN_BYTES + 65_536
"""A dead letter holds a turn untouched, and headers that say why."""
EVENT_BYTES = 1_048_576
"""A memory event holds counts and names; 1 MiB is Kafka's usual bound."""

_DAY_MS = 86_400_000
_CHECKED_MS = 360_000
"""A broker looks every 5 minutes for what has expired, and deletes its files a minute later (its defaults)."""

# What each setting is judged by: the value itself, at least that much, or the operator's own choice.
_EXACT = ("message.timestamp.type", "cleanup.policy", "unclean.leader.election.enable")
_AT_LEAST = ("max.message.bytes",)
_CHOICE = ("min.insync.replicas", "retention.ms", "retention.bytes")


@dataclass(frozen=True)
class TopicNames:
    """The topics' names below a prefix."""

    prefix: str = "afterturn"

    @property
    def turns(self) -> str:
        """The turn log: commands."""
        return f"{self.prefix}.turns"

    @property
    def memory_events(self) -> str:
        """Outcomes of commands, and recalls."""
        return f"{self.prefix}.memory-events"

    @property
    def dead_letter(self) -> str:
        """Records that can never succeed."""
        return f"{self.prefix}.dead-letter"


@dataclass(frozen=True)
class TopicShape:
    """How topics are made. `retention_days` of the turn log says when an erased tenant's turns are gone from Kafka."""

    partitions: int = 12
    replication: int = 3
    retention_days: float = 30.0
    events_retention_days: float = 7.0


@dataclass(frozen=True)
class TopicPlan:
    """What a topic should look like."""

    name: str
    partitions: int
    replication: int
    config: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """Where a topic is not as planned; `found` is None where it (or the setting) is missing.

    `severity` is `wrong` where records would be lost, cut or ordered by a publisher's clock, and `note` where it is
    the operator's choice.
    """

    topic: str
    setting: str
    wanted: str
    found: str | None
    severity: Literal["wrong", "note"]

    def __str__(self) -> str:
        found = "missing" if self.found is None else self.found
        return f"{self.topic}: {self.setting} is {found}, should be {self.wanted}"


class TopicAdmin(Protocol):
    """What is needed of an admin client here."""

    async def topic(self, name: str) -> TopicInfo | None:
        """A topic with its configuration, None where it does not exist."""
        ...

    async def create(self, topic: TopicInfo) -> bool:
        """Create a topic; False when it exists already."""
        ...


def plans(names: TopicNames, shape: TopicShape) -> tuple[TopicPlan, TopicPlan, TopicPlan]:
    """The three topics as they should be: turns, memory events, dead letters."""
    return (
        _plan(names.turns, shape, TURN_BYTES, shape.retention_days),
        _plan(names.memory_events, shape, EVENT_BYTES, shape.events_retention_days),
        _plan(names.dead_letter, shape, DEAD_LETTER_BYTES, shape.retention_days),
    )


def differences(plan: TopicPlan, found: TopicInfo | None) -> tuple[Difference, ...]:
    """Where a topic differs from its plan. More replicas than planned are no difference."""
    if found is None:
        return (Difference(plan.name, "topic", f"{plan.partitions} partitions", None, "wrong"),)
    listed: list[Difference] = []
    if found.partitions != plan.partitions:
        listed.append(Difference(plan.name, "partitions", str(plan.partitions), str(found.partitions), "wrong"))
    if found.replication < plan.replication:
        listed.append(Difference(plan.name, "replication", str(plan.replication), str(found.replication), "note"))
    for setting, wanted in plan.config.items():
        value = found.config.get(setting)
        if not _fits(setting, wanted, value):
            severity: Literal["wrong", "note"] = "note" if setting in _CHOICE else "wrong"
            listed.append(Difference(plan.name, setting, wanted, value, severity))
    return tuple(listed)


def clear_after(found: Sequence[TopicInfo]) -> timedelta | None:
    """How long after a record was written nothing of it is left in these topics; None where one keeps it for ever.

    Kafka deletes whole segments, each once its last record is older than the retention.
    """
    longest = 0
    for topic in found:
        retention = int(topic.config.get("retention.ms", "-1"))
        if retention < 0:
            return None
        longest = max(longest, retention + int(topic.config.get("segment.ms", 7 * _DAY_MS)) + _CHECKED_MS)
    return timedelta(milliseconds=longest)


async def create_or_check(admin: TopicAdmin, wanted: Sequence[TopicPlan], *, create: bool = True) -> list[Difference]:
    """Create what is missing (with `create`), then compare every topic with its plan.

    Nothing that exists is changed: changing partitions breaks the tenants' order, and Kafka replaces a topic's whole
    configuration at once.

    Raises:
        AfterturnError: of the admin client.
    """
    listed: list[Difference] = []
    for plan in wanted:
        found = await admin.topic(plan.name)
        if found is None and create:
            await admin.create(TopicInfo(plan.name, plan.partitions, plan.replication, plan.config))
            found = await admin.topic(plan.name)
        listed.extend(differences(plan, found))
    return listed


def _plan(name: str, shape: TopicShape, max_bytes: int, retention_days: float) -> TopicPlan:
    config = {
        "cleanup.policy": "delete",
        "max.message.bytes": str(max_bytes),
        "message.timestamp.type": "LogAppendTime",
        "min.insync.replicas": str(min(2, shape.replication)),
        "retention.ms": str(int(retention_days * _DAY_MS)),
        "unclean.leader.election.enable": "false",
    }
    return TopicPlan(name, shape.partitions, shape.replication, config)


def _fits(setting: str, wanted: str, value: str | None) -> bool:
    if value is None:
        return False
    if setting in _AT_LEAST:
        return int(value) >= int(wanted)
    return value.lower() == wanted.lower() if setting in _EXACT else value == wanted
