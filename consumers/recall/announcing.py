"""Memory events of recall, sent in the background: an answer never waits for Kafka, and never fails for it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from uuid import uuid4

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.events import MemoryEvent
from afterturn.streams.errors import Recoverable, Retry
from afterturn.streams.kafka import OutRecord, Position, Producer, start_when_available

EVENT_SOURCE = "afterturn/recall"
_AT_ONCE, _LINGER_S = 500, 0.5
"""Events are sent by the batch: one by one they would cost the answers after them more than all the ranking."""


class EventQueue:
    """Events on their way to Kafka: so many wait at most, what comes beyond that is dropped and counted."""

    def __init__(self, producer: Producer, topic: str, metrics: RecallMetrics, *, entries: int) -> None:
        self._producer = producer
        self._topic = topic
        self._metrics = metrics
        self._waiting: asyncio.Queue[MemoryEvent] = asyncio.Queue(entries)
        self._sending: asyncio.Task[None] | None = None

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
            await asyncio.sleep(_LINGER_S)
            if events := self._taken(_AT_ONCE):
                self._sending = asyncio.create_task(self._send_all(events))
                await asyncio.shield(self._sending)

    async def close(self, seconds: float) -> None:
        """Send what still waits, within so many seconds, and disconnect; the rest is dropped and counted."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                if self._sending is not None:
                    await self._sending
                await self._send_all(self._taken())
        await self._producer.close()

    async def _connect(self) -> None:
        await self._producer.start()
        await self._producer.partitions(self._topic)

    def _taken(self, most: int | None = None) -> list[MemoryEvent]:
        waiting = self._waiting.qsize()
        return [self._waiting.get_nowait() for _ in range(waiting if most is None else min(most, waiting))]

    async def _send_all(self, events: list[MemoryEvent]) -> None:
        """Send these side by side; each is counted, however this ends."""
        self._metrics.events_waiting.set(self._waiting.qsize())
        sent: list[Position] = []
        try:
            await asyncio.gather(*(self._send(event, sent) for event in events))
        finally:
            self._metrics.event("sent", len(sent))
            self._metrics.event("dropped", len(events) - len(sent))

    async def _send(self, event: MemoryEvent, sent: list[Position]) -> None:
        encoded = encode(event, Attributes(str(uuid4()), EVENT_SOURCE, event.TYPE, datetime.now(UTC)))
        with suppress(Recoverable):  # what was not sent is counted as dropped
            sent.append(await self._producer.send(OutRecord(self._topic, encoded.key, encoded.value, encoded.headers)))
