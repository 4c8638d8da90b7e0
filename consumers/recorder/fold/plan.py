"""Step 3 of the write path: ``plan``, the pure fold of the turn log.

The invariant it carries: at every moment the points of a partition are exactly the fold of its log from the start to
the checkpoint. Tests fold the whole log with ``plan`` and compare points exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from afterturn.consumers.recorder.decoding import Arrival, Rejected, command_of
from afterturn.consumers.recorder.fold.configuring import fold_configure
from afterturn.consumers.recorder.fold.consolidating import fold_consolidate
from afterturn.consumers.recorder.fold.facts import fold_remember
from afterturn.consumers.recorder.fold.forgetting import fold_forget
from afterturn.consumers.recorder.fold.pinning import fold_pin
from afterturn.consumers.recorder.fold.receipts import leave_receipt, skip, skipped
from afterturn.consumers.recorder.fold.reviewing import fold_review
from afterturn.consumers.recorder.fold.revising import fold_revise
from afterturn.consumers.recorder.fold.sweeps import Sweep, Swept, begin, fold_given_up, fold_swept, selects
from afterturn.consumers.recorder.fold.turns import fold_turn
from afterturn.consumers.recorder.fold.view import Snapshot, View
from afterturn.schemas.commands import (
    Command,
    Configure,
    Consolidate,
    Forget,
    Pin,
    Remember,
    Review,
    Revise,
    TurnCompleted,
)
from afterturn.schemas.errors import ContractError
from afterturn.schemas.points import Memory, Outcome, Receipt, StoredPoint
from afterturn.schemas.settings import FoldSettings

PLAN_VERSION = 3
"""Grows with every change of what a log folds to; a checkpoint of a newer plan stops an older recorder."""
AT_RUN_TIME = ContractError("refused", "", "made a dead letter at run time")


@dataclass(frozen=True, slots=True)
class Decision:
    """How one record ended.

    Attributes:
        outcome: None for a record that could not be read: it has no tenant to tell.
        fault: set where the record becomes a dead letter.
    """

    item: Arrival | Rejected
    outcome: Outcome | None
    fault: ContractError | None = None

    @property
    def arrival(self) -> Arrival | None:
        """The command, where the record could be read as one."""
        return command_of(self.item)


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch comes to: the points it changes and how each record ended, in offset order.

    Attributes:
        sweep: set where the batch is one selecting command, which is not folded before its sweep has gone over the
            store; there are no decisions yet.
    """

    points: Mapping[str, StoredPoint] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()
    sweep: Sweep | None = None


def plan(
    snapshot: Snapshot, batch: Sequence[Arrival | Rejected], fold: FoldSettings, dead: frozenset[int] = frozenset()
) -> Plan:
    """Fold a batch at the checkpoint over what was read before it; a selecting command is a batch of its own.

    ``dead`` holds the offsets whose records were made dead letters at run time: they fold to a dead receipt.

    Raises:
        TailTooShortError: where the snapshot holds too few eviction candidates.
    """
    view = View(snapshot)
    decisions: list[Decision] = []
    for item in batch:
        folded = _fold(view, item, fold, dead)
        if isinstance(folded, Sweep):
            assert len(batch) == 1, "a selecting command goes alone"
            return Plan(sweep=folded)
        decisions.append(folded)
    return Plan(view.changed, tuple(decisions))


def finish(sweep: Sweep, swept: Swept, snapshot: Snapshot) -> Plan:
    """The plan of a selecting command once its sweep has nothing left to change."""
    view, outcome = fold_swept(sweep, swept, snapshot)
    return Plan(view.changed, (Decision(sweep.arrival, outcome if sweep.arrival.tenant else None),))


def give_up(sweep: Sweep, snapshot: Snapshot) -> Plan:
    """The plan of a selecting command that was not carried out, since it was not confirmed."""
    view, outcome = fold_given_up(sweep, snapshot)
    return Plan(view.changed, (Decision(sweep.arrival, outcome),))


def report(points: Mapping[str, StoredPoint], batch: Sequence[Arrival | Rejected]) -> tuple[Decision, ...]:
    """How the records of a batch below the checkpoint ended, from their receipts. Nothing is written."""
    return tuple(_report(points, item) for item in batch)


def _fold(view: View, item: Arrival | Rejected, fold: FoldSettings, dead: frozenset[int]) -> Decision | Sweep:
    if isinstance(item, Rejected):
        return _rejected(item)
    receipt = view.get(item.receipt)
    if receipt is not None and not _replays(receipt, item):
        return _died_again(item) if item.record.offset in dead else _repeated(receipt, item)
    overtaken = _overtaken(view, item)
    if item.record.offset in dead:
        return _bury(view, item, AT_RUN_TIME, final=overtaken is not None)
    if overtaken is not None:
        return Decision(item, skip(view, item, overtaken))
    unsupported = _unsupported(item)
    if unsupported is not None:
        return _bury(view, item, unsupported)
    if selects(item.command):
        begun = begin(view, item)
        return begun if isinstance(begun, Sweep) else Decision(item, begun)
    return Decision(item, _applied(view, item, fold))


def _applied(view: View, arrival: Arrival, fold: FoldSettings) -> Outcome:
    match arrival.command:
        case TurnCompleted() as turn:
            return fold_turn(view, arrival, turn, fold)
        case Remember() as fact:
            return fold_remember(view, arrival, fact, fold)
        case Forget() as command:
            return fold_forget(view, arrival, command)
        case Pin() as command:
            return fold_pin(view, arrival, command, fold)
        case Configure() as command:
            return fold_configure(view, arrival, command)
        case Revise() as command:
            return fold_revise(view, arrival, command)
        case Review() as command:
            return fold_review(view, arrival, command)
        case Consolidate() as command:
            return fold_consolidate(view, arrival, command, fold)
        case _:
            raise TypeError("all other commands select")


def _overtaken(view: View, arrival: Arrival) -> str | None:
    """Why a command comes too late that rests on what was known earlier, if it does.

    Derived commands rest on their sources, a replayed dead letter on where it stood first.
    """
    based_on, sources = _rests_on(arrival.command)
    # Who derives may have read what the erasure has left; who stood somewhere first stood where nothing else did.
    since = arrival.original_rev if based_on is None else based_on + 1
    if since is None:
        return None
    tenant = view.tenant(arrival.tenant)
    if tenant is not None and tenant.erased_at is not None and tenant.erased_at >= since:
        return "erased"
    if any(view.live(arrival.tenant, source) is None for source in sources):
        return "stale"
    return None


def _rests_on(command: Command) -> tuple[int | None, Sequence[str]]:
    """The highest rev a derived command was based on, and what it must still find; a consolidation looks by itself."""
    if isinstance(command, Consolidate):
        return command.based_on, ()
    derived = command.derived if isinstance(command, Remember | Revise) else None
    return (derived.based_on, derived.source_ids) if derived else (None, ())


def _report(points: Mapping[str, StoredPoint], item: Arrival | Rejected) -> Decision:
    if isinstance(item, Rejected):
        return _rejected(item)
    if not item.tenant:
        return Decision(item, None)
    receipt = points.get(item.receipt)
    if receipt is None:
        # Collected since: below the checkpoint only what can be told no more is missing.
        return Decision(item, skipped(item, "duplicate"))
    if receipt.born != item.rev or not isinstance(receipt, Memory | Receipt) or receipt.outcome is None:
        return _repeated(receipt, item)
    fault = None
    if isinstance(receipt, Receipt) and receipt.dead:
        fault = _unsupported(item) or AT_RUN_TIME
    return Decision(item, receipt.outcome, fault)


def _replays(receipt: StoredPoint, arrival: Arrival) -> bool:
    """Whether a command replays the dead letter that a dead receipt stands for: it alone takes its key back."""
    return isinstance(receipt, Receipt) and receipt.dead and receipt.born == arrival.original_rev


def _repeated(receipt: StoredPoint, arrival: Arrival) -> Decision:
    known = receipt.digest if isinstance(receipt, Memory | Receipt) else None
    return Decision(arrival, skipped(arrival, "duplicate" if known in (None, arrival.digest) else "conflict"))


def _rejected(item: Rejected) -> Decision:
    outcome = None if item.arrival is None or not item.arrival.tenant else skipped(item.arrival, "dead_letter")
    return Decision(item, outcome, item.fault)


def _bury(view: View, arrival: Arrival, fault: ContractError, *, final: bool = False) -> Decision:
    """Make a command a dead letter: its dead receipt keeps its key, which only its own replay takes back.

    A ``final`` one came too late already: no replay brings it back.
    """
    outcome = skipped(arrival, "dead_letter")
    if not arrival.tenant:
        return Decision(arrival, None, fault)
    return Decision(arrival, leave_receipt(view, arrival, outcome, dead=not final), fault)


def _died_again(arrival: Arrival) -> Decision:
    """A repeated command that was given up at run time: its key keeps the receipt it has."""
    return Decision(arrival, skipped(arrival, "dead_letter") if arrival.tenant else None, AT_RUN_TIME)


def _unsupported(arrival: Arrival) -> ContractError | None:
    """Why this version does not apply a command it can read, if it doesn't."""
    command = arrival.command
    if isinstance(command, Remember):
        if command.collection is not None:
            return ContractError("unsupported", "collection", "this version keeps no typed collections")
        if command.mode == "ask":
            return ContractError("unsupported", "mode", "this version asks nobody; use candidate")
    return None
