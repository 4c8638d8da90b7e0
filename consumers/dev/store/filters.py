"""Filters as values: parsed once from JSON, checked by strict mode, handed to the engine by `engine`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from afterturn.consumers.dev.store.errors import malformed, unsupported
from afterturn.consumers.dev.store.fields import (
    PointId,
    Table,
    flag,
    needed,
    number,
    one_or_more,
    point_ids,
    rows,
    table,
    text,
    whole,
)

Scalar: TypeAlias = str | int | bool


@dataclass(frozen=True, slots=True)
class MatchValue:
    """The field has this value, or is a list that contains it."""

    key: str
    value: Scalar


@dataclass(frozen=True, slots=True)
class MatchAny:
    """The field has one of these values; with `negated`, a value that is none of them."""

    key: str
    values: tuple[str, ...] | tuple[int, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Range:
    """The field is a number (floats), or a time (strings), within these bounds."""

    key: str
    bounds: tuple[tuple[str, float | str], ...]

    @property
    def is_time(self) -> bool:
        """Whether the bounds are RFC 3339 times."""
        return any(isinstance(bound, str) for _, bound in self.bounds)


@dataclass(frozen=True, slots=True)
class HasId:
    """The point is one of these."""

    ids: frozenset[PointId]


@dataclass(frozen=True, slots=True)
class IsEmpty:
    """The field is missing, null or an empty list."""

    key: str


@dataclass(frozen=True, slots=True)
class IsNull:
    """The field is there and null."""

    key: str


@dataclass(frozen=True, slots=True)
class FieldIsEmpty:
    """`is_empty` or `is_null` as a flag of a field condition; `wanted` may be false."""

    key: str
    null: bool
    wanted: bool


@dataclass(frozen=True, slots=True)
class Filter:
    """All of `must`, one of `should` (if there are any), none of `must_not`, `least` of `min_should`."""

    must: tuple[Condition, ...] = ()
    should: tuple[Condition, ...] = ()
    must_not: tuple[Condition, ...] = ()
    min_should: tuple[Condition, ...] | None = None
    least: int = 0

    def leaves(self) -> Iterator[Leaf]:
        """Every condition that is not itself a filter, at any depth."""
        for condition in (*self.must, *self.should, *self.must_not, *(self.min_should or ())):
            if isinstance(condition, Filter):
                yield from condition.leaves()
            else:
                yield condition


Leaf: TypeAlias = MatchValue | MatchAny | Range | HasId | IsEmpty | IsNull | FieldIsEmpty
Condition: TypeAlias = Leaf | Filter

_FILTER_KEYS = frozenset({"must", "should", "must_not", "min_should"})
_DEPTH = 32
_BOUNDS = ("gt", "gte", "lt", "lte")


def parse_filter(value: object, depth: int = 0) -> Filter:
    """Read a filter, `depth` levels inside another."""
    if depth > _DEPTH:
        raise malformed(f"recursion limit exceeded: a filter is nested deeper than {_DEPTH} levels")
    source = table(value, _FILTER_KEYS, "filter")
    min_should, least = None, 0
    if source.get("min_should") is not None:
        inner = table(source["min_should"], ("conditions", "min_count"), "min_should")
        min_should = _conditions(needed(inner, "conditions", "min_should"), depth)
        needed(inner, "min_count", "min_should")
        least = whole(inner, "min_count", 0)
    return Filter(
        must=_conditions(source.get("must"), depth),
        should=_conditions(source.get("should"), depth),
        must_not=_conditions(source.get("must_not"), depth),
        min_should=min_should,
        least=least,
    )


def optional_filter(source: Table, name: str = "filter") -> Filter | None:
    """The filter in a field that may be absent."""
    return None if source.get(name) is None else parse_filter(source[name])


def _conditions(value: object, depth: int) -> tuple[Condition, ...]:
    return tuple(_condition(item, depth) for item in one_or_more(value, "conditions"))


def _condition(value: object, depth: int) -> Condition:
    if not isinstance(value, dict):
        raise malformed("a condition must be an object")
    if "key" in value:
        return _field(value)
    if "has_id" in value:
        return HasId(frozenset(point_ids(table(value, ("has_id",), "condition")["has_id"], "has_id")))
    for name, kind in (("is_empty", IsEmpty), ("is_null", IsNull)):
        if name in value:
            inner = table(table(value, (name,), "condition")[name], ("key",), name)
            return kind(text(needed(inner, "key", name), f"{name}.key"))
    return parse_filter(value, depth + 1)


def _field(value: Table) -> Condition:
    source = table(value, ("key", "match", "range", "is_empty", "is_null"), "condition")
    key = text(source["key"], "condition.key")
    found: list[Condition] = []
    if source.get("match") is not None:
        found.append(_match(key, source["match"]))
    if source.get("range") is not None:
        found.append(_range(key, source["range"]))
    found.extend(
        FieldIsEmpty(key, name == "is_null", flag(source, name, default=True))
        for name in ("is_empty", "is_null")
        if source.get(name) is not None
    )
    if not found:
        raise malformed(f"the condition on {key!r} says nothing: give it match, range, is_empty or is_null")
    if len(found) > 1:
        raise unsupported(f"several tests in the one condition on {key!r}")
    return found[0]


def _match(key: str, value: object) -> Condition:
    source = table(value, ("value", "any", "except"), "match")
    if len(source) != 1:
        raise malformed(f"the match on {key!r} needs exactly one of value, any, except")
    kind, wanted = next(iter(source.items()))
    if kind == "value":
        if not isinstance(wanted, str | int):
            raise malformed(f"the match on {key!r} takes a string, an integer or a boolean")
        return MatchValue(key, wanted)
    wanted = rows(wanted, f"match.{kind}")
    if all(isinstance(item, str) for item in wanted) or all(type(item) is int for item in wanted):
        return MatchAny(key, tuple(wanted), negated=kind == "except")
    raise malformed(f"the match on {key!r} takes a list of strings or a list of integers")


def _range(key: str, value: object) -> Condition:
    source = table(value, _BOUNDS, "range")
    bounds = {name: bound for name, bound in source.items() if bound is not None}
    if any(isinstance(bound, str) for bound in bounds.values()):
        return Range(key, tuple((name, text(bound, f"range.{name}")) for name, bound in bounds.items()))
    return Range(key, tuple((name, number(bound, f"range.{name}")) for name, bound in bounds.items()))
