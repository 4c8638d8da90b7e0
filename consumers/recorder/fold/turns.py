"""The fold of ``turn.completed``: messages become memories at the next positions of their thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.receipts import skip
from afterturn.consumers.recorder.fold.recording import is_short_question, left_out, recorded, supersede
from afterturn.consumers.recorder.fold.tenants import expiry, tenant_of
from afterturn.consumers.recorder.fold.view import View
from afterturn.consumers.text.split import cut, split
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.ids import memory_id, memory_ids, thread_id, turn_key
from afterturn.schemas.parts import Message, Source
from afterturn.schemas.points import (
    MAX_AUTHORS,
    Memory,
    Outcome,
    Receipt,
    StoredPoint,
    TenantState,
    ThreadState,
    evict_key,
)
from afterturn.schemas.settings import FoldSettings, Recording
from afterturn.schemas.types import is_blank

DEFAULT_IMPORTANCE = 0.5


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
    tenant = tenant_of(view, arrival)
    reason = left_out(tenant, turn.scope)
    if reason is not None:
        return skip(view, arrival, reason)
    parts = list(parts_of(turn, tenant.settings.recording or fold.recording))
    if not parts:
        return skip(view, arrival, "blank")
    thread = _thread(view, arrival, turn)
    replaced = supersede(view, arrival, replaced_ids(view.get, turn))
    for ordinal, part in enumerate(parts):
        memory = _memory(arrival, turn, part, ordinal, thread.next_position, tenant, fold.embedder)
        view.put(memory_id(turn.tenant, arrival.key, ordinal), memory)
    reached = thread.next_position + parts[-1].position + 1
    view.put(
        thread_id(turn.tenant, turn.scope, turn.thread),
        thread.model_copy(update={"next_position": reached, "rev": arrival.rev}),
    )
    tenant = tenant.model_copy(update={"authors": _authors(tenant, parts)})
    counts = {"added": len(parts), "superseded": replaced, "parts": sum(p.parts > 1 for p in parts)}
    return recorded(view, arrival, tenant, fold, counts, episodes=len(parts))


def _thread(view: View, arrival: Arrival, turn: TurnCompleted) -> ThreadState:
    known = view.thread(turn.tenant, turn.scope, turn.thread)
    if known is not None and known.status is None:
        return known
    return ThreadState(
        partition=arrival.record.partition,
        born=known.born if known else arrival.rev,
        rev=arrival.rev,
        tenant=turn.tenant,
        scope=turn.scope,
        thread=turn.thread,
    )


def replaced_ids(get: Callable[[str], StoredPoint | None], turn: TurnCompleted) -> list[str]:
    """The ids of the memories of the turn that this one replaces, by what that one's receipt says it added."""
    if turn.replaces is None or turn.replaces == turn.turn_id:
        return []
    key = turn_key(turn.scope, turn.thread, turn.replaces)
    receipt = get(memory_id(turn.tenant, key, 0))
    outcome = receipt.outcome if isinstance(receipt, Memory | Receipt) else None
    return memory_ids(turn.tenant, key, outcome.counts.get("added", 0) if outcome else 0)


def _memory(
    arrival: Arrival, turn: TurnCompleted, part: Part, ordinal: int, start: int, tenant: TenantState, embedder: str
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
        evict_key=evict_key(importance, tenant.number + 1 + ordinal),
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
        expires_at=expiry(tenant, "episodic", arrival.at),
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


def count_parts(turn: TurnCompleted, recording: Recording) -> int:
    """How many memories a turn leaves, without making them."""
    if recording.long == "cut":
        return sum(1 for m in turn.messages if m.role in recording.roles and not is_blank(m.content))
    return sum(
        1 if len(m.content) <= recording.max_chars else len(split(m.content, recording.max_chars))
        for m in turn.messages
        if m.role in recording.roles and not is_blank(m.content)
    )
