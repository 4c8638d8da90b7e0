"""Reading JSON strictly: an unknown key is answered 501 with its name, never ignored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias
from uuid import UUID

from afterturn.consumers.dev.store.errors import invalid, malformed, unsupported

PointId: TypeAlias = int | UUID
Table: TypeAlias = dict[str, Any]
MAX_ID = 2**64 - 1


def table(value: object, known: Iterable[str], where: str) -> Table:
    """The JSON object `value`, whose keys must all be `known`."""
    if not isinstance(value, dict):
        raise malformed(f"{where} must be an object")
    for key in value.keys() - set(known):
        raise unsupported(f"the field {where}.{key}")
    return value


def needed(source: Mapping[str, Any], name: str, where: str) -> object:
    """A field that must be there."""
    if source.get(name) is None:
        raise malformed(f"{where}: missing field `{name}`")
    return source[name]


def text(value: object, where: str) -> str:
    """A string."""
    if not isinstance(value, str):
        raise malformed(f"{where} must be a string")
    return value


def rows(value: object, where: str) -> list[Any]:
    """A list."""
    if not isinstance(value, list):
        raise malformed(f"{where} must be a list")
    return value


def one_or_more(value: object, where: str) -> list[Any]:
    """A list, or one bare object that stands for a list of one."""
    if value is None:
        return []
    return [value] if isinstance(value, dict) else rows(value, where)


def whole(source: Mapping[str, Any], name: str, default: int, least: int = 0) -> int:
    """A whole number of at least `least`; 422 below it, as on the server."""
    value = source.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise malformed(f"`{name}` must be a whole number")
    if value < least:
        raise invalid(name, f"value {value} invalid, must be {least:.1f} or larger")
    return value


def flag(source: Mapping[str, Any], name: str, *, default: bool) -> bool:
    """A boolean."""
    value = source.get(name)
    if value is None:
        return default
    if not isinstance(value, bool):
        raise malformed(f"`{name}` must be true or false")
    return value


def number(value: object, where: str) -> float:
    """A finite number (the client sends NaN and infinity as null)."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise malformed(f"{where} must be a number")
    return float(value)


def point_id(value: object) -> PointId:
    """An unsigned 64-bit integer or a UUID."""
    if isinstance(value, str):
        try:
            return UUID(value)
        except ValueError:
            pass
    elif isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= MAX_ID:
        return value
    raise malformed("a point id is not valid, valid values are either an unsigned integer or a UUID")


def point_ids(value: object, where: str) -> list[PointId]:
    """A list of point ids."""
    return [point_id(item) for item in rows(value, where)]
