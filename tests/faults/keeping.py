"""A reader that keeps the whole turn log, also what is cut off it later."""

from __future__ import annotations

import asyncio
from collections import defaultdict

from support.observing import Log

from afterturn.streams import KafkaSettings
from afterturn.streams.kafka import LogReader


class LogKeeper:
    """Reads on when asked; what it has read it keeps."""

    def __init__(self, client: KafkaSettings, topic: str) -> None:
        self._reader = LogReader(client, topic)
        self._started = False
        self._turn = asyncio.Lock()
        self.log: Log = defaultdict(list)

    async def catch_up(self) -> Log:
        """Read to the log's end as it is now; everything read so far."""
        async with self._turn:
            return await self._catch_up()

    async def _catch_up(self) -> Log:
        await self._reader.start()
        partitions = range(await self._reader.partitions())
        if not self._started:
            await self._reader.assign(await self._reader.beginning_offsets(partitions))
            self._started = True
        ends = await self._reader.end_offsets(partitions)
        while any([await self._reader.position(p) < ends[p] for p in partitions]):
            for partition, records in (await self._reader.getmany(timeout=0.2)).items():
                self.log[partition].extend(records)
        return self.log

    async def close(self) -> None:
        """Disconnect."""
        await self._reader.close()
