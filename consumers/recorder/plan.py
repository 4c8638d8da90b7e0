"""Step 3 of the write path: ``plan``, the pure fold of the turn log.

The invariant it carries: at every moment the points of a partition are exactly the fold of its log from the start to
the checkpoint. Tests fold the whole log with ``plan`` and compare points exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.recorder.turns import SKIPPED, fold_turn
from afterturn.consumers.recorder.view import Snapshot, View
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import position_of
from afterturn.schemas.points import Memory, Outcome, Receipt, StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Stop

PLAN_VERSION = 1
"""Grows with every change of what a log folds to; a checkpoint of a newer plan stops an older recorder."""
OPERATIONS: Mapping[str, str] = {
    "turn.completed.v1": "memory.record",
    "memory.remember.v1": "memory.record",
    "memory.revise.v1": "memory.revise",
    "memory.review.v1": "memory.review",
    "memory.consolidate.v1": "memory.consolidate",
    "memory.forget.v1": "memory.forget",
    "memory.pin.v1": "memory.pin",
    "tenant.configure.v1": "tenant.configure",
    "tenant.erase.v1": "tenant.erase",
}
"""The operation a ``memory.skipped`` event names, by the command's type."""


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
        return self.item.arrival if isinstance(self.item, Rejected) else self.item


@dataclass(frozen=True, slots=True)
class Plan:
    """What a batch comes to: the points it changes and how each record ended, in offset order."""

    points: Mapping[str, StoredPoint] = field(default_factory=dict)
    decisions: tuple[Decision, ...] = ()


def plan(
    snapshot: Snapshot, batch: Sequence[Arrival | Rejected], fold: FoldSettings, dead: frozenset[int] = frozenset()
) -> Plan:
    """Fold a batch at the checkpoint over what was read before it.

    ``dead`` holds the offsets whose records were made dead letters at run time: they fold to a dead receipt.

    Raises:
        TailTooShortError: where the snapshot holds too few eviction candidates.
    """
    view = View(snapshot)
    decisions = tuple(_fold(view, item, fold, dead) for item in batch)
    return Plan(view.changed, decisions)


def report(points: Mapping[str, StoredPoint], batch: Sequence[Arrival | Rejected]) -> tuple[Decision, ...]:
    """How the records of a batch below the checkpoint ended, from their receipts. Nothing is written.

    Raises:
        Stop: a command below the checkpoint has no receipt.
    """
    return tuple(_report(points, item) for item in batch)


def _fold(view: View, item: Arrival | Rejected, fold: FoldSettings, dead: frozenset[int]) -> Decision:
    if isinstance(item, Rejected):
        return _rejected(item)
    receipt = view.get(item.receipt)
    if receipt is not None and not _replays(receipt, item):
        return _repeated(receipt, item)
    unsupported = _unsupported(item)
    if unsupported is not None:
        return _bury(view, item, unsupported)
    if item.record.offset in dead:
        return _bury(view, item, ContractError("invalid", "", "made a dead letter at run time"))
    assert isinstance(item.command, TurnCompleted), "all other commands are unsupported above"
    return Decision(item, fold_turn(view, item, item.command, fold))


def _report(points: Mapping[str, StoredPoint], item: Arrival | Rejected) -> Decision:
    if isinstance(item, Rejected):
        return _rejected(item)
    if not item.tenant:
        return Decision(item, None, _unsupported(item))
    receipt = points.get(item.receipt)
    if receipt is None:
        raise Stop(
            f"The store holds no receipt of the command at offset {item.record.offset} of partition "
            f"{item.record.partition}, though its checkpoint is beyond: it was written by something else, or restored "
            "under a running recorder.",
            command_that_helps="afterturn doctor",
        )
    if receipt.born != item.rev or not isinstance(receipt, Memory | Receipt) or receipt.outcome is None:
        return _repeated(receipt, item)
    fault = None
    if isinstance(receipt, Receipt) and receipt.dead:
        fault = _unsupported(item) or ContractError("invalid", "", "made a dead letter at run time")
    return Decision(item, receipt.outcome, fault)


def _replays(receipt: StoredPoint, arrival: Arrival) -> bool:
    """Whether a command replays the dead letter that a dead receipt stands for: it alone takes its key back."""
    original = arrival.attributes.original_offset
    return isinstance(receipt, Receipt) and receipt.dead and position_of(receipt.born)[1] == original


def _repeated(receipt: StoredPoint, arrival: Arrival) -> Decision:
    same = isinstance(receipt, Memory | Receipt) and receipt.digest == arrival.digest
    return Decision(arrival, skipped(arrival, "duplicate" if same else "conflict"))


def _rejected(item: Rejected) -> Decision:
    outcome = None if item.arrival is None or not item.arrival.tenant else skipped(item.arrival, "dead_letter")
    return Decision(item, outcome, item.fault)


def _bury(view: View, arrival: Arrival, fault: ContractError) -> Decision:
    """Make a command a dead letter: its dead receipt keeps its key, which only its own replay takes back."""
    outcome = skipped(arrival, "dead_letter")
    if not arrival.tenant:
        return Decision(arrival, None, fault)
    receipt = Receipt(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=arrival.tenant,
        outcome=outcome,
        digest=arrival.digest,
        dead=True,
    )
    view.put(arrival.receipt, receipt)
    return Decision(arrival, outcome, fault)


def _unsupported(arrival: Arrival) -> ContractError | None:
    """Why this version does not apply a command it can read, if it doesn't."""
    command = arrival.command
    if not isinstance(command, TurnCompleted):
        return ContractError("unsupported", "ce_type", "this version does not apply commands of this type")
    if command.replaces is not None:
        return ContractError("unsupported", "replaces", "this version does not supersede earlier turns")
    return None


def skipped(arrival: Arrival, reason: str) -> Outcome:
    """The outcome of a command that was not carried out."""
    operation = OPERATIONS.get(arrival.command.TYPE)
    return Outcome.model_validate({"event": SKIPPED, "operation": operation, "reason": reason})
