"""The fold of ``tenant.configure``: the fields it gives replace the tenant's own, the others stay."""

from __future__ import annotations

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.tenants import most_pins, tenant_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.commands import Configure
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Outcome, TenantState
from afterturn.schemas.settings import TenantSettings

CONFIGURED = "tenant.configured.v1"


def fold_configure(view: View, arrival: Arrival, command: Configure) -> Outcome:
    """Change a tenant's settings, where no bound is among them."""
    tenant = configured(tenant_of(view, arrival), arrival, command)
    view.put(tenant_id(command.tenant), tenant)
    return leave_receipt(view, arrival, Outcome(event=CONFIGURED, counts={"evicted": 0}))


def configured(tenant: TenantState, arrival: Arrival, command: Configure) -> TenantState:
    """The tenant's state with the settings the command gives."""
    given = {name: getattr(command, name) for name in TenantSettings.model_fields}
    own = tenant.settings.model_copy(update={name: value for name, value in given.items() if value is not None})
    return tenant.model_copy(update={"settings": own, "rev": arrival.rev})


def refused(view: View, arrival: Arrival, tenant: TenantState, command: Configure) -> Outcome | None:
    """Leave out bounds too low for what is pinned: pinned memories never leave, so such a bound could not hold."""
    if command.bounds is not None and tenant.pinned > most_pins(command.bounds):
        return skip(view, arrival, "pin_limit")
    return None
