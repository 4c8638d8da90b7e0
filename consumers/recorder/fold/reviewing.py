"""The fold of ``memory.review``: candidates come into use, take a key's place, or go."""

from __future__ import annotations

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.forgetting import cascade
from afterturn.consumers.recorder.fold.keys import take_key
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.removal import active, tombstone
from afterturn.consumers.recorder.fold.tenants import tenant_of, without
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Review
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Memory, Outcome

REVIEWED = "memory.reviewed.v1"


def fold_review(view: View, arrival: Arrival, command: Review) -> Outcome:
    """Approve or reject candidates in the order named; ids of anything else are counted as unknown."""
    ids = dict.fromkeys(command.ids)
    counts: dict[str, int] = dict.fromkeys(("activated", "superseded", "deduped", "rejected", "unknown"), 0)
    removed: dict[str, Memory] = {}
    for id_ in ids:
        memory = view.live(command.tenant, id_)
        if memory is None or memory.status != "candidate":
            counts["unknown"] += 1
            continue
        ended = _approved(view, arrival, id_, memory) if command.decision == "approve" else "rejected"
        counts[ended] += 1
        if ended in ("deduped", "rejected"):
            removed[id_] = memory
            view.put(id_, tombstone(memory, arrival.rev, "merged" if ended == "deduped" else "deleted"))
    if counts["unknown"] == len(ids):
        known = any(view.live(command.tenant, id_) for id_ in ids)
        return skip(view, arrival, "refused" if known else "gone")
    derived = cascade(view, arrival, removed.keys()) if command.decision == "reject" else []
    if removed:
        state = without(tenant_of(view, arrival), [*removed.values(), *derived])
        view.put(tenant_id(command.tenant), state.model_copy(update={"rev": arrival.rev}))
    return leave_receipt(view, arrival, Outcome(event=REVIEWED, counts={**counts, "derived": len(derived)}))


def _approved(view: View, arrival: Arrival, id_: str, candidate: Memory) -> str:
    """Bring a candidate into use; under a key it takes the last one's place, unless that one says the same."""
    known = view.key(candidate.tenant, candidate.scope, candidate.key) if candidate.key is not None else None
    current = view.live(candidate.tenant, known.current) if known and known.current else None
    # Of a candidate that this command, interrupted before, has found to be said already, no content is left.
    if candidate.content is None or (current is not None and current.status == "active" and _same(current, candidate)):
        return "deduped"
    replaced = take_key(view, arrival, candidate, id_)
    view.put(id_, active(candidate, arrival.rev).model_copy(update={"metadata_revised": arrival.at}))
    return "superseded" if replaced else "activated"


def _same(one: Memory, other: Memory) -> bool:
    return (one.content, one.data) == (other.content, other.data)
