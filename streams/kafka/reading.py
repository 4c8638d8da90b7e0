"""Reading a topic by oneself, and what every way to read one has in common."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from sys import intern
from time import monotonic
from typing import Any

from aiokafka import AIOKafkaConsumer, TopicPartition

from afterturn.streams.errors import LogCut, UnknownTopic, Unusable
from afterturn.streams.kafka.connection import client_options, let_start, partition_count, stop_in_time
from afterturn.streams.kafka.quiet import quiet_client_logs
from afterturn.streams.kafka.translate import translated
from afterturn.streams.lifetime import Startable
from afterturn.streams.records import Record
from afterturn.streams.settings import KafkaSettings

__all__ = ("LogReader", "TopicReader")

_FETCH_BYTES = 64 * 1024
"""Read of a partition at once: some 100 turns, 500 that were packed; a larger batch comes alone all the same.

All of it becomes records when it is polled: 4 MiB of each of 12 partitions are some 400 MB of them. And what is left
when a partition is paused the client throws away.
"""
_EMPTY_S = 0.025
_LOOKS = 20
"""Polls for one record: an answer may bring nothing while the broker is busy."""


class TopicReader(Startable):
    """What both have in common: one topic, one client, bounded answers, no position that is not asked for."""

    def __init__(self, settings: KafkaSettings, topic: str, *, deadline: float, max_records: int | None) -> None:
        self._settings = settings
        self.topic = topic
        self._deadline = deadline
        self._max_records = max_records
        self._client: Any = None

    async def start(self) -> None:
        """Connect, and check that the topic is there. It can be called again after it failed.

        Raises:
            BrokerUnavailable: when no broker answers within the deadline.
            UnknownTopic: when the topic is not there.
        """
        raise NotImplementedError

    async def close(self, timeout: float = 5.0) -> None:
        """Disconnect, within about `timeout` seconds; a group is left."""
        client, self._client = self._client, None
        if client is not None:
            await _stop_consumer(client, timeout)

    async def partitions(self) -> int:
        """How many partitions the topic has.

        Raises:
            UnknownTopic: when it is gone.
        """
        client = self._running()
        async with translated("ask for a topic", self._deadline, self.topic):
            return await partition_count(client._client, self.topic)  # noqa: SLF001 - only it asks without creating

    async def getmany(self, timeout: float = 0.0, max_records: int | None = None) -> dict[int, list[Record]]:
        """The next records by partition, of those that are not paused; empty after `timeout` seconds without any.

        Call it again soon, also with everything paused: a group gives up members that do not poll.

        While the broker is away it is empty, mostly: a group's coordinator may say it by an error, too.

        Raises:
            BrokerUnavailable: poll again; nothing was skipped.
            LogCut: when the log no longer holds a position.
            NotAuthorised: when the credentials do not allow reading.
        """
        client = self._running()
        async with translated("read", None, self.topic):
            found = await client.getmany(timeout_ms=int(timeout * 1000), max_records=max_records or self._max_records)
        return {tp.partition: [_record(each) for each in records] for tp, records in found.items() if records}

    def seek(self, partition: int, offset: int) -> bool:
        """Read that partition from `offset` on; what was fetched ahead of it is dropped. False: it is not ours."""
        ours = self._ours([partition])
        for tp in ours:
            self._running().seek(tp, offset)
        return bool(ours)

    def pause(self, partitions: Iterable[int]) -> None:
        """Read nothing of these partitions until they are resumed; those that are not ours (any more) are left out."""
        self._running().pause(*self._ours(partitions))

    def resume(self, partitions: Iterable[int]) -> None:
        """Read these partitions again; those that are not ours (any more) are left out."""
        self._running().resume(*self._ours(partitions))

    def assigned(self) -> frozenset[int]:
        """The partitions that are ours now."""
        return frozenset(tp.partition for tp in self._running().assignment())

    async def position(self, partition: int) -> int:
        """The offset that is read next; what cannot be read (markers, aborted records) is passed over."""
        client = self._running()
        async with translated("ask for a position", self._deadline, self.topic):
            offset: int = await client.position(TopicPartition(self.topic, partition))
        return offset

    def highwater(self, partition: int) -> int | None:
        """The offset after the last record, as the last answer of the broker said; None before the first."""
        ours = self._ours([partition])
        found: int | None = self._running().highwater(ours[0]) if ours else None
        return found

    async def beginning_offsets(self, partitions: Collection[int]) -> dict[int, int]:
        """The offset of the oldest record the log still holds, by partition."""
        client = self._running()
        async with translated("ask for the first offsets", self._deadline, self.topic):
            return _by_partition(await client.beginning_offsets(await self._existing(partitions)))

    async def end_offsets(self, partitions: Collection[int]) -> dict[int, int]:
        """The offset after the last record that can be read (committed), by partition; markers take offsets too."""
        client = self._running()
        async with translated("ask for the last offsets", self._deadline, self.topic):
            return _by_partition(await client.end_offsets(await self._existing(partitions)))

    async def offsets_for_times(self, times: Mapping[int, int]) -> dict[int, int | None]:
        """The first offset at or after a time (milliseconds since 1970), by partition; None where there is none."""
        client = self._running()
        async with translated("ask for offsets by time", self._deadline, self.topic):
            asked = {tp: times[tp.partition] for tp in await self._existing(times)}
            found = await client.offsets_for_times(asked)
        return {tp.partition: None if each is None else each.offset for tp, each in found.items()}

    async def _existing(self, partitions: Collection[int]) -> list[TopicPartition]:
        """The client waits for ever for a partition that does not exist."""
        count = await self.partitions()
        for partition in partitions:
            if not 0 <= partition < count:
                raise UnknownTopic(self.topic, partition)
        return [TopicPartition(self.topic, partition) for partition in partitions]

    def _ours(self, partitions: Iterable[int]) -> list[TopicPartition]:
        assigned = self.assigned()
        return [TopicPartition(self.topic, each) for each in partitions if each in assigned]

    def _running(self) -> Any:  # noqa: ANN401 - the library has no types
        if self._client is None:
            raise Unusable(f"The reader of {self.topic}")
        return self._client

    async def _connect(self, **options: Any) -> Any:  # noqa: ANN401 - the library has no types
        client = AIOKafkaConsumer(
            **client_options(self._settings) | options,
            auto_offset_reset="none",
            enable_auto_commit=False,
            isolation_level="read_committed",
            max_partition_fetch_bytes=_FETCH_BYTES,
            fetch_max_wait_ms=250,
        )
        try:
            async with translated("start a consumer", self._deadline, self.topic):
                await let_start(client.start())
                _be_patient(client._fetcher)  # noqa: SLF001 - what asks for records
                quiet_client_logs()
                await partition_count(client._client, self.topic)  # noqa: SLF001 - only it asks without creating
        except BaseException:
            await _stop_consumer(client, 1.0)
            raise
        return client


class LogReader(TopicReader):
    """Reads partitions of a topic without a group: it commits nothing, and no one is told that it reads.

    `deadline`: seconds for an answer of the broker.
    """

    def __init__(
        self, settings: KafkaSettings, topic: str, *, deadline: float = 15.0, max_records: int | None = None
    ) -> None:
        super().__init__(settings, topic, deadline=deadline, max_records=max_records)

    async def start(self) -> None:
        """Connect, and check that the topic is there. It can be called again after it failed.

        Raises:
            BrokerUnavailable: when no broker answers within the deadline.
            UnknownTopic: when the topic is not there.
        """
        if self._client is None:
            self._client = await self._connect()

    async def record_at(self, partition: int, offset: int) -> Record | None:
        """The record at an offset; None where there is none, or it can't be read any more. It assigns anew.

        Raises:
            BrokerUnavailable: when nobody says where the partition begins or ends.
            UnknownTopic: when there is no such partition.
        """
        await self.assign({partition: offset})
        try:
            for _ in range(_LOOKS):
                if found := (await self.getmany(timeout=0.25)).get(partition, []):
                    return found[0] if found[0].offset == offset else None
                if await self.position(partition) > offset:
                    return None
        except LogCut:
            pass
        return None

    async def assign(self, positions: Mapping[int, int]) -> None:
        """Read these partitions, from these offsets on, and no others.

        Raises:
            UnknownTopic: when a partition is not there.
        """
        tps = await self._existing(positions)
        client = self._running()
        client.assign(tps)
        for tp in tps:
            client.seek(tp, positions[tp.partition])


def _be_patient(fetcher: Any) -> None:  # noqa: ANN401 - the library has no types
    """Ask a broker that answers at once that there is nothing (the embedded one does) 40 times a second, not 800."""
    fetch: Callable[..., Awaitable[bool]] = fetcher._proc_fetch_request  # noqa: SLF001 - the library waits nowhere itself

    async def patient(*request: object) -> bool:
        began = monotonic()
        found = await fetch(*request)
        if not found and (left := _EMPTY_S - (monotonic() - began)) > 0:
            with suppress(asyncio.CancelledError):  # closing cancels a fetch, and counts on an answer all the same
                await asyncio.sleep(left)
        return found

    fetcher._proc_fetch_request = patient  # noqa: SLF001 - the library waits nowhere itself


async def _stop_consumer(client: Any, timeout: float) -> None:  # noqa: ANN401 - the library has no types
    async def force() -> None:
        await client._client.close()  # noqa: SLF001 - what waits for an answer fails then

    await stop_in_time(client.stop(), timeout, force)


def _by_partition(offsets: Mapping[TopicPartition, int]) -> dict[int, int]:
    return {tp.partition: offset for tp, offset in offsets.items()}


def _record(found: Any) -> Record:  # noqa: ANN401 - the library has no types
    return Record(
        topic=found.topic,
        partition=found.partition,
        offset=found.offset,
        timestamp_ms=found.timestamp,
        key=found.key,
        value=found.value,
        # A header may have no value; nothing of ours tells that from an empty one. Names are the same few: kept once.
        headers=tuple((intern(name), value or b"") for name, value in found.headers),
    )
