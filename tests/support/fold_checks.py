"""Comparing what the recorder makes of a log with what the naive model expects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from afterturn.consumers.recorder.announcing import ending_of, event_of
from afterturn.consumers.recorder.fold.plan import Decision
from afterturn.schemas.parts import Usage
from afterturn.schemas.points import StoredPoint
from support.naive_model import Ended, Payload

Points = Mapping[str, StoredPoint]


def without_digests(payloads: Mapping[str, Payload]) -> dict[str, Payload]:
    """Payloads without their digests, which the naive model keeps in another form."""
    return {i: {k: v for k, v in p.items() if k != "digest"} for i, p in payloads.items()}


def assert_same_points(points: Points, expected: Mapping[str, Payload]) -> None:
    """The same ids with the same payloads; digests are equal exactly where the naive model's are, tenant by tenant."""
    payloads = {i: p.payload() for i, p in points.items()}
    assert without_digests(payloads) == without_digests(expected)
    pairs = {(payloads[i].get("digest"), p.get("digest")) for i, p in expected.items()}
    assert len({ours for ours, _ in pairs}) == len(pairs), "one digest for two contents"
    assert len({theirs for _, theirs in pairs}) == len(pairs), "two digests for one content"


def ended_of(decision: Decision) -> Ended:
    """A decision in the naive model's words."""
    fault, outcome = decision.fault, decision.outcome
    reason = fault.reason if fault else outcome.reason if outcome else None
    return Ended(ending_of(decision), reason, event_fields(decision))


def event_fields(decision: Decision) -> dict[str, Any] | None:
    """The outcome event's fields that the naive model knows."""
    event = event_of(decision, ms=0.0, unembedded=0, usage=Usage())
    if event is None:
        return None
    command = event.command
    assert command is not None
    counts = event.model_dump(exclude={"tenant", "command", "thread", "turn_id", "at", "ms", "usage", "error"})
    return {
        "event": event.TYPE,
        "tenant": event.tenant,
        "thread": event.thread,
        "turn_id": event.turn_id,
        "id": command.id,
        "type": command.type,
        "offset": command.offset,
        **counts,
    }


def assert_same_endings(decisions: Sequence[Decision], expected: Sequence[Ended]) -> None:
    """Each record ended as expected, and says so in its event; a count of 0 is as good as none."""
    assert [_without_zeros(ended_of(d)) for d in decisions] == [_without_zeros(e) for e in expected]


def _without_zeros(ended: Ended) -> Ended:
    said = None if ended.event is None else {k: v for k, v in ended.event.items() if v or k == "offset"}
    return replace(ended, event=said)
