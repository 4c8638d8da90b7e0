"""What is left of points that are removed: nothing of what they said, and all that keeps them from coming back."""

from __future__ import annotations

from afterturn.schemas.parts import Status
from afterturn.schemas.points import (
    RANK_SHIFT,
    KeyState,
    Memory,
    Receipt,
    StoredPoint,
    TenantState,
    ThreadState,
    evict_key,
)

_NUMBER = (1 << RANK_SHIFT) - 1


def tombstone(memory: Memory, rev: int, status: Status, *, cascade: bool = False) -> Memory:
    """What is left of a memory that was removed: its place, order, sources and receipt.

    Its order is that from before the command, so that an interrupted one can read it as it was. ``cascade`` marks one
    that went because all it was made from had gone.
    """
    return Memory(
        partition=memory.partition,
        born=memory.born,
        rev=rev,
        tenant=memory.tenant,
        status=status,
        ordinal=memory.ordinal,
        evict_key=_key_before(memory, rev),
        scope=memory.scope,
        kind=memory.kind,
        importance=memory.importance,
        thread=memory.thread,
        position=memory.position,
        pinned=memory.pinned,
        source_ids=memory.source_ids,
        derived_from=memory.derived_from,
        outcome=memory.outcome,
        digest=memory.digest,
        cascade=cascade,
    )


def _key_before(memory: Memory, rev: int) -> int | None:
    if memory.status == "superseded" and memory.rev == rev and memory.evict_key is not None:
        return in_use_key(memory)
    return memory.evict_key


def in_use_key(memory: Memory) -> int | None:
    """Where a memory stands in the order of leaving while it is in use: by its importance, then its number."""
    return None if memory.evict_key is None else evict_key(memory.importance or 0.0, memory.evict_key & _NUMBER)


def erased(point: StoredPoint, rev: int) -> StoredPoint:
    """What is left of a point when its tenant is erased: that there was one, and how its command had ended."""
    common = {"partition": point.partition, "born": point.born, "rev": rev, "tenant": point.tenant, "status": "erased"}
    match point:
        case Memory():
            return Memory.model_validate({**common, "ordinal": point.ordinal, "outcome": point.outcome})
        case Receipt():
            return point.model_copy(update={"rev": rev, "status": "erased", "digest": None})
        case ThreadState():
            return ThreadState.model_validate(common)
        case KeyState():
            return KeyState.model_validate(common)
        case TenantState():
            raise TypeError("a tenant's state is not erased: it keeps the offset")


def superseded(memory: Memory, rev: int) -> Memory:
    """A memory that something newer has taken the place of: kept, no longer recalled, and the first to leave."""
    key = None if memory.evict_key is None else evict_key(0.0, memory.evict_key & _NUMBER, superseded=True)
    return memory.model_copy(update={"status": "superseded", "evict_key": key, "rev": rev, "summary": None})


def active(memory: Memory, rev: int) -> Memory:
    """A memory that is in use (again), in the order its importance gives it."""
    return memory.model_copy(update={"status": "active", "evict_key": in_use_key(memory), "rev": rev})


def as_it_was(point: Memory) -> Memory:
    """A memory as it counted before a command was interrupted that removed or superseded it: live, in its order."""
    key, status = point.evict_key, "active"
    if key is not None and key <= _NUMBER:
        if point.status == "superseded" and point.importance is not None:
            key = in_use_key(point)
        else:
            status = "superseded"
    return point.model_copy(update={"status": status, "evict_key": key, "rev": point.born, "cascade": False})
