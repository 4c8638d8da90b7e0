"""What an opening lane asks of the log and of its group: offsets, and single records."""

from __future__ import annotations

import asyncio

from afterturn.streams.dead_letters import Letter, read
from afterturn.streams.kafka import GroupConsumer, KafkaSettings, LogReader
from afterturn.streams.records import Record

_CLOCKS_APART_MS = 86_400_000
"""How far the clocks of two brokers may be apart: a dead letter is written after its record."""


class LogView:
    """The group's offsets, the log beside the group's own reading of it, and its dead letters. Lanes take turns."""

    def __init__(self, kafka: KafkaSettings, consumer: GroupConsumer, dead_letters: str | None = None) -> None:
        self._consumer = consumer
        self._reader = LogReader(kafka, consumer.topic, max_records=1)
        self._letters = None if dead_letters is None else LogReader(kafka, dead_letters)
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
            return await self._reader.record_at(partition, offset)

    async def buried(self, partition: int, offsets: range, since_ms: int | None) -> frozenset[int]:
        """Those of these offsets whose records are dead letters; ``since_ms``: none of them is older."""
        if self._letters is None:
            return frozenset()
        async with self._turn:
            await self._letters.start()
            end = (await self._letters.end_offsets([partition]))[partition]
            begin = (await self._letters.beginning_offsets([partition]))[partition]
            if since_ms is not None:
                at = await self._letters.offsets_for_times({partition: max(0, since_ms - _CLOCKS_APART_MS)})
                begin = end if at[partition] is None else max(begin, at[partition] or 0)
            await self._letters.assign({partition: begin})
            found: set[int] = set()
            while await self._letters.position(partition) < end:
                for record in (await self._letters.getmany(timeout=0.25)).get(partition, []):
                    letter = read(record)
                    stood = letter.stood if isinstance(letter, Letter) else None
                    if stood is not None and (stood.topic, stood.partition) == (self._consumer.topic, partition):
                        found.add(stood.offset)
        return frozenset(found.intersection(offsets))

    async def close(self) -> None:
        """Disconnect from the log."""
        await self._reader.close()
        if self._letters is not None:
            await self._letters.close()
