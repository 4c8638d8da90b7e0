"""What a batch tells the world: an outcome event for every command, a dead letter for what can never succeed."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta

from afterturn.consumers.recorder.decoding import Arrival, Rejected, command_of
from afterturn.consumers.recorder.embedding import NOTHING_EMBEDDED, Embedded
from afterturn.consumers.recorder.fold.plan import Decision
from afterturn.consumers.recorder.fold.receipts import skipped
from afterturn.schemas.codec import Attributes, Headers, encode
from afterturn.schemas.commands import Consolidate, TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import EVENT_TYPES, CommandRef, Consolidated, Erased, MemoryEvent, Recorded, Skipped
from afterturn.schemas.ids import event_id, position_of
from afterturn.schemas.parts import Usage
from afterturn.schemas.points import StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.kafka import MAX_REQUEST_BYTES, estimated_size
from afterturn.streams.lanes.seam import Applied, Ending
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import OutRecord, Record
from afterturn.streams.topics import TopicNames

EVENT_SOURCE = "afterturn/recorder"
ATTEMPTS = 1


@dataclass(frozen=True, slots=True)
class Finished:
    """A batch that is in the store: how each record ended, and what was written with which vectors."""

    decisions: tuple[Decision, ...]
    points: Mapping[str, StoredPoint] = field(default_factory=dict)
    embedded: Embedded = NOTHING_EMBEDDED


class Announcer:
    """Turns finished batches into what their transaction publishes.

    ``clear_after`` is how long after a record was written nothing of it is left in the log; None where it is kept.
    """

    def __init__(self, topics: TopicNames, fold: FoldSettings, clear_after: timedelta | None = None) -> None:
        self._topics = topics
        self._fold = fold
        self._clear_after = clear_after

    def announce(self, batch: Sequence[Arrival | Rejected], finished: Finished, phases: Mapping[str, float]) -> Applied:
        """What became of a batch whose steps took so many seconds: events and letters in offset order, and counts."""
        seconds = sum(phases.values())
        outgoing: list[tuple[int, OutRecord]] = []
        costs = _costs(finished)
        for decision in finished.decisions:
            cost = costs.get(decision.item.rev, _FREE)
            event = event_of(decision, ms=seconds * 1_000, unembedded=cost.unembedded, usage=cost.usage())
            if isinstance(event, Erased) and self._clear_after is not None:
                event = event.model_copy(update={"log_clear_at": event.at + self._clear_after})
            offset = decision.item.record.offset
            if event is not None:
                outgoing.append((offset, event_record(event, decision, self._topics, self._fold)))
            if (letter := dead_letter(decision, self._topics, self._fold.epoch)) is not None:
                outgoing.append((offset, letter))
        told = [decision.outcome for decision in finished.decisions if decision.outcome is not None]
        return Applied(
            next=batch[-1].record.offset + 1,
            outgoing=tuple(outgoing),
            endings=Counter(ending_of(decision) for decision in finished.decisions),
            skipped=Counter((str(each.operation), each.reason) for each in told if each.reason is not None),
            dead=Counter(each.fault.reason for each in finished.decisions if each.fault is not None),
            evicted=sum(each.counts.get("evicted", 0) for each in told),
            unembedded=len(finished.embedded.unembedded),
            phases=phases,
        )

    def bury(self, item: Arrival | Rejected, fault: ContractError, error: str, attempts: int) -> tuple[OutRecord, ...]:
        """What a record that is given up at run time is told by: its dead letter, and its event where it has one."""
        arrival = command_of(item)
        outcome = skipped(arrival, "dead_letter") if arrival is not None and arrival.tenant else None
        decision = Decision(item, outcome, fault)
        letter = dead_letter(decision, self._topics, self._fold.epoch, error, attempts)
        event = event_of(decision, ms=0.0, unembedded=0, usage=Usage(), error=error)
        told = () if event is None else (event_record(event, decision, self._topics, self._fold),)
        return (*told, letter) if letter is not None else told


@dataclass(slots=True)
class _Cost:
    """What embedding one command's texts came to."""

    unembedded: int = 0
    tokens: int = 0
    calls: int = 0

    def usage(self) -> Usage:
        return Usage(embedder_calls=self.calls, embedded_tokens=self.tokens)


_FREE = _Cost()


def _costs(finished: Finished) -> dict[int, _Cost]:
    costs: dict[int, _Cost] = {}
    for id_, tokens in finished.embedded.tokens.items():
        cost = costs.setdefault(finished.points[id_].rev, _Cost(calls=finished.embedded.calls))
        cost.tokens += tokens
        cost.unembedded += id_ in finished.embedded.unembedded
    return costs


def ending_of(decision: Decision) -> Ending:
    """How a consumed record ended."""
    if decision.fault is not None:
        return "dead_lettered"
    outcome = decision.outcome
    if outcome is None or outcome.reason is None:
        return "applied"
    return "duplicate" if outcome.reason == "duplicate" else "skipped"


def event_of(
    decision: Decision, *, ms: float, unembedded: int, usage: Usage, error: str | None = None
) -> MemoryEvent | None:
    """A command's outcome event, from its outcome alone; None where no tenant can be told.

    ``error`` is an error class's simple name, where another than the fault's is to be told.
    """
    arrival, outcome = decision.arrival, decision.outcome
    if arrival is None or outcome is None or not arrival.tenant:
        return None
    epoch, offset = position_of(arrival.rev)
    turn = arrival.command if isinstance(arrival.command, TurnCompleted) else None
    fields: dict[str, object] = {
        "tenant": arrival.tenant,
        "command": CommandRef(
            id=arrival.attributes.id,
            type=arrival.attributes.type,
            epoch=epoch,
            partition=arrival.record.partition,
            offset=offset,
        ),
        "thread": turn.thread if turn else None,
        "turn_id": turn.turn_id if turn else None,
        "at": arrival.at,
        "ms": round(ms, 3),
        **outcome.counts,
    }
    model = EVENT_TYPES[outcome.event]
    if model is Skipped:
        error = error or (type(decision.fault).__name__ if decision.fault else outcome.error)
        fields |= {"operation": outcome.operation, "reason": outcome.reason, "error": error}
    if model is Recorded:
        fields |= {"unembedded": unembedded, "usage": usage}
    if isinstance(arrival.command, Consolidate) and model is Consolidated:
        fields |= {"usage": arrival.command.usage + usage}
    return model.model_validate(fields)


def given_up(reason: str) -> ContractError:
    """What a dead letter says whose record was given up at run time: refused by the store, or deadly to the process."""
    if reason == "crash":
        return ContractError("crash", "", "the process died each time this record was alone at work")
    return ContractError("refused", "", "the store refused it each time it was tried alone, while all else was well")


def event_record(event: MemoryEvent, decision: Decision, topics: TopicNames, fold: FoldSettings) -> OutRecord:
    """The record of an outcome event; its id is the same however often it is published."""
    arrival = decision.arrival
    assert arrival is not None, "an event has a command"
    epoch, offset = position_of(arrival.rev)
    attributes = Attributes(
        id=event_id(arrival.attributes.id, epoch, arrival.record.partition, offset),
        source=EVENT_SOURCE,
        type=event.TYPE,
        time=arrival.at,
        traceparent=arrival.attributes.traceparent,
    )
    encoded = encode(event, attributes)
    key = event.tenant.encode()
    partition = partition_for(key, fold.partitions, fold.partitioner)
    return OutRecord(topics.memory_events, key, encoded.value, encoded.headers, partition)


def dead_letter(
    decision: Decision, topics: TopicNames, epoch: int, error: str | None = None, attempts: int = ATTEMPTS
) -> OutRecord | None:
    """The record's bytes untouched, with headers that say why, and where it stood; None where it is none.

    Only what no topic would take is left out, and the headers say so.
    """
    fault = decision.fault
    if fault is None:
        return None
    record = decision.item.record
    said: Mapping[str, str] = {
        "afterturn_reason": fault.reason,
        "afterturn_error": error or type(fault).__name__,
        "afterturn_place": fault.place,
        "afterturn_problem": fault.problem,
        "afterturn_topic": record.topic,
        "afterturn_epoch": str(epoch),
        "afterturn_partition": str(record.partition),
        "afterturn_offset": str(record.offset),
        "afterturn_attempts": str(attempts),
    }
    ours = tuple((name, value.encode("utf-8", "replace")) for name, value in said.items())
    letter = OutRecord(topics.dead_letter, record.key, record.value, record.headers + ours, record.partition)
    return letter if estimated_size(letter) <= MAX_REQUEST_BYTES else _without_bytes(record, letter, ours)


def _without_bytes(record: Record, letter: OutRecord, ours: Headers) -> OutRecord:
    """A dead letter of a record that was packed on its way in, and unpacked is larger than any topic takes.

    It says how large the value was and its digest; the bytes themselves stay on the turn log.
    """
    value = record.value or b""
    said = (
        *ours,
        ("afterturn_left_out", b"value"),
        ("afterturn_value_bytes", str(len(value)).encode()),
        ("afterturn_value_sha256", hashlib.sha256(value).hexdigest().encode()),
    )
    valueless = replace(letter, value=None, headers=record.headers + said)
    if estimated_size(valueless) <= MAX_REQUEST_BYTES:
        return valueless
    return replace(letter, key=None, value=None, headers=(*said, ("afterturn_left_out", b"key, headers")))


def last_of(record: Record) -> tuple[str, int]:
    """What a checkpoint keeps of the last record folded in, to recognise the log by: key (hex) and time (ms)."""
    return (record.key or b"").hex()[:512], max(record.timestamp_ms, 0)
