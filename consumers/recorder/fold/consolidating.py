"""The fold of ``memory.consolidate``: a summary is written, and what it was made of is superseded, linked and expires.

The summary may have taken long to make. What has changed since is left out; what was forgotten or replaced since is
in the summary's text, so that none is written.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import skip
from afterturn.consumers.recorder.fold.recording import grow, is_short_question, keep_outcome
from afterturn.consumers.recorder.fold.removal import superseded
from afterturn.consumers.recorder.fold.tenants import after, expiry, tenant_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Consolidate
from afterturn.schemas.points import Memory, Outcome, TenantState, evict_key
from afterturn.schemas.settings import FoldSettings

CONSOLIDATED = "memory.consolidated.v1"


def fold_consolidate(view: View, arrival: Arrival, command: Consolidate, fold: FoldSettings) -> Outcome:
    """Let a summary take the place of its sources; returns the outcome, which is in the summary."""
    tenant = tenant_of(view, arrival)
    reason = _left_out(view, command, tenant)
    if reason is not None:
        return skip(view, arrival, reason)
    sources = _unchanged(view, arrival, command)
    if len(sources) < command.min_sources:
        return skip(view, arrival, "stale")
    view.put(arrival.receipt, _summary(arrival, command, sources, tenant, fold))
    expires_at = after(arrival.at, command.source_ttl_s)
    for id_, source in sources.items():
        view.put(id_, absorbed(source, arrival, expires_at))
    evicted = grow(view, arrival, tenant, fold, 1, int(command.summary.kind == "episodic"))
    counts = {"groups": 1, "removed": len(sources), "evicted": evicted}
    counts["left_out"] = len({source.id for source in command.sources}) - len(sources)
    return keep_outcome(view, arrival, Outcome(event=CONSOLIDATED, counts=counts))


def _left_out(view: View, command: Consolidate, tenant: TenantState) -> str | None:
    """Why nothing is consolidated, if it isn't: off, a source of another scope, or one whose content is not to stay."""
    settings = tenant.settings
    if settings.phases and settings.phases.consolidate == "off":
        return "off"
    met = [view.memory(source.id) for source in command.sources]
    there = [memory for memory in met if memory is not None and memory.tenant == command.tenant]
    if any(memory.status not in ("deleted", "erased") and memory.scope != command.scope for memory in there):
        return "scope"
    if len(there) < len(met) or any(_taken_back(memory) for memory in there):
        return "stale"
    return None


def _taken_back(memory: Memory) -> bool:
    """Whether what a memory said is no longer to be said: forgotten, erased, replaced, or put aside as stale."""
    return memory.status in ("deleted", "erased") or (memory.status == "superseded" and memory.summary is None)


def _unchanged(view: View, arrival: Arrival, command: Consolidate) -> dict[str, Memory]:
    """The sources that are as they were, by id: in use, not pinned, of the version the summary was made of."""
    found: dict[str, Memory] = {}
    for source in command.sources:
        memory = view.live(command.tenant, source.id)
        if memory is None or memory.status != "active" or memory.pinned:
            continue
        # This command, interrupted before, has been at it: superseded it, or even evicted it since.
        landed = memory.summary == arrival.receipt or memory.content is None
        if memory.rev != source.rev and not landed:
            continue
        found[source.id] = memory
    return found


def absorbed(source: Memory, arrival: Arrival, expires_at: datetime | None) -> Memory:
    """A source whose place a summary has taken: superseded, linked to it, and gone after a while."""
    ends = [each for each in (source.expires_at, expires_at) if each is not None]
    linked = {"summary": arrival.receipt, "expires_at": min(ends, default=None), "metadata_revised": arrival.at}
    return superseded(source, arrival.rev).model_copy(update=linked)


def _summary(
    arrival: Arrival, command: Consolidate, sources: Mapping[str, Memory], tenant: TenantState, fold: FoldSettings
) -> Memory:
    said = command.summary
    threads = {memory.thread for memory in sources.values()}
    data = said.data.model_dump(mode="json", exclude_none=True, exclude={"derived_from"})
    return Memory(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=command.tenant,
        status="active",
        ordinal=0,
        evict_key=evict_key(said.importance, tenant.number + 1),
        scope=command.scope,
        kind=said.kind,
        type=said.type,
        content=said.content,
        chars=len(said.content),
        asks=is_short_question(said.content),
        data={**data, "policy": command.policy, "group": command.group},
        tags=said.tags,
        thread=threads.pop() if len(threads) == 1 else None,
        occurred_at=said.data.period[1] if said.data.period else arrival.at,
        recorded_at=arrival.at,
        expires_at=expiry(tenant, said.kind, arrival.at),
        content_revised=arrival.at,
        metadata_revised=arrival.at,
        importance=said.importance,
        confidence=said.confidence,
        level=said.level,
        source_ids=tuple(sources),
        derived_from=said.data.derived_from,
        embedder=fold.embedder,
    )
