"""The bound: after each command a tenant keeps at most so many memories; what ranks lowest leaves."""

from __future__ import annotations

from afterturn.consumers.recorder.fold.removal import tombstone
from afterturn.consumers.recorder.fold.tenants import without
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.points import TenantState
from afterturn.schemas.settings import Bounds


def apply_bound(view: View, tenant: TenantState, bounds: Bounds, rev: int) -> tuple[TenantState, int]:
    """Evict what ranks lowest until the bounds hold: superseded first, then importance, then recorded earliest.

    Episodes leave first where they have a cap of their own. Pinned memories never leave. Returns the tenant's state
    and how many left.

    Raises:
        TailTooShortError: where the snapshot holds too few candidates.
    """
    episodes, memories = excess(tenant, bounds)
    for number in range(episodes + memories):
        id_, memory = view.lowest(tenant.tenant, episodes=number < episodes)
        view.put(id_, tombstone(memory, rev, "evicted"))
        tenant = without(tenant, [memory])
    return tenant, episodes + memories


def excess(tenant: TenantState, bounds: Bounds) -> tuple[int, int]:
    """How many episodes have to leave, and after them how many memories of any kind."""
    episodes = max(0, tenant.episodes - bounds.max_episodes) if bounds.max_episodes is not None else 0
    return episodes, max(0, tenant.live - episodes - bounds.max_memories)
