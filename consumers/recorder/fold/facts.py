"""The fold of ``memory.remember``: a fact becomes a memory; under a publisher's key it takes the last one's place."""

from __future__ import annotations

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.keys import take_key
from afterturn.consumers.recorder.fold.receipts import skip
from afterturn.consumers.recorder.fold.recording import is_short_question, left_out, recorded
from afterturn.consumers.recorder.fold.tenants import expiry, tenant_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Remember
from afterturn.schemas.points import Memory, Outcome, TenantState, evict_key
from afterturn.schemas.settings import FoldSettings


def fold_remember(view: View, arrival: Arrival, fact: Remember, fold: FoldSettings) -> Outcome:
    """Apply a fact that has no receipt yet; returns its outcome, which is in its receipt."""
    tenant = tenant_of(view, arrival)
    reason = _left_out(view, fact, tenant)
    if reason is not None:
        return skip(view, arrival, reason)
    memory = _memory(arrival, fact, tenant, fold)
    # A candidate takes no key yet.
    replaced = 0 if fact.mode == "candidate" else take_key(view, arrival, memory, arrival.receipt, fact.version)
    view.put(arrival.receipt, memory)
    counts = {"added": 1, "superseded": replaced, "parts": 0}
    return recorded(view, arrival, tenant, fold, counts, episodes=fact.kind == "episodic")


def _left_out(view: View, fact: Remember, tenant: TenantState) -> str | None:
    """Why a fact is not recorded, if it isn't."""
    if fact.mode == "off":
        return "off"
    reason = left_out(tenant, fact.scope)
    known = view.key(fact.tenant, fact.scope, fact.key) if fact.key is not None else None
    if reason is not None or known is None or known.version is None or fact.version is None:
        return reason
    return "stale" if fact.version < known.version else None


def _memory(arrival: Arrival, fact: Remember, tenant: TenantState, fold: FoldSettings) -> Memory:
    return Memory(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=fact.tenant,
        status="candidate" if fact.mode == "candidate" else "active",
        ordinal=0,
        evict_key=evict_key(fact.importance, tenant.number + 1),
        scope=fact.scope,
        kind=fact.kind,
        type=fact.type,
        key=fact.key,
        content=fact.content,
        chars=len(fact.content),
        asks=is_short_question(fact.content),
        data=fact.data,
        tags=fact.tags,
        occurred_at=fact.effective_at or fact.observed_at or arrival.at,
        recorded_at=arrival.at,
        effective_at=fact.effective_at,
        expires_at=fact.expires_at or expiry(tenant, fact.kind, arrival.at),
        content_revised=arrival.at,
        metadata_revised=arrival.at,
        importance=fact.importance,
        confidence=fact.confidence,
        decay=fact.decay,
        entities=fact.entities,
        source=fact.source,
        source_ids=fact.derived.source_ids if fact.derived else (),
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        embedder=fold.embedder,
    )
