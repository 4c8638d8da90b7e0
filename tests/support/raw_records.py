"""Records of the turn log as publishers in other languages write them: good but for what a test changes."""

import json
from datetime import UTC, datetime
from typing import Any

from afterturn.schemas.codec import Attributes, decode_command
from afterturn.schemas.commands import TurnCompleted

AT = "2026-01-01T00:00:00Z"
TURN = TurnCompleted.TYPE


def headers(type_: str = TURN, /, **changes: bytes | None) -> list[tuple[str, bytes]]:
    """Good headers but for the changes; None leaves one out."""
    good = dict(Attributes("1", "shop", type_, datetime(2026, 1, 1, tzinfo=UTC)).headers())
    return [(name, value) for name, value in {**good, **changes}.items() if value is not None]


def message(**changes: Any) -> dict[str, Any]:
    """A good message but for the changes."""
    return {"role": "user", "content": "x", **changes}


def turn(**changes: Any) -> dict[str, Any]:
    """A good turn's body but for the changes; ``...`` leaves a field out."""
    fields = {"tenant": "t", "thread": "h", "turn_id": "1", "occurred_at": AT, "messages": [message()], **changes}
    return {name: value for name, value in fields.items() if value is not ...}


def accepted(body: Any, *, type_: str = TURN) -> Any:
    """The command a publisher's own check makes of a body."""
    raw = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_command(headers(type_), raw, unknown="forbid")[1]
