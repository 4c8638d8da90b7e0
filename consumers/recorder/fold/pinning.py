"""The fold of ``memory.pin``: pinned memories stay whatever the bound says."""

from __future__ import annotations

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.tenants import bounds_of, most_pins, tenant_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Pin
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Outcome
from afterturn.schemas.settings import FoldSettings

PINNED = "memory.pinned.v1"


def fold_pin(view: View, arrival: Arrival, command: Pin, fold: FoldSettings) -> Outcome:
    """Pin or release memories in the order named; pins beyond half of what the tenant may keep are refused."""
    tenant = tenant_of(view, arrival)
    most, pins = most_pins(bounds_of(tenant, fold)), tenant.pinned
    changed = refused = unknown = 0
    for id_ in dict.fromkeys(command.ids):
        memory = view.live(command.tenant, id_)
        if memory is None:
            unknown += 1
        elif memory.pinned == command.pinned and memory.rev != arrival.rev:  # its own rev: it was interrupted
            continue
        elif command.pinned and pins >= most:
            refused += 1
        else:
            pins += 1 if command.pinned else -1
            changed += 1
            now = {"pinned": command.pinned, "metadata_revised": arrival.at, "rev": arrival.rev}
            view.put(id_, memory.model_copy(update=now))
    if not changed and (refused or unknown == len(set(command.ids))):
        return skip(view, arrival, "pin_limit" if refused else "gone")
    if changed:
        view.put(tenant_id(command.tenant), tenant.model_copy(update={"pinned": pins, "rev": arrival.rev}))
    done = {"pinned": changed} if command.pinned else {"unpinned": changed}
    return leave_receipt(view, arrival, Outcome(event=PINNED, counts={**done, "refused": refused, "unknown": unknown}))
