"""Records: what stands on a topic, and what is put on one. Their texts never show what they hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

_START = datetime.fromtimestamp(0, UTC)
_LAST_MS = 253_402_300_799_999
"""The end of the year 9999. A broker's own time lies within; a producer's need not."""
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

    @property
    def appended_at(self) -> datetime:
        """The time the log appended it, within the years 1970 to 9999."""
        return _START + timedelta(milliseconds=min(max(self.timestamp_ms, 0), _LAST_MS))


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
