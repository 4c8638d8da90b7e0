"""CloudEvents 1.0 in Kafka's binary mode: attributes in headers, a JSON body, the tenant as the key."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal, TypeVar

import orjson
from pydantic import TypeAdapter, ValidationError

from afterturn.schemas.commands import COMMAND_TYPES, Collect, Command
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import EVENT_TYPES, MemoryEvent, UnknownEvent
from afterturn.schemas.ids import MAX_REV
from afterturn.schemas.types import Model, Time, as_utc

MAX_BODY_BYTES = 2_000_000
MAX_ATTRIBUTE = 256
Headers = tuple[tuple[str, bytes], ...]
UnknownFields = Literal["forbid", "ignore"]
M = TypeVar("M", bound=Model)
_TIME: TypeAdapter[datetime] = TypeAdapter(Time)
_REV = re.compile(rb"[0-9]{1,16}")
_TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}[ -~]{0,64}")


@dataclass(frozen=True, slots=True)
class Attributes:
    """A CloudEvent's attributes.

    ``source`` names the application, not the instance; with ``id`` it is the idempotency key of all commands but turns.
    Both have 1 to 256 characters in Unicode's normal form C, no control characters. A ``traceparent`` that is none is
    left out, as W3C's Trace Context asks. ``original_rev`` is where a replayed dead letter stood first.
    """

    id: str
    source: str
    type: str
    time: datetime
    traceparent: str | None = None
    original_rev: int | None = None

    def headers(self) -> Headers:
        """The Kafka headers, in a fixed order.

        Raises:
            ContractError: ``headers`` where an attribute breaks the contract.
        """
        try:
            time = as_utc(self.time).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        except ValueError as error:
            raise ContractError("headers", "ce_time", str(error)) from None
        pairs = [
            ("ce_specversion", "1.0"),
            ("ce_id", _checked("ce_id", self.id)),
            ("ce_source", _checked("ce_source", self.source)),
            ("ce_type", _checked("ce_type", self.type)),
            ("ce_time", time),
            ("content-type", "application/json"),
        ]
        if self.traceparent and _TRACEPARENT.fullmatch(self.traceparent):
            pairs.append(("traceparent", self.traceparent))
        if self.original_rev is not None:
            pairs.append(("afterturn_original_rev", str(self.original_rev)))
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
        ContractError: ``too_large`` where the body exceeds 2 MB, ``headers`` where an attribute breaks the contract.
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
        time = _TIME.validate_python(required["ce_time"])
    except ValidationError:
        raise ContractError("headers", "ce_time", "must be an RFC 3339 time of the years 1 to 9999") from None
    traceparent = (found.get("traceparent") or b"").decode("ascii", "replace")
    return Attributes(
        id=required["ce_id"],
        source=required["ce_source"],
        type=required["ce_type"],
        time=time,
        traceparent=traceparent if _TRACEPARENT.fullmatch(traceparent) else None,
        original_rev=_original_rev(found.get("afterturn_original_rev")),
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
    # Half an emoji is no JSON to strict parsers. Read it the long way: content mends it, identifiers refuse it.
    try:
        content = json.loads(body.decode("utf-8-sig", "surrogatepass"))
    except (ValueError, RecursionError):
        raise fault from None
    try:
        return model.model_validate(content, extra=unknown)
    except ValidationError as error:
        fault = from_pydantic(error)
    raise fault


def decode_command(
    headers: Iterable[tuple[str, bytes]], body: bytes | None, *, unknown: UnknownFields
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
    try:
        orjson.dumps(content)
    except orjson.JSONEncodeError:  # it reads deeper than it writes
        raise ContractError("invalid", "", "the body is nested too deep to be passed on") from None
    return attributes, UnknownEvent(type=attributes.type, tenant=str(content.get("tenant", "")), body=content)


def _text(found: dict[str, bytes], name: str) -> str:
    raw = found.get(name)
    if not raw:
        raise ContractError("headers", name, "is missing")
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        raise ContractError("headers", name, "is not UTF-8") from None
    return _checked(name, text)


def _checked(name: str, text: str) -> str:
    if not 1 <= len(text) <= MAX_ATTRIBUTE:
        raise ContractError("headers", name, f"must have 1 to {MAX_ATTRIBUTE} characters")
    if text.isascii() and text.isprintable():
        return text
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in text):
        raise ContractError("headers", name, "must not hold control characters or lone surrogates")
    if not unicodedata.is_normalized("NFC", text):
        raise ContractError("headers", name, "must be in Unicode's normal form C")
    return text


def _original_rev(raw: bytes | None) -> int | None:
    if raw is None:
        return None
    if not _REV.fullmatch(raw) or int(raw) >= MAX_REV:
        raise ContractError("headers", "afterturn_original_rev", "must be a rev in decimal digits")
    return int(raw)
