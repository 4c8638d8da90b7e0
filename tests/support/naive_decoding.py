"""What a record of the turn log says, by the plainest possible code: the contract's rules for a turn, read by hand.

Nothing here is shared with the recorder: it is what the recorder's decoding is compared with. Only commands other than
turns are validated with the contract's models, since all that is asked of them is whether they hold.
"""

from __future__ import annotations

import json
import unicodedata
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from pydantic import ValidationError

from afterturn.schemas.commands import COMMAND_TYPES
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.records import Record

TURN = "turn.completed.v1"
_DIMENSIONS = ("agent", "route", "user", "workspace")
_ROLES = ("user", "assistant", "system", "tool")
_UNSEEN = (
    (0x00, 0x20), (0x7F, 0xA0), (0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x1680, 0x1680),
    (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2000, 0x200F), (0x2028, 0x202F), (0x205F, 0x206F), (0x2800, 0x2800),
    (0x3000, 0x3000), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF),
)  # fmt: skip


class Poison(Exception):  # noqa: N818 - it is what the record is
    """No command of this contract: a dead letter that writes nothing and has no tenant to tell."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class Said:
    """A decodable command: its type, its CloudEvents id and source, its body after normalising.

    A ``misrouted`` one stands in a partition where its tenant's order doesn't hold.
    """

    type: str
    ce_id: str
    ce_source: str
    original_rev: int | None
    tenant: str
    body: dict[str, Any]
    misrouted: bool


def blank(text: str) -> bool:
    """Whether nothing of a text shows."""
    return all(any(low <= ord(c) <= high for low, high in _UNSEEN) for c in text)


def read(record: Record, settings: FoldSettings) -> Said:
    """The command of a record.

    Raises:
        Poison: with the reason of its dead letter.
    """
    headers = _headers(record)
    if headers["ce_type"] not in COMMAND_TYPES:
        raise Poison("unsupported")
    if not record.value:
        raise Poison("empty")
    if len(record.value) > 2_000_000:
        raise Poison("too_large")
    body = _json(record.value)
    body = _turn(body) if headers["ce_type"] == TURN else _other(headers["ce_type"], body)
    tenant = body.get("tenant", "")
    original = headers.get("afterturn_original_rev", "")
    if headers["ce_type"] == "log.collect.v1":
        misrouted = body["partition"] != record.partition
        if body["below"] > record.offset and not misrouted:
            raise Poison("invalid")
    else:
        misrouted = record.key != tenant.encode() or _partition(record.key, settings) != record.partition
    return Said(
        type=headers["ce_type"],
        ce_id=headers["ce_id"],
        ce_source=headers["ce_source"],
        original_rev=int(original) if original.isascii() and original.isdigit() else None,
        tenant=tenant,
        body=body,
        misrouted=misrouted,
    )


def _headers(record: Record) -> dict[str, str]:
    found = {}
    for name, raw in record.headers:
        try:
            found[name] = raw.decode()
        except UnicodeDecodeError:
            found[name] = "\ud800"
    for name in ("ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time"):
        if not found.get(name) or len(found[name]) > 1_024 or found[name] == "\ud800":
            raise Poison("headers")
    if found["ce_specversion"] != "1.0" or not _names_something(found["ce_id"]):
        raise Poison("headers")
    try:
        datetime.fromisoformat(found["ce_time"])
    except ValueError:
        raise Poison("headers") from None
    return found


def _names_something(ce_id: str) -> bool:
    try:
        return bool(_identifier(ce_id))
    except Poison:
        return False


def _json(value: bytes) -> dict[str, Any]:
    try:
        body = json.loads(value.decode())
    except (ValueError, RecursionError):
        raise Poison("not_json") from None
    if not isinstance(body, dict):
        raise Poison("invalid")
    return {k: _mended(v) for k, v in body.items()}


def _mended(value: Any) -> Any:
    if isinstance(value, str):
        both_halves_joined = value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
        return both_halves_joined.replace("\0", "")
    if isinstance(value, list):
        return [_mended(v) for v in value]
    if isinstance(value, dict):
        return {_mended(k): _mended(v) for k, v in value.items()}
    return value


def _need(holds: object) -> None:
    if not holds:
        raise Poison("invalid")


def _turn(body: dict[str, Any]) -> dict[str, Any]:
    turn = {name: _identifier(body.get(name)) for name in ("tenant", "thread", "turn_id")}
    scope = body.get("scope", {})
    _need(isinstance(scope, dict))
    messages = body.get("messages")
    _need(isinstance(messages, list) and len(messages) <= 256)
    return {
        **turn,
        "scope": {d: _identifier(scope[d]) for d in _DIMENSIONS if scope.get(d) is not None},
        "occurred_at": _time(body.get("occurred_at")),
        "messages": [_message(m) for m in messages or []],
        "tags": _tags(body.get("tags", [])),
        "data": _data(body.get("data", {})),
        "run": _run(body["run"]) if body.get("run") is not None else None,
        "replaces": _identifier(body["replaces"]) if body.get("replaces") is not None else None,
    }


def _message(message: Any) -> dict[str, Any]:
    _need(isinstance(message, dict) and message.get("role") in _ROLES and isinstance(message.get("content"), str))
    return {
        "role": message["role"],
        "author": _identifier(message["author"]) if message.get("author") is not None else None,
        "content": message["content"],
        "importance": _share(message["importance"]) if message.get("importance") is not None else None,
        "tags": _tags(message.get("tags", [])),
        "data": _data(message.get("data", {})),
    }


def _run(run: Any) -> dict[str, Any]:
    _need(isinstance(run, dict) and run.get("outcome") in ("ok", "error"))
    duration = run.get("duration_ms")
    _need(isinstance(duration, int) and not isinstance(duration, bool) and 0 <= duration < 2**63)
    return {"id": _identifier(run.get("id")), "outcome": run["outcome"]}


def _identifier(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    _need(isinstance(value, str))
    name = unicodedata.normalize("NFC", str(value))
    _need(1 <= len(name) <= 256 and not any(unicodedata.category(c) == "Cc" for c in name))
    return name


def _time(value: Any) -> str:
    _need(isinstance(value, str) and len(value) >= 16)
    try:
        time = datetime.fromisoformat(value)
        time = time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        raise Poison("invalid") from None
    return written(time)


def written(time: datetime) -> str:
    """A time as payloads hold it."""
    return time.isoformat().replace("+00:00", "Z")


def _share(value: Any) -> float:
    _need(isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 1)
    return float(value)


def _tags(value: Any) -> list[str]:
    _need(isinstance(value, list) and len(value) <= 64)
    _need(all(isinstance(tag, str) and 1 <= len(tag) <= 128 for tag in value))
    return list(value)


def _data(value: Any) -> dict[str, Any]:
    _need(isinstance(value, dict) and _depth(value) <= 8)
    try:
        _need(len(json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()) <= 16_384)
    except ValueError:
        raise Poison("invalid") from None
    _need(all(-(2**63) <= number < 2**63 for number in _integers(value)))
    return dict(value)


def _depth(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + max((_depth(v) for v in (value.values() if isinstance(value, dict) else value)), default=0)
    return 0


def _integers(value: Any) -> list[int]:
    if isinstance(value, dict | list):
        inner = list(value.values()) if isinstance(value, dict) else value
        return [number for v in inner for number in _integers(v)]
    return [value] if isinstance(value, int) else []


def _other(kind: str, body: dict[str, Any]) -> dict[str, Any]:
    try:
        text = json.dumps(body, ensure_ascii=True)
        model = COMMAND_TYPES[kind].model_validate_json(text, extra="ignore")
    except ValidationError:
        raise Poison("invalid") from None
    return dict(json.loads(model.model_dump_json(exclude_none=True)))


def _partition(key: bytes | None, settings: FoldSettings) -> int:
    if settings.partitioner == "crc32":
        return _crc32(key or b"") % settings.partitions
    return (_murmur2(key or b"") & 0x7FFFFFFF) % settings.partitions


def _murmur2(key: bytes) -> int:
    m, low32 = 0x5BD1E995, 0xFFFFFFFF
    h = 0x9747B28C ^ len(key)
    rest = list(key)
    while len(rest) >= 4:
        k = rest[0] + (rest[1] << 8) + (rest[2] << 16) + (rest[3] << 24)
        rest = rest[4:]
        k = (k * m) & low32
        k ^= k >> 24
        k = (k * m) & low32
        h = ((h * m) & low32) ^ k
    if len(rest) == 3:
        h ^= rest[2] << 16
    if len(rest) >= 2:
        h ^= rest[1] << 8
    if rest:
        h ^= rest[0]
        h = (h * m) & low32
    h ^= h >> 13
    h = (h * m) & low32
    return h ^ (h >> 15)


def _crc32(data: bytes) -> int:
    register = 0xFFFFFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = (register >> 1) ^ (0xEDB88320 if register & 1 else 0)
    return register ^ 0xFFFFFFFF
