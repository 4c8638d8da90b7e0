"""Waiting until published turns are recorded, by their outcome events."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterable
from typing import Self

from afterturn.schemas.events import MemoryEvent, Skipped, UnknownEvent
from afterturn.schemas.token import Token
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber
from afterturn.streams.topics import TopicNames


class Waiter:
    """Made before publishing, it sees every outcome event of what is published after; an async context manager.

    ``skipped`` counts, by reason, the commands waited for that were not carried out.
    """

    def __init__(self, kafka: KafkaSettings, topics: TopicNames) -> None:
        self._subscriber = MemoryEventSubscriber(kafka, since="now", topics=topics)
        self.skipped: Counter[str] = Counter()

    async def __aenter__(self) -> Self:
        await self._subscriber.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self._subscriber.close()

    async def reach(self, tokens: Iterable[Token]) -> AsyncIterator[int]:
        """Yield how many of the tokens' commands have an outcome, as it grows; ends when all have.

        An outcome event is committed after the write it tells of, so what it tells of can be recalled.
        """
        missing = {(token.partition, token.offset) for token in tokens}
        total = len(missing)
        if not missing:
            return
        async for received in self._subscriber:
            event = received.event
            if isinstance(event, UnknownEvent) or event.command is None:
                continue
            place = (event.command.partition, event.command.offset)
            if place in missing:
                missing.discard(place)
                if isinstance(event, Skipped):
                    self.skipped[event.reason] += 1
                yield total - len(missing)
            if not missing:
                return

    async def outcome(self, token: Token) -> MemoryEvent:
        """The outcome event of one command."""
        async for received in self._subscriber:
            event = received.event
            if isinstance(event, UnknownEvent) or event.command is None:
                continue
            if (event.command.partition, event.command.offset) == (token.partition, token.offset):
                return event
        raise AssertionError("a subscription that follows has no end")
