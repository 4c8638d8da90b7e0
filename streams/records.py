"""Records: what stands on a topic, and what is put on one. Their texts never show what they hold."""

from __future__ import annotations

from dataclasses import dataclass, field

Headers = tuple[tuple[str, bytes], ...]


@dataclass(frozen=True, slots=True)
class Record:
    """A record read from a topic; ``timestamp_ms`` is the time the log appended it."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: Headers = field(default=(), repr=False)


@dataclass(frozen=True, slots=True)
class OutRecord:
    """A record to produce; without a partition the key chooses it."""

    topic: str
    key: bytes | None = field(repr=False)
    value: bytes | None = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    partition: int | None = None


@dataclass(frozen=True, slots=True)
class Position:
    """Where a produced record stands."""

    partition: int
    offset: int
