"""Reading a topic as a member of a group."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass

from aiokafka import TopicPartition
from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from afterturn.streams.errors import AfterturnError
from afterturn.streams.kafka.reading import TopicReader
from afterturn.streams.kafka.translate import translated
from afterturn.streams.records import Record
from afterturn.streams.settings import KafkaSettings

__all__ = ("GroupConsumer", "GroupTiming", "OnPartitions")

_JOIN_GRACE = 5.0
OnPartitions = Callable[[frozenset[int]], Awaitable[None]]


@dataclass(frozen=True)
class GroupTiming:
    """When a group gives a member up; all in seconds.

    `session`: without a heartbeat. `heartbeat`: between heartbeats, and so how fast a rebalance is noticed.
    `rebalance`: for closing lanes before a rejoin. `poll`: between two `getmany`.
    """

    session: float = 10.0
    heartbeat: float = 0.5
    rebalance: float = 30.0
    poll: float = 300.0


class GroupConsumer(TopicReader):
    """A member of a group on one topic.

    Every partition it is given is **paused**, and has a placeholder as its position: `seek`, then `resume`. So a
    partition without a committed offset raises nothing, and nothing is read before its lane has opened.

    `on_assigned` gets all partitions that are ours after a rebalance, `on_revoked` all that were before it: the
    protocol is eager, so everything is revoked first. While `on_revoked` runs the partitions are still ours
    (for `timing.rebalance` seconds). An error of either is raised by the next `getmany`.

    With an `instance_id` (static membership) a restart within `timing.session` seconds moves no partitions.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        topic: str,
        group: str,
        *,
        on_assigned: OnPartitions,
        on_revoked: OnPartitions,
        timing: GroupTiming = GroupTiming(),
        instance_id: str | None = None,
    ) -> None:
        super().__init__(settings, topic, deadline=15.0, max_records=None)
        self.group = group
        self._timing = timing
        self._instance_id = instance_id
        self._listener = _Listener(self, on_assigned, on_revoked)

    async def start(self) -> None:
        """Connect, check that the topic is there, and join the group; partitions come by `on_assigned`.

        Raises:
            BrokerUnavailable: when no broker answers within the deadline.
            UnknownTopic: when the topic is not there.
        """
        if self._client is not None:
            return
        self._client = await self._connect(
            # A group that waits for a member that died answers a join only once it has given that one up.
            request_timeout_ms=int((max(self._timing.session, self._timing.rebalance) + _JOIN_GRACE) * 1000),
            group_id=self.group,
            group_instance_id=self._instance_id,
            session_timeout_ms=int(self._timing.session * 1000),
            heartbeat_interval_ms=int(self._timing.heartbeat * 1000),
            rebalance_timeout_ms=int(self._timing.rebalance * 1000),
            max_poll_interval_ms=int(self._timing.poll * 1000),
            partition_assignment_strategy=(RangePartitionAssignor,),
        )
        self._client.subscribe([self.topic], listener=self._listener)

    async def getmany(self, timeout: float = 0.0, max_records: int | None = None) -> dict[int, list[Record]]:
        """The next records by partition, of those that are not paused; empty after `timeout` seconds without any.

        Call it again soon, also with everything paused: a group gives up members that do not poll.

        While the broker is away it is empty, mostly: a group's coordinator may say it by an error, too.

        Raises:
            BrokerUnavailable: poll again; nothing was skipped.
            LogCut: when the log no longer holds a position.
            NotAuthorised: when the credentials do not allow reading.
            AfterturnError: what a callback raised since the last call.
        """
        self._listener.raise_what_failed()
        if self._running()._subscription.reassignment_in_progress:  # noqa: SLF001 - the library waits, however long
            await asyncio.sleep(timeout)
            return {}
        found = await super().getmany(timeout, max_records)
        self._listener.raise_what_failed()
        return found

    async def committed(self, partition: int) -> int | None:
        """The group's committed next offset, asked anew; None where there is none.

        Raises:
            BrokerUnavailable: when the coordinator does not answer within the deadline.
        """
        client = self._running()
        async with translated("ask for a committed offset", self._deadline, self.topic):
            offset: int | None = await client.committed(TopicPartition(self.topic, partition))
        return offset

    async def commit(self, offsets: Mapping[int, int]) -> None:
        """Commit next offsets by partition, outside of any transaction.

        Raises:
            BrokerUnavailable: when that is not known in time, or the partition is no longer ours.
        """
        client = self._running()
        async with translated("commit offsets", self._deadline, self.topic):
            await client.commit({TopicPartition(self.topic, each): offset for each, offset in offsets.items()})


class _Listener:
    """Calls back at a rebalance; keeps what failed, since the library would only log it."""

    def __init__(self, consumer: GroupConsumer, on_assigned: OnPartitions, on_revoked: OnPartitions) -> None:
        self._consumer = consumer
        self._on_assigned = on_assigned
        self._on_revoked = on_revoked
        self._failed: Exception | None = None

    def raise_what_failed(self) -> None:
        """Raise the first error of a callback, once."""
        failed, self._failed = self._failed, None
        if failed is not None:
            raise failed

    async def on_partitions_assigned(self, assigned: Collection[TopicPartition]) -> None:
        """Pause what is new before anything can be fetched of it, and tell."""
        partitions = frozenset(tp.partition for tp in assigned)
        self._consumer.pause(partitions)
        for partition in partitions:
            self._consumer.seek(partition, 0)
        await self._tell(self._on_assigned, partitions)

    async def on_partitions_revoked(self, revoked: Collection[TopicPartition]) -> None:
        """Tell, and wait until it is done: the group rejoins afterwards."""
        await self._tell(self._on_revoked, frozenset(tp.partition for tp in revoked))

    async def _tell(self, callback: OnPartitions, partitions: frozenset[int]) -> None:
        try:
            await callback(partitions)
        except AfterturnError as error:
            self._failed = self._failed or error
        except Exception as error:  # a mistake: the library logs it and goes on, the next poll must not
            self._failed = self._failed or error
            raise


ConsumerRebalanceListener.register(_Listener)  # its own methods are declared as plain functions
