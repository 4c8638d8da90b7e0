"""A tenant's state: its counts, and the settings that hold for it."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.points import Memory, TenantState
from afterturn.schemas.settings import Bounds, FoldSettings, Kind


def tenant_of(view: View, arrival: Arrival) -> TenantState:
    """The command's tenant as it stands, or as it begins."""
    state = view.tenant(arrival.tenant)
    if state is not None:
        return state
    return TenantState(partition=arrival.record.partition, born=arrival.rev, rev=arrival.rev, tenant=arrival.tenant)


def bounds_of(tenant: TenantState, fold: FoldSettings) -> Bounds:
    """The bounds that hold for a tenant."""
    return tenant.settings.bounds or fold.bounds


def most_pins(bounds: Bounds) -> int:
    """How many memories may be pinned: half of what is kept, so that something can always leave."""
    return min(bounds.max_memories, bounds.max_episodes or bounds.max_memories) // 2


def without(tenant: TenantState, gone: Iterable[Memory]) -> TenantState:
    """The tenant's counts once live memories are gone."""
    memories = list(gone)
    pinned, episodes = sum(m.pinned for m in memories), sum(m.kind == "episodic" for m in memories)
    return less(tenant, live=len(memories), pinned=pinned, episodes=episodes)


def less(tenant: TenantState, *, live: int, pinned: int, episodes: int) -> TenantState:
    """The tenant's counts less so many live memories, of which so many were pinned, were episodes."""
    counts = {"live": tenant.live - live, "pinned": tenant.pinned - pinned, "episodes": tenant.episodes - episodes}
    return tenant.model_copy(update=counts)


def expiry(tenant: TenantState, kind: Kind, at: datetime) -> datetime | None:
    """When a memory recorded at this time expires by its tenant's settings; never where no calendar has that day."""
    seconds = (tenant.settings.ttl_s or {}).get(kind)
    return None if seconds is None else after(at, seconds)


def after(at: datetime, seconds: int) -> datetime | None:
    """So many seconds later; None where no calendar has that day."""
    try:
        return at + timedelta(seconds=seconds)
    except OverflowError:
        return None
