"""What an opening lane asks of the log and of its group: offsets, and single records."""

from __future__ import annotations

import asyncio

from afterturn.streams.errors import LogCut
from afterturn.streams.kafka import GroupConsumer, KafkaSettings, LogReader
from afterturn.streams.records import Record

_LOOKS = 20
"""Polls for one record: an answer may bring nothing while the broker is busy."""


class LogView:
    """The group's offsets, and the log beside the group's own reading of it. Lanes take turns."""

    def __init__(self, kafka: KafkaSettings, consumer: GroupConsumer) -> None:
        self._consumer = consumer
        self._reader = LogReader(kafka, consumer.topic, max_records=1)
        self._turn = asyncio.Lock()

    async def committed(self, partition: int) -> int | None:
        """The group's committed next offset."""
        return await self._consumer.committed(partition)

    async def beginning_offsets(self, partitions: list[int]) -> dict[int, int]:
        """The first offset the log still holds."""
        return await self._consumer.beginning_offsets(partitions)

    async def end_offsets(self, partitions: list[int]) -> dict[int, int]:
        """The offset after the last readable record."""
        return await self._consumer.end_offsets(partitions)

    async def record_at(self, partition: int, offset: int) -> Record | None:
        """The record at an offset; None where there is none, or it can't be read any more."""
        async with self._turn:
            await self._reader.start()
            await self._reader.assign({partition: offset})
            for _ in range(_LOOKS):
                try:
                    found = (await self._reader.getmany(timeout=0.25)).get(partition, [])
                except LogCut:
                    return None
                if found:
                    return found[0] if found[0].offset == offset else None
                if await self._reader.position(partition) > offset:
                    return None
        return None

    async def close(self) -> None:
        """Disconnect from the log."""
        await self._reader.close()
