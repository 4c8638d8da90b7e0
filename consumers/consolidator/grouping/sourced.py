"""A memory under its id, and what every pass asks of it: may it be touched, how old is it, what comes first."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from afterturn.schemas.points import Memory

_UNDATED = datetime.min.replace(tzinfo=UTC)


class Sourced(NamedTuple):
    """A memory and its id."""

    id: str
    memory: Memory


def is_free(memory: Memory, now: datetime) -> bool:
    """Whether a memory may be summarised or merged: in use, not pinned, and it still holds."""
    ends = (memory.expires_at, memory.valid_to, memory.invalidated_at)
    ended = any(end is not None and end <= now for end in ends)
    return memory.status == "active" and not memory.pinned and memory.content is not None and not ended


def when(memory: Memory) -> datetime | None:
    """When it happened, else when it was recorded."""
    return memory.occurred_at or memory.recorded_at


def in_order(sources: Iterable[Sourced]) -> list[Sourced]:
    """Oldest first, and as they were said; the id settles the rest, so that the order is always the same."""
    return sorted(sources, key=_place)


def one_tenant(memories: Iterable[Sourced]) -> None:
    """Hold that all are of one tenant.

    Raises:
        ValueError: they are of several.
    """
    if len({source.memory.tenant for source in memories}) > 1:
        raise ValueError("memories of several tenants: each is consolidated alone")


def _place(source: Sourced) -> tuple[datetime, int, int, str]:
    return when(source.memory) or _UNDATED, source.memory.position or 0, source.memory.part or 0, source.id
