"""The transactional producer: records and offsets become readable together, or not at all."""

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer, TopicPartition, errors

from afterturn.streams.errors import AfterturnError, Fenced, RecordTooLarge, Unusable
from afterturn.streams.kafka.connection import client_options
from afterturn.streams.kafka.producer import (
    MAX_BATCH_BYTES,
    MAX_REQUEST_BYTES,
    estimated_size,
    hear_of_failures,
    partition_of,
    start_client,
    stop_producer,
)
from afterturn.streams.kafka.translate import translate_in_transaction, translated
from afterturn.streams.lifetime import Startable
from afterturn.streams.partitioner import Partitioner
from afterturn.streams.records import OutRecord
from afterturn.streams.settings import KafkaSettings

__all__ = ("TransactionalProducer",)


class TransactionalProducer(Startable):
    """One owner's producer. `start` fences every earlier producer of the same `transactional_id`: the last one wins.

    A zombie that starts anew fences the rightful owner, so check the ownership before making another one.

    Once a commit has failed the object is `usable` no more (but for a record refused before anything was sent):
    close it, make a new one, and read the committed offset again.

    `deadline`: seconds for one start or commit; keep it below `transaction_timeout`, after which the broker aborts a
    transaction and fences its producer.
    """

    def __init__(
        self,
        settings: KafkaSettings,
        transactional_id: str,
        *,
        transaction_timeout: float = 30.0,
        deadline: float = 20.0,
        partitioner: Partitioner = "murmur2",
        max_request_size: int = MAX_REQUEST_BYTES,
    ) -> None:
        self._settings = settings
        self.transactional_id = transactional_id
        self._transaction_timeout = transaction_timeout
        self._deadline = deadline
        self._partitioner: Partitioner = partitioner
        self._max_request_size = max_request_size
        self._client: Any = None
        self._usable = False
        self._step = ""  # how far the open transaction has come; empty when none is open

    @property
    def usable(self) -> bool:
        """Whether `commit` can be called."""
        return self._usable

    async def start(self) -> None:
        """Connect, fence the earlier owner, and end its open transaction. It can be called again after it failed.

        Raises:
            BrokerUnavailable: when no broker answers within the deadline.
            Stop: when the settings are wrong or the credentials not enough.
        """
        if self._client is not None:
            raise Unusable(f"The transactional producer {self.transactional_id}")
        client = AIOKafkaProducer(
            **client_options(self._settings),
            transactional_id=self.transactional_id,
            transaction_timeout_ms=int(self._transaction_timeout * 1000),
            acks="all",
            compression_type="zstd",
            max_batch_size=MAX_BATCH_BYTES,
            max_request_size=self._max_request_size,
        )
        await start_client(client, "start a transactional producer", self._deadline)
        self._client = client
        self._usable = True

    async def commit(self, records: Sequence[OutRecord], offsets: Mapping[tuple[str, int], int], group: str) -> None:
        """Write the records and the group's next offsets, by (topic, partition), in one transaction.

        Every send is awaited before the commit: the client would commit a transaction although a send in it failed.
        With neither records nor offsets nothing is done.

        Raises:
            RecordTooLarge: a record is too large. Nothing was committed; still `usable` when nothing was sent.
            Fenced: another producer took the id over, or the transaction timed out.
            CommitUnknown: the commit was cut off: only the committed offset tells.
            TransactionFailed: the transaction failed before its commit.
            BrokerUnavailable: nobody answered before it began; still `usable`.
            UnknownTopic: before anything was sent.
            Unusable: before `start`, after a failure, after `close`.
        """
        if not self._usable:
            raise Unusable(f"The transactional producer {self.transactional_id}")
        if not records and not offsets:
            return
        partitions = await self._partitions(records)
        self._usable = False
        try:
            async with asyncio.timeout(self._deadline):
                await self._transact(list(zip(records, partitions, strict=True)), offsets, group)
        except (errors.KafkaError, errors.IllegalOperation, AssertionError, TimeoutError) as error:
            failure = translate_in_transaction(error, self.transactional_id, self._step)
            hear_of_failures(self._client)
            await self._abort_after(failure)
            raise failure from error
        self._step = ""
        self._usable = True

    async def close(self, timeout: float = 5.0) -> None:
        """Abort what is open, where that is safe, and disconnect, within about `timeout` seconds."""
        client, self._client = self._client, None
        self._usable = False
        if client is None:
            return
        if self._step not in {"", "commit"}:
            await self._abort(client, timeout)
        await stop_producer(client, timeout)

    async def _partitions(self, records: Sequence[OutRecord]) -> list[int]:
        for record in records:
            if (size := estimated_size(record)) > self._max_request_size:
                raise RecordTooLarge(record.topic, size, self._max_request_size)
        async with translated("ask for topics", self._deadline):
            return [await partition_of(self._client, record, self._partitioner) for record in records]

    async def _transact(
        self, sends: Sequence[tuple[OutRecord, int]], offsets: Mapping[tuple[str, int], int], group: str
    ) -> None:
        self._step = "begin"
        await self._client.begin_transaction()
        self._step = "send"
        by_place: dict[tuple[str, int], list[OutRecord]] = {}
        for record, partition in sends:
            by_place.setdefault((record.topic, partition), []).append(record)
        await _all([self._send_all(records, *place) for place, records in by_place.items()])
        if offsets:
            self._step = "offsets"
            await self._client.send_offsets_to_transaction(_client_offsets(offsets), group)
        self._step = "commit"
        await self._client.commit_transaction()

    async def _send_all(self, records: Sequence[OutRecord], topic: str, partition: int) -> None:
        """Send a partition's records in as few batches as hold them: by itself each costs as much as a batch."""
        left, futures = list(reversed(records)), []
        while left:
            batch = self._client.create_batch()
            while left and _taken(batch, left[-1]):
                left.pop()
            batch.close()
            futures.append(await self._client.send_batch(batch, topic, partition=partition))
        await _all(futures)

    async def _abort_after(self, failure: AfterturnError) -> None:
        """End a failed transaction now, so that read-committed readers do not wait for its timeout.

        Not after its commit was sent (it may be committed), and not after a fencing (it is the other's then).
        """
        if self._step in {"send", "offsets"} and not isinstance(failure, Fenced):
            trouble = await self._abort(self._client, min(5.0, self._deadline))
            if trouble is not None:
                failure.add_note(f"It could not be aborted either ({trouble}): its timeout or the next start ends it.")

    async def _abort(self, client: Any, timeout: float) -> str | None:  # noqa: ANN401 - the library has no types
        """Abort; the error's type where that failed. The next start of the id aborts it then, so none is raised."""
        self._step = ""
        try:
            async with asyncio.timeout(timeout):
                await client.abort_transaction()
        except (errors.KafkaError, errors.IllegalOperation, AssertionError, TimeoutError) as error:
            return type(error).__name__
        return None


async def _all(sending: Sequence[Awaitable[object]]) -> None:
    """Wait until each has its answer, then raise the first error, if any."""
    for result in await asyncio.gather(*sending, return_exceptions=True):
        if isinstance(result, BaseException):
            raise result


def _taken(batch: Any, record: OutRecord) -> bool:  # noqa: ANN401 - the library has no types
    """Add a record to a batch, unless it is full; the first one always fits."""
    headers = list(record.headers)
    return batch.append(timestamp=None, key=record.key, value=record.value, headers=headers) is not None


def _client_offsets(offsets: Mapping[tuple[str, int], int]) -> dict[Any, int]:
    return {TopicPartition(topic, partition): offset for (topic, partition), offset in offsets.items()}
