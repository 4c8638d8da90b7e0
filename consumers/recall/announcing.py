"""Memory events of recall, sent in the background: an answer never waits for Kafka, and never fails for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.events import MemoryEvent
from afterturn.streams.errors import Recoverable, Retry
from afterturn.streams.kafka import OutRecord, Producer, start_when_available

EVENT_SOURCE = "afterturn/recall"
_AT_ONCE = 500


class EventQueue:
    """Events on their way to Kafka: so many wait at most, what comes beyond that is dropped and counted."""

    def __init__(self, producer: Producer, topic: str, metrics: RecallMetrics, *, entries: int) -> None:
        self._producer = producer
        self._topic = topic
        self._metrics = metrics
        self._waiting: asyncio.Queue[MemoryEvent] = asyncio.Queue(entries)

    def announce(self, event: MemoryEvent) -> None:
        """Take an event and return at once."""
        try:
            self._waiting.put_nowait(event)
        except asyncio.QueueFull:
            self._metrics.event("dropped")
        self._metrics.events_waiting.set(self._waiting.qsize())

    async def run(self, on_wait: Callable[[Retry, float], None]) -> None:
        """Send what comes, until cancelled. A broker that is away is waited for; what it doesn't take then is dropped.

        Raises:
            Stop: the settings are wrong, or the topic is not there.
        """
        await start_when_available(self._connect, on_wait=on_wait)
        while True:
            batch = [await self._waiting.get()]
            while len(batch) < _AT_ONCE and not self._waiting.empty():
                batch.append(self._waiting.get_nowait())
            await asyncio.gather(*map(self._send, batch))
            self._metrics.events_waiting.set(self._waiting.qsize())

    async def flush(self, seconds: float) -> None:
        """Wait so long for what is on its way; the rest is dropped and counted."""
        try:
            async with asyncio.timeout(seconds):
                await self._waiting.join()
        except TimeoutError:
            self._metrics.event("dropped", self._waiting.qsize())

    async def close(self) -> None:
        """Disconnect."""
        await self._producer.close()

    async def _connect(self) -> None:
        await self._producer.start()
        await self._producer.partitions(self._topic)

    async def _send(self, event: MemoryEvent) -> None:
        encoded = encode(event, Attributes(str(uuid4()), EVENT_SOURCE, event.TYPE, datetime.now(UTC)))
        try:
            await self._producer.send(OutRecord(self._topic, encoded.key, encoded.value, encoded.headers))
        except Recoverable:
            self._metrics.event("dropped")
        else:
            self._metrics.event("sent")
        finally:
            self._waiting.task_done()
