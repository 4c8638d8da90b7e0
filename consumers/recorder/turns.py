"""The fold of ``turn.completed``: messages become memories at the next positions of their thread."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from afterturn.consumers.recorder.bound import apply_bound
from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.view import View
from afterturn.consumers.text.split import cut, split
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.ids import memory_id, tenant_id, thread_id
from afterturn.schemas.parts import Message, Source
from afterturn.schemas.points import MAX_AUTHORS, Memory, Outcome, Receipt, TenantState, ThreadState, evict_key
from afterturn.schemas.settings import FoldSettings, Recording
from afterturn.schemas.types import is_blank

DEFAULT_IMPORTANCE = 0.5
SHORT_QUESTION_CHARS = 120
RECORDED = "memory.recorded.v1"
SKIPPED = "memory.skipped.v1"


@dataclass(frozen=True, slots=True)
class Part:
    """A text to keep as one memory: a message, or one part of a long one. Parts share their message's position."""

    message: Message
    position: int
    part: int
    parts: int
    text: str


def parts_of(turn: TurnCompleted, recording: Recording) -> Iterator[Part]:
    """The texts a turn leaves, in order; positions count recorded messages from 0, others get none."""
    position = 0
    for message in turn.messages:
        if message.role not in recording.roles or is_blank(message.content):
            continue
        if recording.long == "cut":
            texts = [cut(message.content, recording.max_chars)]
        else:
            texts = split(message.content, recording.max_chars)
        for number, text in enumerate(texts):
            yield Part(message, position, number, len(texts), text)
        position += 1


def fold_turn(view: View, arrival: Arrival, turn: TurnCompleted, fold: FoldSettings) -> Outcome:
    """Apply a turn that has no receipt yet; returns its outcome, which is in its receipt."""
    tenant = view.tenant(turn.tenant) or _new_tenant(arrival, turn)
    settings = tenant.settings
    if settings.phases and settings.phases.record == "off":
        return _skip(view, arrival, "off")
    if turn.scope.missing(settings.required_scope or ()):
        return _skip(view, arrival, "scope")
    parts = list(parts_of(turn, settings.recording or fold.recording))
    if not parts:
        return _skip(view, arrival, "blank")
    thread = view.thread(turn.tenant, turn.scope, turn.thread) or _new_thread(arrival, turn)
    for ordinal, part in enumerate(parts):
        memory = _memory(arrival, turn, part, ordinal, thread.next_position, tenant.number + 1 + ordinal, fold.embedder)
        view.put(memory_id(turn.tenant, arrival.key, ordinal), memory)
    reached = thread.next_position + parts[-1].position + 1
    view.put(
        thread_id(turn.tenant, turn.scope, turn.thread),
        thread.model_copy(update={"next_position": reached, "rev": arrival.rev}),
    )
    tenant = tenant.model_copy(
        update={
            "live": tenant.live + len(parts),
            "number": tenant.number + len(parts),
            "authors": _authors(tenant, parts),
            "rev": arrival.rev,
        }
    )
    tenant, evicted = apply_bound(view, tenant, settings.bounds or fold.bounds, arrival.rev)
    view.put(tenant_id(turn.tenant), tenant)
    outcome = Outcome(
        event=RECORDED,
        counts={"added": len(parts), "evicted": evicted, "parts": sum(p.parts > 1 for p in parts)},
    )
    first = view.memory(arrival.receipt)
    assert first is not None, "ordinal 0 was put above"
    view.put(arrival.receipt, first.model_copy(update={"outcome": outcome, "digest": arrival.digest}))
    return outcome


def _skip(view: View, arrival: Arrival, reason: str) -> Outcome:
    outcome = Outcome.model_validate({"event": SKIPPED, "operation": "memory.record", "reason": reason})
    receipt = Receipt(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=arrival.tenant,
        outcome=outcome,
        digest=arrival.digest,
    )
    view.put(arrival.receipt, receipt)
    return outcome


def _new_tenant(arrival: Arrival, turn: TurnCompleted) -> TenantState:
    return TenantState(partition=arrival.record.partition, born=arrival.rev, rev=arrival.rev, tenant=turn.tenant)


def _new_thread(arrival: Arrival, turn: TurnCompleted) -> ThreadState:
    return ThreadState(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=turn.tenant,
        scope=turn.scope,
        thread=turn.thread,
        next_position=0,
    )


def _memory(
    arrival: Arrival, turn: TurnCompleted, part: Part, ordinal: int, start: int, number: int, embedder: str
) -> Memory:
    message = part.message
    importance = DEFAULT_IMPORTANCE if message.importance is None else message.importance
    return Memory(
        partition=arrival.record.partition,
        born=arrival.rev,
        rev=arrival.rev,
        tenant=turn.tenant,
        status="active",
        ordinal=ordinal,
        evict_key=evict_key(importance, number),
        scope=turn.scope,
        kind="episodic",
        type="conversation",
        content=part.text,
        chars=len(part.text),
        asks=is_short_question(part.text),
        data={**turn.data, **message.data},
        tags=tuple(dict.fromkeys((*message.tags, *turn.tags))),
        thread=turn.thread,
        turn_id=turn.turn_id,
        position=start + part.position,
        part=part.part,
        parts=part.parts,
        role=message.role,
        author=message.author,
        occurred_at=turn.occurred_at,
        recorded_at=arrival.at,
        content_revised=arrival.at,
        metadata_revised=arrival.at,
        importance=importance,
        confidence=1.0,
        source=Source(type="run", id=turn.run.id) if turn.run else None,
        embedder=embedder,
    )


def _authors(tenant: TenantState, parts: list[Part]) -> tuple[str, ...]:
    named = (p.message.author for p in parts if p.message.author is not None)
    return tuple(dict.fromkeys((*tenant.authors, *named)))[:MAX_AUTHORS]


def is_short_question(text: str) -> bool:
    """Whether a text only asks: it ends in a question mark and has under 120 characters (retrieval.md, step 5)."""
    stripped = text.strip()
    return len(stripped) < SHORT_QUESTION_CHARS and stripped.endswith(("?", "\uff1f"))


def count_parts(turn: TurnCompleted, recording: Recording) -> int:
    """How many memories a turn leaves, without making them."""
    if recording.long == "cut":
        return sum(1 for m in turn.messages if m.role in recording.roles and not is_blank(m.content))
    return sum(
        1 if len(m.content) <= recording.max_chars else len(split(m.content, recording.max_chars))
        for m in turn.messages
        if m.role in recording.roles and not is_blank(m.content)
    )
