"""Commands that select what they change: forget by filter, erase, bounds that may be lower, collect.

What they change may not fit into one read, so it is not in a snapshot: a sweep goes over the store page by page, and
``fold_swept`` folds the command once nothing is left to change. All here is pure; ``sweeping`` drives it.
"""

from __future__ import annotations

from dataclasses import dataclass

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.bound import excess
from afterturn.consumers.recorder.fold.configuring import CONFIGURED, configured, refused
from afterturn.consumers.recorder.fold.forgetting import FORGOTTEN, unconfirmed
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip
from afterturn.consumers.recorder.fold.tenants import less, tenant_of
from afterturn.consumers.recorder.fold.view import Snapshot, View
from afterturn.schemas.commands import Collect, Command, Configure, Erase, Forget
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Outcome, TenantState
from afterturn.schemas.settings import Bounds, TenantSettings

ERASED = "tenant.erased.v1"
COLLECTED = "log.collected.v1"
Selecting = Forget | Erase | Configure | Collect


@dataclass(frozen=True, slots=True)
class Sweep:
    """A selecting command that is to be carried out, and its tenant as it stands before."""

    arrival: Arrival
    command: Selecting
    tenant: TenantState


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep has removed, counted in the store: by its rev, so that an interrupted one counts the same.

    Attributes:
        removed: memories the command itself removed.
        derived: memories that went because all they were made from had gone.
        pinned, episodes: how many of both were pinned, were episodes.
    """

    removed: int = 0
    derived: int = 0
    pinned: int = 0
    episodes: int = 0


def selects(command: Command) -> bool:
    """Whether a command selects what it changes, and so goes alone."""
    match command:
        case Forget():
            return command.filter is not None
        case Configure():
            return command.bounds is not None
        case _:
            return isinstance(command, Erase | Collect)


def begin(view: View, arrival: Arrival) -> Sweep | Outcome:
    """The sweep a selecting command asks for, or how it ended where it asks for none."""
    command = arrival.command
    assert isinstance(command, Forget | Erase | Configure | Collect), "only selecting commands sweep"
    tenant = tenant_of(view, arrival)
    if isinstance(command, Configure) and (outcome := refused(view, arrival, tenant, command)) is not None:
        return outcome
    return Sweep(arrival, command, tenant)


def too_much(sweep: Sweep, matched: int) -> bool:
    """Whether a sweep that has removed nothing yet would remove more than was confirmed; ``matched`` in all."""
    return isinstance(sweep.command, Forget) and unconfirmed(sweep.command, matched, sweep.tenant)


def fold_given_up(sweep: Sweep, snapshot: Snapshot) -> tuple[View, Outcome]:
    """The command folded as left out, since it was not confirmed."""
    view = View(snapshot)
    return view, skip(view, sweep.arrival, "unconfirmed")


def to_evict(sweep: Sweep) -> tuple[int, int]:
    """How many episodes, and then how many memories of any kind, a lowered bound evicts in all."""
    assert isinstance(sweep.command, Configure), "only bounds evict"
    return excess(sweep.tenant, sweep.command.bounds or Bounds())


def fold_swept(sweep: Sweep, swept: Swept, snapshot: Snapshot) -> tuple[View, Outcome]:
    """The command folded once nothing is left to change: its tenant's state, its receipt, its outcome."""
    view, arrival, command = View(snapshot), sweep.arrival, sweep.command
    match command:
        case Forget():
            counts = {"forgotten": swept.removed, "derived": swept.derived, "unknown": 0}
            outcome = Outcome(event=FORGOTTEN, counts=counts)
            state = _less(sweep.tenant, swept)
        case Configure():
            outcome = Outcome(event=CONFIGURED, counts={"evicted": swept.removed})
            state = configured(_less(sweep.tenant, swept), arrival, command)
        case Erase():
            outcome = Outcome(event=ERASED, counts={"erased": sweep.tenant.live})
            state = _erased(sweep.tenant, arrival.rev)
        case Collect():
            return view, leave_receipt(view, arrival, Outcome(event=COLLECTED))
    if isinstance(command, Erase | Configure) or swept != Swept():
        view.put(tenant_id(arrival.tenant), state.model_copy(update={"rev": arrival.rev}))
    return view, leave_receipt(view, arrival, outcome)


def _less(tenant: TenantState, swept: Swept) -> TenantState:
    return less(tenant, live=swept.removed + swept.derived, pinned=swept.pinned, episodes=swept.episodes)


def _erased(tenant: TenantState, rev: int) -> TenantState:
    """Nothing is left but where it stood; its settings are the collection's again. Numbers go on: they stay unique."""
    return tenant.model_copy(
        update={
            "live": 0, "pinned": 0, "episodes": 0, "authors": (), "settings": TenantSettings(), "erased_at": rev
        }
    )  # fmt: skip
