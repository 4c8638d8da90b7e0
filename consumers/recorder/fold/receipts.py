"""Receipts: what proves that a command was applied, and how it ended."""

from __future__ import annotations

from collections.abc import Mapping

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.view import View
from afterturn.schemas.points import Outcome, Receipt

SKIPPED = "memory.skipped.v1"
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


def skipped(arrival: Arrival, reason: str) -> Outcome:
    """The outcome of a command that was not carried out."""
    operation = OPERATIONS.get(arrival.command.TYPE)
    return Outcome.model_validate({"event": SKIPPED, "operation": operation, "reason": reason})


def leave_receipt(view: View, arrival: Arrival, outcome: Outcome, *, dead: bool = False) -> Outcome:
    """Keep an outcome at the command's id, where it left no memory; returns it."""
    receipt = Receipt(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=arrival.tenant,
        outcome=outcome,
        digest=arrival.digest,
        dead=dead,
    )
    view.put(arrival.receipt, receipt)
    return outcome


def skip(view: View, arrival: Arrival, reason: str) -> Outcome:
    """Leave a command out, and keep a receipt that says so."""
    return leave_receipt(view, arrival, skipped(arrival, reason))
