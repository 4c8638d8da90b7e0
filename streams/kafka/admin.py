"""Topics, their configuration and groups' offsets: what is asked of a cluster, not of a log."""

import asyncio
from collections.abc import Collection, Mapping
from typing import Any

from aiokafka import TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import CoordinatorLoadInProgressError, CoordinatorNotAvailableError, NotCoordinatorError

from afterturn.streams.errors import UnknownTopic, Unusable
from afterturn.streams.kafka.connection import client_options, let_start
from afterturn.streams.kafka.translate import code_error, translated
from afterturn.streams.kafka.values import TopicInfo
from afterturn.streams.lifetime import Startable
from afterturn.streams.settings import KafkaSettings

__all__ = ("Admin",)

_EXISTS = 36
_NO_COORDINATOR = (14, 15, 16)
_NO_GROUP = 69


class Admin(Startable):
    """Asks and changes what a cluster holds. Answers carry error codes; they are raised here, typed.

    `deadline`: seconds for one call.
    """

    def __init__(self, settings: KafkaSettings, *, deadline: float = 15.0) -> None:
        self._settings = settings
        self._deadline = deadline
        self._client: Any = None

    async def start(self) -> None:
        """Connect. It can be called again after it failed.

        Raises:
            BrokerUnavailable: when no broker answers.
        """
        if self._client is not None:
            return
        client = AIOKafkaAdminClient(**client_options(self._settings))
        try:
            async with translated("start an admin client", self._deadline):
                await let_start(client.start())
        except BaseException:
            await client.close()
            raise
        self._client = client

    async def close(self) -> None:
        """Disconnect."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def topics(self, names: Collection[str]) -> dict[str, TopicInfo]:
        """Those of the named topics that exist, without their configuration. Asking creates none.

        Raises:
            BrokerUnavailable: when nobody answers.
        """
        client = self._running()
        async with translated("describe topics", self._deadline):
            # All of them: asked for by name, a broker that creates topics by itself would create them.
            found = await client.describe_topics()
        return {each["topic"]: _topic(each) for each in found if each["topic"] in names and each["error_code"] == 0}

    async def topic(self, name: str) -> TopicInfo | None:
        """A topic with its configuration, None where it does not exist."""
        found = (await self.topics([name])).get(name)
        if found is None:
            return None
        try:
            config = await self.config(name)
        except UnknownTopic:  # gone, or not known to that broker yet
            return None
        return TopicInfo(name, found.partitions, found.replication, config)

    async def config(self, topic: str) -> dict[str, str]:
        """A topic's configuration as it holds, defaults included.

        Raises:
            UnknownTopic: when it does not exist.
        """
        client = self._running()
        async with translated("describe a topic's configuration", self._deadline, topic):
            answers = await client.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
        config: dict[str, str] = {}
        for code, _, _, _, entries in (resource for answer in answers for resource in answer.resources):
            if (error := code_error(code, "describe a topic's configuration", topic)) is not None:
                raise error
            config |= {entry[0]: entry[1] for entry in entries if entry[1] is not None}
        return config

    async def create(self, topic: TopicInfo) -> bool:
        """Create a topic and wait until it can be used; False when it exists already (nothing is changed then).

        Raises:
            BrokerRefused: when the cluster cannot have it so (its replication, say).
            NotAuthorised: when the credentials do not allow it.
        """
        client = self._running()
        new = NewTopic(topic.name, topic.partitions, topic.replication, topic_configs=dict(topic.config))
        async with translated("create a topic", self._deadline, topic.name):
            answer = await client.create_topics([new], timeout_ms=int(self._deadline * 1000))
        for name, code, *_ in answer.topic_errors:
            if code == _EXISTS:
                return False
            if (error := code_error(code, f"create the topic {name}", name)) is not None:
                raise error
        async with translated("wait for a new topic", self._deadline, topic.name):
            await self._appeared(topic.name)
        return True

    async def committed(self, group: str, topic: str, partitions: Collection[int]) -> dict[int, int | None]:
        """A group's committed next offsets by partition, None where there is none.

        Raises:
            BrokerUnavailable: when the coordinator does not answer within the deadline.
        """
        client = self._running()
        asked = [TopicPartition(topic, partition) for partition in partitions]
        async with translated("ask for committed offsets", self._deadline, topic):
            # A cluster's first group, and a broker that comes back, take a while to have a coordinator.
            while (found := await _group_offsets(client, group, asked)) is None:  # noqa: ASYNC110 - Kafka tells nobody
                await asyncio.sleep(0.1)
        return {tp.partition: None if found[tp].offset < 0 else found[tp].offset for tp in asked}

    async def members(self, group: str) -> int:
        """How many members a group has now; none where there is no such group.

        Raises:
            BrokerUnavailable: when the coordinator does not answer within the deadline.
        """
        client = self._running()
        async with translated("describe a group", self._deadline):
            while (found := await _group_members(client, group)) is None:  # noqa: ASYNC110 - Kafka tells nobody
                await asyncio.sleep(0.1)
        return found

    async def brokers(self) -> int:
        """How many brokers the cluster has now."""
        client = self._running()
        async with translated("describe the cluster", self._deadline):
            found = await client.describe_cluster()
        return len(found["brokers"])

    async def _appeared(self, name: str) -> None:
        """Wait until the brokers that are asked know a new topic: the answer to its creation comes before that."""
        while await self.topic(name) is None:  # noqa: ASYNC110 - Kafka tells nobody
            await asyncio.sleep(0.05)

    def _running(self) -> Any:  # noqa: ANN401 - the library has no types
        if self._client is None:
            raise Unusable("The admin client")
        return self._client


async def _group_members(client: Any, group: str) -> int | None:  # noqa: ANN401 - the library has no types
    """How many members a group has, None when its coordinator is not there yet."""
    try:
        answers = await client.describe_consumer_groups([group])
    except (CoordinatorNotAvailableError, NotCoordinatorError, CoordinatorLoadInProgressError):
        return None
    count = 0
    for code, _, _, _, _, members, *_ in (each for answer in answers for each in answer.groups):
        if code in _NO_COORDINATOR:
            return None
        if code != _NO_GROUP and (error := code_error(code, "describe a group", group)) is not None:
            raise error
        count += len(members)
    return count


async def _group_offsets(
    client: Any,  # noqa: ANN401 - the library has no types
    group: str,
    asked: Collection[TopicPartition],
) -> Mapping[TopicPartition, Any] | None:
    """A group's offsets, None when its coordinator is not there yet."""
    try:
        found: Mapping[TopicPartition, Any] = await client.list_consumer_group_offsets(group, partitions=list(asked))
    except (CoordinatorNotAvailableError, NotCoordinatorError, CoordinatorLoadInProgressError):
        return None
    # The client drops the code that says why a partition is missing.
    return found if set(asked) <= set(found) else None


def _topic(found: Mapping[str, Any]) -> TopicInfo:
    partitions = found["partitions"]
    return TopicInfo(found["topic"], len(partitions), min((len(each["replicas"]) for each in partitions), default=0))
