"""Where the turn log ends, and how far it is recorded: what an answer that must be consistent waits for."""

from __future__ import annotations

import asyncio

from afterturn.schemas.settings import FoldSettings
from afterturn.streams.kafka import Admin, KafkaSettings, LogReader


class TurnLog:
    """Asks Kafka. It connects when it is first asked."""

    def __init__(self, kafka: KafkaSettings, admin: Admin, fold: FoldSettings, *, deadline: float) -> None:
        self._reader = LogReader(kafka, fold.topic, deadline=deadline)
        self._admin = admin
        self._fold = fold
        self._starting = asyncio.Lock()

    async def end(self, partition: int) -> int:
        """The offset after a partition's last record.

        Raises:
            Retry: Kafka does not answer.
        """
        async with self._starting:
            await self._reader.start()
        return (await self._reader.end_offsets([partition]))[partition]

    async def committed(self, partition: int) -> int | None:
        """The offset the recorder goes on with, None where it has committed none.

        Raises:
            Retry: Kafka does not answer.
        """
        async with self._starting:
            await self._admin.start()
        return (await self._admin.committed(self._fold.group, self._fold.topic, [partition]))[partition]

    async def close(self) -> None:
        """Disconnect."""
        await self._reader.close()
