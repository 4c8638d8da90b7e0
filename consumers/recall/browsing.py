"""Browsing: cursors that belong to what was asked, and memories and threads as they are shown. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from afterturn.consumers.recall import cursors
from afterturn.consumers.store.browse import Order, Place, Value
from afterturn.schemas.browsing import MemoryView, Sort, ThreadMessage
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import digest_of
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Memory

ORDERS: Mapping[Sort, Order] = {
    "newest": Order("occurred_at", descending=True),
    "oldest": Order("occurred_at", descending=False),
    "recorded": Order("born", descending=True),
    "important": Order("importance", descending=True),
}
_TIMES = frozenset({"occurred_at"})


class Cursor(NamedTuple):
    """Where a page ended, and the instant of the first page: relative times go on meaning the same."""

    now: datetime
    place: Place


def fingerprint(tenant: str, asked: Sequence[object]) -> str:
    """What a cursor belongs to: another tenant, filter or order has another."""
    return digest_of([tenant, *asked])[:16]


def write_cursor(belongs: str, cursor: Cursor) -> str:
    """A cursor as text."""
    return cursors.written([belongs, cursor.now.isoformat(), cursor.place.value, cursor.place.id])


def read_cursor(text: str, belongs: str, order: Order) -> Cursor:
    """A cursor from its text.

    Raises:
        ContractError: it is none, or belongs to other filters, another order or another tenant.
    """
    try:
        whose, now, value, id_ = cursors.read(text)
        cursor = Cursor(datetime.fromisoformat(now), Place(_value(value, order), str(id_)))
    except (ValueError, TypeError):
        raise ContractError("invalid", "cursor", "is none that a page of this service gave") from None
    if whose != belongs or cursor.now.tzinfo is None:
        raise ContractError("invalid", "cursor", "belongs to other filters or another order: begin anew without it")
    return cursor


def _value(value: object, order: Order) -> Value:
    if order.key in _TIMES:
        datetime.fromisoformat(str(value))
        return str(value)
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(order.key)
    return value


def place_of(id_: str, memory: Memory, order: Order) -> Place:
    """A memory's place in an order, as the store keeps it."""
    return Place(memory.payload()[order.key], id_)


def view(id_: str, memory: Memory) -> dict[str, Any]:
    """A memory as it is shown: JSON values, what it doesn't have left out."""
    fields = {name: getattr(memory, name) for name in MemoryView.model_fields if hasattr(memory, name)}
    kind = memory.kind or "semantic"
    fields |= {"id": id_, "text": memory.content or "", "kind": kind, "type": memory.type or kind}
    for name, usual in (("importance", 0.5), ("confidence", 1.0)):
        fields[name] = usual if fields[name] is None else fields[name]
    return MemoryView.model_construct(None, **fields).model_dump(mode="json", exclude_none=True)


def in_order(found: Mapping[str, Memory], first: int, end: int) -> list[ThreadMessage]:
    """The messages at these positions: long ones whole again, what was removed as a gap."""
    at: dict[int, list[tuple[str, Memory]]] = {}
    for id_, memory in found.items():
        at.setdefault(memory.position or 0, []).append((id_, memory))
    return [_message(position, at.get(position, [])) for position in range(first, end)]


def _message(position: int, points: list[tuple[str, Memory]]) -> ThreadMessage:
    there = sorted(((i, m) for i, m in points if m.status in LIVE), key=lambda pair: pair[1].part or 0)
    if not there:
        status = next((memory.status for _, memory in points), None)
        return ThreadMessage.model_construct(None, position=position, removed=status or "collected")
    head = there[0][1]
    missing = max(head.parts or 1, 1) - len(there)
    return ThreadMessage.model_construct(
        None,
        position=position,
        ids=tuple(id_ for id_, _ in there),
        text="".join(memory.content or "" for _, memory in there),
        status=head.status,
        role=head.role,
        author=head.author,
        turn_id=head.turn_id,
        occurred_at=head.occurred_at,
        tags=head.tags,
        missing_parts=missing if missing > 0 else None,
    )
