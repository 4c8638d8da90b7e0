"""CloudEvents 1.0 in Kafka's binary mode: attributes in headers, a JSON body, the tenant as the key."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Literal, TypeVar

import orjson
from pydantic import ValidationError

from afterturn.schemas.commands import COMMAND_TYPES, Collect, Command
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import EVENT_TYPES, MemoryEvent, UnknownEvent
from afterturn.schemas.types import Model, clean_json

MAX_BODY_BYTES = 2_000_000
Headers = tuple[tuple[str, bytes], ...]
UnknownFields = Literal["forbid", "ignore"]
M = TypeVar("M", bound=Model)


@dataclass(frozen=True, slots=True)
class Attributes:
    """A CloudEvent's attributes.

    ``source`` names the application, not the instance; with ``id`` it is the idempotency key of all commands but turns.
    ``original_offset`` is where a replayed dead letter stood first.
    """

    id: str
    source: str
    type: str
    time: datetime
    traceparent: str | None = None
    original_offset: int | None = None

    def headers(self) -> Headers:
        """The Kafka headers, in a fixed order."""
        pairs = [
            ("ce_specversion", "1.0"),
            ("ce_id", self.id),
            ("ce_source", self.source),
            ("ce_type", self.type),
            ("ce_time", self.time.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")),
            ("content-type", "application/json"),
        ]
        if self.traceparent:
            pairs.append(("traceparent", self.traceparent))
        if self.original_offset is not None:
            pairs.append(("afterturn_original_offset", str(self.original_offset)))
        return tuple((name, value.encode()) for name, value in pairs)


@dataclass(frozen=True, slots=True)
class Encoded:
    """A record as it is produced. The key is None for ``log.collect`` only."""

    key: bytes | None
    value: bytes
    headers: Headers


def body_of(model: Model) -> bytes:
    """A model's JSON body: absent fields left out."""
    return orjson.dumps(model.model_dump(mode="json", exclude_none=True))


def encode(model: Command | MemoryEvent, attributes: Attributes) -> Encoded:
    """The record of a command or event.

    Raises:
        ContractError: ``too_large`` where the body exceeds 2 MB.
    """
    value = body_of(model)
    if len(value) > MAX_BODY_BYTES:
        raise ContractError("too_large", "", f"the encoded body has {len(value)} bytes, at most {MAX_BODY_BYTES} go")
    key = None if isinstance(model, Collect) else model.tenant.encode()
    return Encoded(key, value, replace(attributes, type=model.TYPE).headers())


def attributes_of(headers: Iterable[tuple[str, bytes]]) -> Attributes:
    """The CloudEvents attributes in a record's headers.

    Raises:
        ContractError: ``headers`` where a required one is missing or malformed.
    """
    found = dict(headers)
    required = {name: _text(found, name) for name in ("ce_specversion", "ce_id", "ce_source", "ce_type", "ce_time")}
    if required["ce_specversion"] != "1.0":
        raise ContractError("headers", "ce_specversion", "must be 1.0")
    try:
        time = datetime.fromisoformat(required["ce_time"])
    except ValueError:
        raise ContractError("headers", "ce_time", "must be an RFC 3339 time") from None
    original = found.get("afterturn_original_offset")
    return Attributes(
        id=required["ce_id"],
        source=required["ce_source"],
        type=required["ce_type"],
        time=time if time.tzinfo else time.replace(tzinfo=UTC),
        traceparent=_text(found, "traceparent") if found.get("traceparent") else None,
        original_offset=int(original) if original is not None and original.isdigit() else None,
    )


def parse(model: type[M], body: bytes, *, unknown: UnknownFields = "forbid") -> M:
    """A model from its JSON body, validated strictly; ``unknown`` fields are a fault (forbid) or ignored (ignore).

    Raises:
        ContractError: ``not_json`` or ``invalid`` with the field at fault.
    """
    try:
        return model.model_validate_json(body, extra=unknown)
    except ValidationError as error:
        fault = from_pydantic(error)
    if fault.reason != "not_json":
        raise fault
    # Half an emoji in a JSON escape is no JSON to strict parsers: mend it the long way.
    try:
        mended = orjson.dumps(clean_json(json.loads(body, parse_constant=_refuse_constant)))
        return model.model_validate_json(mended, extra=unknown)
    except ValidationError as error:
        raise from_pydantic(error) from None
    except (ValueError, RecursionError, TypeError):
        raise fault from None


def decode_command(
    headers: Iterable[tuple[str, bytes]], body: bytes | None, *, unknown: str
) -> tuple[Attributes, Command]:
    """A command and its attributes from a record.

    Raises:
        ContractError: with the reason the record's dead letter names.
    """
    attributes = attributes_of(headers)
    model = COMMAND_TYPES.get(attributes.type)
    if model is None:
        raise ContractError("unsupported", "ce_type", "no command of this type and version is known here")
    if not body:
        raise ContractError("empty", "", "the record has no body")
    if len(body) > MAX_BODY_BYTES:
        raise ContractError("too_large", "", f"the body has {len(body)} bytes, at most {MAX_BODY_BYTES} go")
    return attributes, parse(model, body, unknown=unknown)


def decode_event(
    headers: Iterable[tuple[str, bytes]], body: bytes | None
) -> tuple[Attributes, MemoryEvent | UnknownEvent]:
    """An event and its attributes from a record: unknown fields are ignored, unknown types passed through.

    Raises:
        ContractError: where the record is no CloudEvent with a JSON body.
    """
    attributes = attributes_of(headers)
    model = EVENT_TYPES.get(attributes.type)
    if model is not None:
        return attributes, parse(model, body or b"", unknown="ignore")
    try:
        content = orjson.loads(body or b"")
    except orjson.JSONDecodeError:
        raise ContractError("not_json", "", "the body is not JSON") from None
    if not isinstance(content, dict):
        raise ContractError("invalid", "", "the body is not a JSON object")
    return attributes, UnknownEvent(type=attributes.type, tenant=str(content.get("tenant", "")), body=content)


def _text(found: dict[str, bytes], name: str) -> str:
    raw = found.get(name)
    if not raw:
        raise ContractError("headers", name, "is missing")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ContractError("headers", name, "is not UTF-8") from None
    if len(text) > 1_024:
        raise ContractError("headers", name, "is longer than 1024 characters")
    return text


def _refuse_constant(name: str) -> float:
    raise ValueError(name)
