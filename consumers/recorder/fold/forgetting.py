"""The fold of ``memory.forget`` by ids: what it names goes, and what was made from the removed alone."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.removal import tombstone
from afterturn.consumers.recorder.fold.tenants import tenant_of, without
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Forget
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Memory, Outcome, TenantState

FORGOTTEN = "memory.forgotten.v1"


def fold_forget(view: View, arrival: Arrival, command: Forget) -> Outcome:
    """Remove memories by id; ids of nothing that is there, or of another tenant's, are counted as unknown."""
    ids = dict.fromkeys(command.ids or ())
    named = {id_: memory for id_ in ids if (memory := view.live(command.tenant, id_)) is not None}
    tenant = tenant_of(view, arrival)
    if unconfirmed(command, len(named), tenant):
        return skip(view, arrival, "unconfirmed")
    for id_, memory in named.items():
        view.put(id_, tombstone(memory, arrival.rev, "deleted"))
    derived = cascade(view, arrival, ids.keys())
    if named or derived:
        tenant = without(tenant, [*named.values(), *derived])
        view.put(tenant_id(command.tenant), tenant.model_copy(update={"rev": arrival.rev}))
    counts = {"forgotten": len(named), "derived": len(derived), "unknown": len(ids) - len(named)}
    return leave_receipt(view, arrival, Outcome(event=FORGOTTEN, counts=counts))


def unconfirmed(command: Forget, removed: int, tenant: TenantState) -> bool:
    """Whether a command would remove more than half of what a tenant has, and doesn't say that this is meant."""
    return not command.confirm and removed * 2 > tenant.live


def cascade(view: View, arrival: Arrival, removed: AbstractSet[str]) -> list[Memory]:
    """Remove what was made from the removed alone, and what was made from that."""
    gone: list[Memory] = []
    while orphans := view.orphans(arrival.tenant, removed):
        for id_, memory in orphans.items():
            view.put(id_, tombstone(memory, arrival.rev, "deleted", cascade=True))
        gone += orphans.values()
        removed = orphans.keys()
    return gone
