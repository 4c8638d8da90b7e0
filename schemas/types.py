"""The contract's primitive types: identifiers, times, shares, tags, content and free JSON objects."""

from __future__ import annotations

import math
import re
import unicodedata
from datetime import UTC, datetime
from typing import Annotated, Any, Self

import orjson
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
)

MAX_JSON_BYTES = 16 * 1024
MAX_JSON_DEPTH = 8
MAX_INT64 = 2**63 - 1
_MAX_IDENTIFIER_BITS = 1_024
MAX_SECONDS = 100 * 366 * 24 * 3_600
_INT64 = range(-MAX_INT64 - 1, MAX_INT64 + 1)
_RFC3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d", re.ASCII)
_SURROGATE = re.compile("[\ud800-\udfff]")
# Unicode's White_Space, Default_Ignorable_Code_Point and controls, and the blank braille cell. Written out, since what
# is blank decides positions: it must not change with the Unicode version of the Python a recorder runs on.
_SHOWS = re.compile(
    "[^\u0000-\u0020\u007f-\u00a0\u00ad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f"
    "\u2028-\u202f\u205f-\u206f\u2800\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


class Model(BaseModel):
    """A frozen value of the contract: unknown fields are refused unless a reader says otherwise."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, ser_json_inf_nan="null", allow_inf_nan=False, protected_namespaces=()
    )

    @classmethod
    def of_valid(cls, fields: dict[str, Any]) -> Self:
        """A value of all its fields, known to be right: nothing is checked, and none may be missing."""
        made = cls.__new__(cls)
        state = {"__pydantic_extra__": None, "__pydantic_private__": None, "__pydantic_fields_set__": set(fields)}
        made.__setstate__({"__dict__": fields, **state})
        return made


def clean_text(text: str) -> str:
    """Text a store and an embedder can take: lone surrogates become U+FFFD, NUL is dropped, all else stays."""
    if _SURROGATE.search(text):
        text = _SURROGATE.sub("\ufffd", text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))
    return text.replace("\0", "")


def clean_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """``clean_text`` over every string of a JSON value."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, dict):
        return {clean_json(k): clean_json(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [clean_json(v) for v in value]
    return value


def _identifier(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        if value.bit_length() > _MAX_IDENTIFIER_BITS:
            raise ValueError("must have at most 256 characters")
        value = str(value)
    if not isinstance(value, str):
        return value
    if value.isascii():
        if not value.isprintable():
            raise ValueError("must not hold control characters")
        return value
    value = unicodedata.normalize("NFC", value)
    if any(unicodedata.category(c) in {"Cc", "Cs"} for c in value):
        raise ValueError("must not hold control characters or lone surrogates")
    return value


def _moment(value: object) -> object:
    if isinstance(value, str) and not _RFC3339.match(value):
        raise ValueError("must be an RFC 3339 time of the years 1 to 9999, as 2026-01-31T09:30:00Z")
    if not isinstance(value, str | datetime):
        raise ValueError("must be an RFC 3339 time, as 2026-01-31T09:30:00Z")  # noqa: TRY004 - pydantic wants ValueError
    return value


def as_utc(value: datetime) -> datetime:
    """The same moment in UTC; a naive time is UTC.

    Raises:
        ValueError: where that lies outside the years 1 to 9999.
    """
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError("must lie within the years 1 to 9999 in UTC") from None


def _clean(value: object) -> object:
    return clean_text(value) if isinstance(value, str) else value


def _bounded_json(value: dict[str, JsonValue]) -> dict[str, JsonValue]:
    if not _numbers_fit(value):
        raise ValueError("numbers must be finite, integers must fit into 64 bits")
    if len(orjson.dumps(value)) > MAX_JSON_BYTES:
        raise ValueError(f"must not be larger than {MAX_JSON_BYTES} bytes of JSON")
    return value


def _numbers_fit(value: JsonValue) -> bool:
    if isinstance(value, dict):
        return all(map(_numbers_fit, value.values()))
    if isinstance(value, list):
        return all(map(_numbers_fit, value))
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or value in _INT64


def _deeper_than(levels: int, value: object) -> bool:
    if not isinstance(value, dict | list | tuple):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_deeper_than(levels - 1, item) for item in inner)


def _cleaned_object(value: object) -> object:
    if _deeper_than(MAX_JSON_DEPTH, value):
        raise ValueError(f"must not be nested deeper than {MAX_JSON_DEPTH} levels")
    return clean_json(value) if isinstance(value, dict) else value


def as_tuple(value: object) -> object:
    """A list as a tuple, anything else untouched: what lets a frozen model take both."""
    return tuple(value) if isinstance(value, list) else value


Identifier = Annotated[
    str,
    Field(min_length=1, max_length=256, json_schema_extra={"pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}),
    BeforeValidator(_identifier),
]
"""1 to 256 characters, NFC, no control characters, compared exactly; an integer is taken as its decimal text."""
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)

Time = Annotated[datetime, Field(strict=False), BeforeValidator(_moment), AfterValidator(as_utc)]
"""An RFC 3339 time, kept in UTC; a naive one is UTC."""

Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
"""A finite number from 0 to 1."""

Content = Annotated[str, BeforeValidator(_clean)]
"""Text; lone surrogates become U+FFFD, NUL is dropped, all else is kept as it is."""

Tag = Annotated[str, Field(min_length=1, max_length=128), BeforeValidator(_clean)]
Tags = Annotated[tuple[Tag, ...], Field(fail_fast=True, max_length=64), BeforeValidator(as_tuple)]
"""At most 64 tags of at most 128 characters, any characters."""

JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(_cleaned_object), AfterValidator(_bounded_json)]
"""A JSON object: integers within 64 bits, at most 8 levels and 16 KiB."""

Count = Annotated[int, Field(ge=0, le=MAX_INT64)]
"""A whole number from 0, within 64 bits."""

Seconds = Annotated[int, Field(ge=0, le=MAX_SECONDS)]
"""A duration in whole seconds, at most a hundred years."""

_UUID = r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"
_IS_UUID = re.compile(_UUID)
Uuid = Annotated[str, Field(pattern=_UUID)]
"""A point's id: a lower-case UUID."""


def is_identifier(text: str) -> bool:
    """Whether a text is an identifier as it stands."""
    try:
        return _IDENTIFIER.validate_python(text) == text
    except ValidationError:
        return False


def is_uuid(text: str) -> bool:
    """Whether a text can be a point's id."""
    return _IS_UUID.fullmatch(text) is not None


def is_blank(text: str) -> bool:
    """Whether a text says nothing: only white space and characters that don't show, in every version of Unicode."""
    return _SHOWS.search(text) is None
