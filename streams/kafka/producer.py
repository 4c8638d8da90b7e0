"""The plain producer: idempotent, bounded in time, and routed by our own partitioner."""

import asyncio
from typing import Any

from aiokafka import AIOKafkaProducer, errors

from afterturn.streams.errors import AfterturnError, BrokerUnavailable, RecordTooLarge, Unusable
from afterturn.streams.kafka.connection import client_options, let_start, partition_count, stop_in_time
from afterturn.streams.kafka.quiet import quiet_client_logs
from afterturn.streams.kafka.translate import LOST_SEQUENCE, translated
from afterturn.streams.lifetime import Startable
from afterturn.streams.partitioner import Partitioner, partition_for
from afterturn.streams.records import OutRecord, Position
from afterturn.streams.settings import KafkaSettings

__all__ = (
    "MAX_BATCH_BYTES",
    "MAX_REQUEST_BYTES",
    "Producer",
    "estimated_size",
    "hear_of_failures",
    "partition_of",
    "start_client",
    "stop_producer",
)

MAX_REQUEST_BYTES = 2_359_296 + 65_536
"""The largest record that is sent: a turn's (2.25 MiB) and what a dead letter's headers add."""

MAX_BATCH_BYTES = 262_144
"""Records that wait together go in one request of this size: the client has one request a broker under way."""

# What a batch and a record cost beside key, value and headers, at most (record format 2).
_BATCH_BYTES, _RECORD_BYTES, _HEADER_BYTES = 61, 21, 10


class Producer(Startable):
    """An idempotent producer. Records of one partition keep the order in which they were given.

    It survives the broker: what is sent while the broker is away arrives when it is back, unless `deadline` passes
    first. What failed by deadline may arrive nevertheless, so a command keeps its id when it is sent again.

    `deadline`, `close_timeout`: seconds. `max_request_size`: bytes of one record.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        *,
        partitioner: Partitioner = "murmur2",
        max_request_size: int = MAX_REQUEST_BYTES,
        deadline: float = 30.0,
        close_timeout: float = 5.0,
    ) -> None:
        self._settings = settings
        self._partitioner: Partitioner = partitioner
        self._max_request_size = max_request_size
        self._deadline = deadline
        self._close_timeout = close_timeout
        self._client: Any = None
        self._lost = False
        self._renewal = asyncio.Lock()
        self._order = asyncio.Lock()
        self._sending: set[asyncio.Task[Position]] = set()

    async def start(self) -> None:
        """Connect. It can be called again after it failed.

        Raises:
            BrokerUnavailable: when no broker answers.
            Stop: when the settings are wrong.
        """
        if self._client is None:
            self._client = await self._started()

    async def close(self) -> None:
        """Send what is waiting, within `close_timeout`, and disconnect; what is left fails as unavailable."""
        client, self._client = self._client, None
        self._lost = False
        if client is not None:
            await stop_producer(client, self._close_timeout)
        if self._sending:
            await asyncio.wait(self._sending)

    async def partitions(self, topic: str) -> int:
        """How many partitions a topic has.

        Raises:
            UnknownTopic: when it is not there.
            BrokerUnavailable: when nobody answers.
        """
        client = await self._running()
        async with translated("ask for a topic", self._deadline, topic):
            return await partition_count(client.client, topic)

    async def send(self, record: OutRecord) -> Position:
        """Write one record and wait until every in-sync replica has it.

        Raises:
            RecordTooLarge: when the topic does not take it.
            BrokerUnavailable: when that is not known within the deadline; send it again, with the same ids.
            UnknownTopic: at once, when the topic is not there.
            Unusable: before `start` and after `close`.
        """
        if (size := estimated_size(record)) > self._max_request_size:
            raise RecordTooLarge(record.topic, size, self._max_request_size)
        client = await self._running()
        try:
            async with translated("send", self._deadline, record.topic):
                async with self._order:  # the client keeps the order of those it has taken
                    partition = await partition_of(client, record, self._partitioner)
                    future = await client.send(
                        record.topic, record.value, record.key, partition, headers=list(record.headers)
                    )
                # Shielded: a cancelled wait must not make the client forget its own message.
                metadata = await asyncio.shield(_heard(future))
        except AfterturnError as error:
            if isinstance(error.__cause__, LOST_SEQUENCE):
                await self._renew(client)
            raise
        if metadata.offset < 0:
            raise BrokerUnavailable("send", "the broker has it already and no longer knows where")
        return Position(metadata.partition, metadata.offset)

    def send_nowait(self, record: OutRecord) -> asyncio.Task[Position]:
        """Begin `send` and return at once: await the task for the position or the error. The order is that of calls."""
        task = asyncio.get_running_loop().create_task(self.send(record))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)
        return task

    async def _running(self) -> Any:  # noqa: ANN401 - the library has no types
        if self._lost:
            async with self._renewal:
                if self._client is None:
                    self._client = await self._started()
                self._lost = False
        if self._client is None:
            raise Unusable("The producer")
        return self._client

    async def _started(self) -> Any:  # noqa: ANN401 - the library has no types
        client = AIOKafkaProducer(
            **client_options(self._settings),
            enable_idempotence=True,
            acks="all",
            compression_type="zstd",
            max_batch_size=MAX_BATCH_BYTES,
            max_request_size=self._max_request_size,
        )
        await start_client(client, "start a producer", self._deadline)
        return client

    async def _renew(self, broken: Any) -> None:  # noqa: ANN401 - the library has no types
        """Let go of a client whose sequence of a partition has a hole: the broker would refuse all that follows.

        Whoever sends next makes another.
        """
        if self._client is not broken:
            return
        self._client, self._lost = None, True
        async with self._renewal:
            await stop_producer(broken, self._close_timeout)


def estimated_size(record: OutRecord) -> int:
    """The bytes that a record takes as a batch of its own, at most, before compression."""
    headers = sum(_HEADER_BYTES + len(name.encode()) + len(value) for name, value in record.headers)
    return _BATCH_BYTES + _RECORD_BYTES + len(record.key or b"") + len(record.value or b"") + headers


async def partition_of(client: Any, record: OutRecord, partitioner: Partitioner) -> int:  # noqa: ANN401
    """The partition a record goes to: its own, or its key's.

    Raises:
        UnknownTopic: when there is no such topic.
        ValueError: when it has neither key nor partition, or the topic has no such partition.
    """
    count = await partition_count(client.client, record.topic)
    if record.partition is not None:
        if not 0 <= record.partition < count:
            raise ValueError(f"{record.topic} has {count} partitions, no partition {record.partition}")
        return record.partition
    if record.key is None:
        raise ValueError(f"a record for {record.topic} needs a key or a partition")
    return partition_for(record.key, count, partitioner)


async def start_client(client: Any, operation: str, deadline: float) -> None:  # noqa: ANN401
    """Start a producer's client in bounded time; when that fails it is stopped, and holds nothing any more."""
    quiet_client_logs()
    try:
        async with translated(operation, deadline):
            await let_start(client.start())
    except BaseException:
        await stop_producer(client, 1.0)
        raise


async def stop_producer(client: Any, seconds: float) -> None:  # noqa: ANN401 - the library has no types
    """Stop a producer's client in order, or by force after `seconds`; nothing is left that complains later."""
    await stop_in_time(client.stop(), seconds, lambda: _force_stop(client))
    hear_of_failures(client)


async def _force_stop(client: Any) -> None:  # noqa: ANN401 - the library has no types
    """Let a producer's `stop` come back although the broker is away: by itself it waits for all that is unsent.

    The library has no call for that, hence the private attributes.
    """
    sender = client._sender.sender_task  # noqa: SLF001
    for _ in range(2):  # the first cancels its loop, the second what it waits for then
        if sender is not None and not sender.done():
            sender.cancel()
            await asyncio.wait({sender}, timeout=0.2)
    client._message_accumulator.fail_all(errors.ProducerClosed())  # noqa: SLF001


def hear_of_failures(client: Any) -> None:  # noqa: ANN401 - the library has no types
    """Take note of what failed inside the client: asyncio would log each such future, with all of its trace."""
    batches = client._message_accumulator._batches.values()  # noqa: SLF001
    waiters = [batch._drain_waiter for each in batches for batch in each]  # noqa: SLF001
    waiters.append(client._txn_manager.wait_for_transaction_end())  # noqa: SLF001
    for waiter in waiters:
        if waiter is not None and waiter.done() and not waiter.cancelled():
            waiter.exception()


def _heard(future: asyncio.Future[Any]) -> asyncio.Future[Any]:
    """The future, with its exception taken note of: who waited for it may have given up."""
    future.add_done_callback(lambda done: done.cancelled() or done.exception())
    return future
