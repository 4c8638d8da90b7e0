"""How turns reach the log: over Kafka, or over HTTP by way of the recall service."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.events import MemoryEvent
from afterturn.schemas.token import Token
from afterturn.streams.agent.errors import MemoryRefused
from afterturn.streams.agent.recalling import RecallClient
from afterturn.streams.errors import DeadLetter, Retry
from afterturn.streams.publisher import TurnPublisher, refuse_blank

__all__ = ("HttpRoute", "KafkaRoute", "Route")

_CREDENTIALS = frozenset({401, 403})
"""What is refused for who asks is sent again once that is mended; what is refused for what it says never is."""
_LOG = logging.getLogger("afterturn.agent")


class Route(Protocol):
    """A way to the log."""

    @property
    def failed(self) -> BaseException | None:
        """The error that ended it for good, where there is one."""
        ...

    async def start(self) -> None:
        """Begin to connect; nothing is waited for."""
        ...

    async def close(self) -> None:
        """Disconnect."""
        ...

    async def publish(self, turn: TurnCompleted, seconds: float) -> Token:
        """Put a turn on the log, within so many seconds.

        Raises:
            Retry: it could not be; the same turn may be sent again.
            ContractError, DeadLetter: it never can be.
            Stop: this way leads nowhere.
        """
        ...

    def announce(self, event: MemoryEvent) -> None:
        """Put an event on the stream in the background, if this way can; it may be lost."""
        ...


class KafkaRoute:
    """Straight to the log. It connects in the background: an agent starts without its broker."""

    def __init__(self, publisher: TurnPublisher) -> None:
        self._publisher = publisher
        self._starting: asyncio.Task[None] | None = None

    @property
    def failed(self) -> BaseException | None:
        """See ``Route``."""
        started = self._starting
        return started.exception() if started is not None and started.done() and not started.cancelled() else None

    async def start(self) -> None:
        """Begin to connect."""
        starting = self._publisher.start(on_wait=lambda error, _: _LOG.info("turns wait: %s", error))
        self._starting = asyncio.create_task(starting)
        self._starting.add_done_callback(_say)

    async def close(self) -> None:
        """Disconnect."""
        if self._starting is not None:
            self._starting.cancel()
            await asyncio.wait({self._starting})
        await self._publisher.close()

    async def publish(self, turn: TurnCompleted, seconds: float) -> Token:
        """See ``Route``."""
        assert self._starting is not None, "it was started"
        try:
            async with asyncio.timeout(seconds):
                await asyncio.shield(self._starting)
                return await self._publisher.publish(turn)
        except TimeoutError:
            raise Retry("Kafka did not answer in time.", dependency="kafka") from None

    def announce(self, event: MemoryEvent) -> None:
        """See ``Route``."""
        if self._starting is not None and self._starting.done() and self.failed is None:
            self._publisher.announce(event)


def _say(started: asyncio.Task[None]) -> None:
    if not started.cancelled() and (error := started.exception()) is not None:
        _LOG.error("turns can't be published: %s", error)


class HttpRoute:
    """By way of the recall service."""

    def __init__(self, client: RecallClient) -> None:
        self._client = client

    @property
    def failed(self) -> BaseException | None:
        """Every call says by itself what is wrong."""
        return None

    async def start(self) -> None:
        """There is nothing to connect."""

    async def close(self) -> None:
        """There is nothing to disconnect."""

    async def publish(self, turn: TurnCompleted, seconds: float) -> Token:
        """See ``Route``."""
        refuse_blank(turn)
        try:
            return await self._client.record(turn.tenant, turn, seconds)
        except MemoryRefused as error:
            if error.status in _CREDENTIALS:
                raise
            raise DeadLetter("refused", type(error).__name__, str(error)) from None

    def announce(self, event: MemoryEvent) -> None:
        """An event has no way but Kafka's."""
