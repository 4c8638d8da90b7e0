"""The fold of ``memory.revise``: fields of memories that are there, changed as far as they are still what they were."""

from __future__ import annotations

from typing import Any

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.removal import active, in_use_key, superseded, tombstone
from afterturn.consumers.recorder.fold.tenants import tenant_of, without
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Revise
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.parts import LIVE, Change, Set
from afterturn.schemas.points import Memory, Outcome

REVISED = "memory.revised.v1"
_ONE_BY_ONE = frozenset({"stale", "revived", "expired"})
"""Reasons of upkeep: each change stands for itself. All others relate memories, and never across scopes."""
_SPARE_PINNED = frozenset({"stale", "expired", "contradicted", "merged", "generalised"})
_MEANING = frozenset({"confidence", "entities"})
"""What counts as a change of what a memory says; it is the decay's new beginning (features.md 3.2)."""


def fold_revise(view: View, arrival: Arrival, command: Revise) -> Outcome:
    """Change what can be changed; ids of nothing that is there, or of another version, are left out."""
    met = {change.id: view.live(command.tenant, change.id) for change in command.changes}
    scopes = {tuple(memory.scope.pairs()) for memory in met.values() if memory is not None}
    if command.reason not in _ONE_BY_ONE and len(scopes) > 1:
        return skip(view, arrival, "scope")
    counts: dict[str, int] = {command.reason: 0, "review": 0, "left_out": 0}
    removed: list[Memory] = []
    for change in command.changes:
        memory = view.live(command.tenant, change.id)
        ended = _ending(change, memory, command, arrival)
        counts[ended] += 1
        if ended != command.reason or memory is None:
            continue
        revised_ = revised(memory, change.set, arrival, command.reason)
        if revised_.status not in LIVE:
            removed.append(memory)
        view.put(change.id, revised_)
    if counts["left_out"] == len(command.changes):
        return skip(view, arrival, "stale" if any(met.values()) else "gone")
    if removed:
        state = without(tenant_of(view, arrival), removed)
        view.put(tenant_id(command.tenant), state.model_copy(update={"rev": arrival.rev}))
    return leave_receipt(view, arrival, Outcome(event=REVISED, counts=counts))


def _ending(change: Change, memory: Memory | None, command: Revise, arrival: Arrival) -> str:
    """What a change is counted as: its reason where it is made, else ``review`` or ``left_out``."""
    if memory is None:
        return "left_out"
    # This command, interrupted before, has been at it; of what it has removed there is no content.
    landed = memory.rev == arrival.rev or memory.content is None
    if change.rev is not None and memory.rev != change.rev and not landed:
        return "left_out"
    if memory.pinned and command.reason in _SPARE_PINNED:
        return "review" if command.reason == "contradicted" else "left_out"
    allowed = _may_become(memory, change.set.status, landed=landed)
    return command.reason if allowed else "left_out"


def _may_become(memory: Memory, status: str | None, *, landed: bool) -> bool:
    """Whether a memory may get this status: a candidate waits for its review, and only what is stale is revived."""
    if status == "active":
        return memory.stale or (landed and memory.status == "active")
    return status != "superseded" or memory.status != "candidate"


def revised(memory: Memory, to: Set, arrival: Arrival, reason: str) -> Memory:
    """A memory with some of its fields set; of a removed one nothing is left but its tombstone."""
    if to.status is not None and to.status not in LIVE:
        return tombstone(memory, arrival.rev, to.status)
    given = {name: getattr(to, name) for name in to.model_fields_set if name != "status"}
    fields: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    fields |= {"content_revised" if _MEANING & fields.keys() else "metadata_revised": arrival.at, "rev": arrival.rev}
    changed = memory.model_copy(update=fields)
    if to.status == "superseded":
        return superseded(changed, arrival.rev).model_copy(update={"stale": reason == "stale"})
    if to.status == "active":
        return active(changed, arrival.rev).model_copy(update={"stale": False})
    if "importance" in fields and changed.status != "superseded":
        return changed.model_copy(update={"evict_key": in_use_key(changed)})
    return changed
