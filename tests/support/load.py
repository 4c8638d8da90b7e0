"""What tests publish to a recorder: turns and what comes with them in life, good and bad, the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Any, Self

import orjson

from afterturn.schemas.codec import Attributes
from afterturn.schemas.commands import Command, Configure, Erase, Forget, Pin, Remember, TurnCompleted
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.parts import Derived, Filter, Source
from afterturn.schemas.settings import Bounds
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.errors import Retry
from afterturn.streams.kafka import OutRecord, Producer
from afterturn.streams.topics import TopicNames

UNKNOWN = "1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed"
SOURCE = "e2e"


@dataclass(frozen=True)
class Said:
    """A command as it is published."""

    command: Command
    ce_id: str | None = None


Entry = Said | OutRecord
"""What is published: a command, or the bytes of a record that is none, or stands in the wrong place."""


@dataclass(frozen=True)
class Load:
    """Turns of many tenants, and with every so many of them something else (0: never).

    Attributes:
        first: the number of the first turn; what comes with a turn goes by its number.
        again: the same turn again, and its key with other content.
        poison: a record that can't be decoded, and one under another tenant's key.
        erase: an erasure of the turn's tenant.
    """

    topic: str
    turns: int = 1_000
    tenants: int = 50
    seed: int = 4
    again: int = 10
    poison: int = 25
    erase: int = 173
    first: int = 0

    def entries(self) -> Iterator[Entry]:
        """Everything, in the order in which it is published."""
        rng = random.Random(self.seed)
        for number in range(self.first, self.first + self.turns):
            yield from self.step(rng, number)

    def step(self, rng: random.Random, number: int) -> Iterator[Entry]:
        """One turn, and what comes with it."""
        turn = _turn(rng, number, self.tenants)
        yield Said(turn)
        if _due(number, self.again):
            yield Said(turn)
            yield Said(turn.model_copy(update={"messages": turn.messages[:0]}))
        for command in self._commands(rng, turn, number):
            yield Said(command, f"command-{number}-{rng.randint(1, 3)}")
        if _due(number, self.poison):
            yield OutRecord(self.topic, turn.tenant.encode(), b"\xff\x00not-json", (("ce_id", b"x"),))
            yield _misrouted(self.topic, turn)

    def _commands(self, rng: random.Random, turn: TurnCompleted, number: int) -> Iterator[Command]:
        """What else is done to this turn's tenant: facts under keys, forgetting, pins, settings, erasures."""
        tenant, own = turn.tenant, memory_id(turn.tenant, turn_key(turn.scope, turn.thread, turn.turn_id), 0)
        if _due(number, 7):
            source = Source(type="user", id="u1")
            yield Remember(tenant=tenant, content=f"fact {number}", key=f"key {number % 3}", source=source)
            derived = Derived(source_ids=(own,), based_on=1_000_000)
            yield Remember(tenant=tenant, content=f"derived {number}", source=source, derived=derived)
        if _due(number, 11):
            yield Pin(tenant=tenant, ids=(own, UNKNOWN), pinned=rng.random() < 0.8)
        if _due(number, 13):
            yield Forget(tenant=tenant, ids=(own, UNKNOWN), reason="asked", confirm=rng.random() < 0.9)
        if _due(number, 17):
            chosen = Filter(threads=(turn.thread,), authors=("Ann",))
            yield Forget(tenant=tenant, filter=chosen, reason="asked", confirm=rng.random() < 0.8)
        if _due(number, 41):
            bounds = Bounds(max_memories=rng.choice((8, 15, 25)), max_episodes=rng.choice((None, 6)))
            yield Configure(tenant=tenant, bounds=bounds)
        if _due(number, self.erase):
            yield Erase(tenant=tenant, confirm=tenant, reason="asked")


class LoadPublisher:
    """Puts a load's entries on a log; an async context manager. A broker that is away is waited for."""

    def __init__(self, client: KafkaSettings, topics: TopicNames) -> None:
        self._turns = TurnPublisher(client, source=SOURCE, topics=topics)
        self._records = Producer(client)
        self._stack = AsyncExitStack()
        self.again = 0

    async def __aenter__(self) -> Self:
        await self._stack.enter_async_context(self._turns)
        await self._stack.enter_async_context(self._records)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def publish(self, entry: Entry) -> Token | None:
        """Put one entry on the log; one whose fate is unknown is published again, as an agent would."""
        while True:
            try:
                if isinstance(entry, OutRecord):
                    await self._records.send(entry)
                    return None
                return await self._turns.publish_command(entry.command, ce_id=entry.ce_id)
            except Retry:
                self.again += 1


def is_readable(entry: Entry) -> bool:
    """Whether it can be read as a command, so that it ends in an event; a misrouted one can."""
    return isinstance(entry, Said) or any(name == "ce_type" for name, _ in entry.headers)


def _due(number: int, every: int) -> bool:
    return every > 0 and number % every == 0


def _turn(rng: random.Random, number: int, tenants: int) -> TurnCompleted:
    messages: list[dict[str, Any]] = [
        {
            "role": rng.choice(["user", "assistant", "user", "tool"]),
            "author": rng.choice(["Ann", "Bo", None]),
            "content": rng.choice(["", "  ", f"message {number}", "word " * rng.randint(1, 60), "long text. " * 900]),
            "importance": rng.choice([0.1, 0.5, 0.5, 0.9]),
        }
        for _ in range(rng.randint(1, 3))
    ]
    return TurnCompleted.model_validate(
        {
            "tenant": f"tenant-{number % tenants}",
            "scope": {"user": rng.choice(["u1", "u2"])},
            "thread": f"thread-{rng.randint(1, 3)}",
            "turn_id": str(number),
            "occurred_at": "2026-01-01T00:00:00Z",
            "messages": messages,
        }
    )


def _misrouted(topic: str, turn: TurnCompleted) -> OutRecord:
    body = orjson.dumps(turn.model_dump(mode="json", exclude_none=True) | {"tenant": "elsewhere"})
    attributes = Attributes("m", SOURCE, turn.TYPE, turn.occurred_at)
    return OutRecord(topic, b"another key", body, attributes.headers(), 0)
