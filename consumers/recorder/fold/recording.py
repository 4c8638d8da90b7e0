"""What turns and facts have in common: when nothing is recorded, what they supersede, and how recording ends."""

from __future__ import annotations

from collections.abc import Iterable

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.bound import apply_bound
from afterturn.consumers.recorder.fold.removal import superseded
from afterturn.consumers.recorder.fold.tenants import bounds_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Outcome, TenantState
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import FoldSettings

RECORDED = "memory.recorded.v1"
SHORT_QUESTION_CHARS = 120


def left_out(tenant: TenantState, scope: Scope) -> str | None:
    """Why a tenant's settings keep a turn or a fact of this scope from being recorded, if they do."""
    settings = tenant.settings
    if settings.phases and settings.phases.record == "off":
        return "off"
    return "scope" if scope.missing(settings.required_scope or ()) else None


def supersede(view: View, arrival: Arrival, ids: Iterable[str]) -> int:
    """Let what arrives take the place of these memories; how many were there, and not superseded before."""
    count = 0
    for id_ in ids:
        memory = view.live(arrival.tenant, id_)
        if memory is not None and (memory.status != "superseded" or memory.summary is not None):
            view.put(id_, superseded(memory, arrival.rev))
            count += 1
    return count


def recorded(
    view: View, arrival: Arrival, tenant: TenantState, fold: FoldSettings, counts: dict[str, int], episodes: int
) -> Outcome:
    """Count what was added, of it so many ``episodes``; apply the bound, and keep the outcome at ordinal 0."""
    evicted = grow(view, arrival, tenant, fold, counts["added"], episodes)
    return keep_outcome(view, arrival, Outcome(event=RECORDED, counts={**counts, "evicted": evicted}))


def grow(view: View, arrival: Arrival, tenant: TenantState, fold: FoldSettings, added: int, episodes: int) -> int:
    """Count so many memories as added, of them so many episodes, and apply the bound; how many had to leave."""
    grown = {"live": tenant.live + added, "episodes": tenant.episodes + episodes, "number": tenant.number + added}
    tenant = tenant.model_copy(update={**grown, "rev": arrival.rev})
    tenant, evicted = apply_bound(view, tenant, bounds_of(tenant, fold), arrival.rev)
    view.put(tenant_id(arrival.tenant), tenant)
    return evicted


def keep_outcome(view: View, arrival: Arrival, outcome: Outcome) -> Outcome:
    """Keep a command's outcome in the memory it left at ordinal 0; returns it."""
    first = view.memory(arrival.receipt)
    assert first is not None, "ordinal 0 was put before"
    view.put(arrival.receipt, first.model_copy(update={"outcome": outcome, "digest": arrival.digest}))
    return outcome


def is_short_question(text: str) -> bool:
    """Whether a text only asks: it ends in a question mark and has under 120 characters (retrieval.md, step 5)."""
    stripped = text.strip()
    return len(stripped) < SHORT_QUESTION_CHARS and stripped.endswith(("?", "\uff1f"))
