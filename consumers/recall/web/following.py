"""Memory events for those who ask over HTTP: a bounded number of streams, each a reader of its tenant's partition."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.web.slots import Busy
from afterturn.schemas.settings import Partitioner
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber, Received, Since
from afterturn.streams.topics import TopicNames


class Following:
    """Opens streams of events; at most ``most`` at a time.

    Attributes:
        ending: set when the service ends: streams end by themselves then.
    """

    def __init__(
        self, kafka: KafkaSettings, topics: TopicNames, partitioner: Partitioner, metrics: RecallMetrics, *, most: int
    ) -> None:
        self._kafka = kafka
        self._topics = topics
        self._partitioner: Partitioner = partitioner
        self._metrics = metrics
        self._most = most
        self._open = 0
        self.ending = asyncio.Event()

    @asynccontextmanager
    async def opened(
        self, tenant: str, types: frozenset[str] | None, since: Since, seconds: float
    ) -> AsyncIterator[MemoryEventSubscriber]:
        """A stream of a tenant's events, in position.

        Raises:
            Busy: there is no room.
            TimeoutError: the broker did not answer within so many seconds.
        """
        if self._open >= self._most:
            raise Busy("too many event streams are open; try again later")
        self._open += 1
        self._metrics.streams.set(self._open)
        subscriber = MemoryEventSubscriber(
            self._kafka,
            types=types,
            tenants={tenant},
            since=since,
            topics=self._topics,
            partitioner=self._partitioner,
        )
        try:
            async with asyncio.timeout(seconds):
                await subscriber.start()
            yield subscriber
        finally:
            self._open -= 1
            self._metrics.streams.set(self._open)
            await subscriber.close()

    async def each(self, subscriber: MemoryEventSubscriber, quiet: float) -> AsyncGenerator[Received | None]:
        """Events as they come, and None where none came for so many seconds; until the service ends.

        Raises:
            Retry: the broker is away.
        """
        ending = asyncio.ensure_future(self.ending.wait())
        coming: asyncio.Future[Received] = asyncio.ensure_future(anext(subscriber))
        try:
            while not self.ending.is_set():
                waiting: set[asyncio.Future[Any]] = {ending, coming}
                await asyncio.wait(waiting, timeout=quiet, return_when=asyncio.FIRST_COMPLETED)
                if coming.done():
                    yield coming.result()
                    coming = asyncio.ensure_future(anext(subscriber))
                elif not self.ending.is_set():
                    yield None
        finally:
            for task in (ending, coming):
                task.cancel()
            await asyncio.gather(ending, coming, return_exceptions=True)
