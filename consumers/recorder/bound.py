"""The bound: after each command a tenant keeps at most so many memories; what ranks lowest leaves."""

from __future__ import annotations

from afterturn.consumers.recorder.view import View
from afterturn.schemas.parts import Status
from afterturn.schemas.points import Memory, TenantState
from afterturn.schemas.settings import Bounds


def apply_bound(view: View, tenant: TenantState, bounds: Bounds, rev: int) -> tuple[TenantState, int]:
    """Evict what ranks lowest until the bound holds: superseded first, then importance, then recorded earliest.

    Pinned memories never leave. Returns the tenant's state and how many left.

    Raises:
        TailTooShortError: where the snapshot holds too few candidates.
    """
    evicted = max(0, tenant.live - bounds.max_memories)
    for _ in range(evicted):
        id_, memory = view.lowest(tenant.tenant)
        view.put(id_, tombstone(memory, rev, "evicted"))
    return tenant.model_copy(update={"live": tenant.live - evicted}), evicted


def tombstone(memory: Memory, rev: int, status: Status) -> Memory:
    """What is left of a memory that was removed: its place, order, sources and receipt, nothing of what it said."""
    return Memory(
        partition=memory.partition,
        born=memory.born,
        rev=rev,
        tenant=memory.tenant,
        status=status,
        ordinal=memory.ordinal,
        evict_key=memory.evict_key,
        scope=memory.scope,
        thread=memory.thread,
        position=memory.position,
        pinned=memory.pinned,
        source_ids=memory.source_ids,
        outcome=memory.outcome,
        digest=memory.digest,
    )
