"""A query's filter as the JSON the store is sent. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from operator import ge, gt, le, lt
from typing import Any, cast

from afterturn.consumers.store.filters import absent, all_of, any_of, match, one_of
from afterturn.schemas.conditions import FIELDS, Condition, FieldName, Op, Scalar, Shape
from afterturn.schemas.when import resolve_time

KEYS: Mapping[str, str] = {"entities.id": "entities[].id", "entities.type": "entities[].type"}
"""The payload's key of a field, where it is not the field's name."""
_Json = dict[str, Any]
_COMPARED: Mapping[Op, Callable[[Any, Any], bool]] = {"gt": gt, "gte": ge, "lt": lt, "lte": le}


def narrowing(condition: Condition, now: datetime) -> _Json:
    """The condition as the store's; relative times are taken from ``now``.

    Opposites are pushed down to the fields: a store then never sees one condition as wanted and as unwanted of the
    same filter, which Qdrant 1.19.0 gets wrong.

    Raises:
        ContractError: a relative time lies before year 1.
    """
    return _compiled(condition, now, negated=False)


def _compiled(condition: Condition, now: datetime, *, negated: bool) -> _Json:
    if condition.not_ is not None:
        return _compiled(condition.not_, now, negated=not negated)
    if condition.parts:
        parts = [_compiled(part, now, negated=negated) for part in condition.parts]
        return all_of(*parts) if (condition.and_ is not None) != negated else one_of(*parts)
    found = _on_field(condition, now)
    return {"must_not": [found]} if negated else found


def _on_field(condition: Condition, now: datetime) -> _Json:
    name, op, value = cast("FieldName", condition.field), cast("Op", condition.op), condition.value
    if op in ("ne", "not_in"):
        opposite: Op = "eq" if op == "ne" else "in"
        return {"must_not": [_test(name, opposite, value, now)]}
    return _test(name, op, value, now)


def _test(name: FieldName, op: Op, value: Any, now: datetime) -> _Json:  # noqa: ANN401 - checked by the condition
    shape, key = FIELDS[name], KEYS.get(name, name)
    if op == "exists":
        there = all_of() if shape.default is not None else {"must_not": [absent(key)]}
        return there if value else {"must_not": [there]}
    if shape.sort == "flag":  # engines differ in how they compare booleans, and payloads leave a false one out
        return {"must_not": [absent(key)]} if value else absent(key)
    if op == "contains_all":
        return all_of(*(match(key, each) for each in value))
    if op in ("in", "contains_any") and shape.sort in ("text", "list"):
        return any_of(key, value)
    if shape.sort == "text":
        return match(key, value)
    if op == "in":
        return one_of(*(_ranged(key, shape, "eq", each, now) for each in value))
    return _ranged(key, shape, op, value, now)


def _ranged(key: str, shape: Shape, op: Op, value: Any, now: datetime) -> _Json:  # noqa: ANN401
    """A number or a time compared. A memory whose payload leaves its default out is compared by that."""
    bounds: dict[Op, Any] = {op: value}
    if op in ("eq", "between"):
        low, high = value if op == "between" else (value, value)
        bounds = {"gte": low, "lte": high}
    limits = {name: _limit(shape, bound, now) for name, bound in bounds.items()}
    test = {"key": key, "range": limits}
    default = shape.default
    if default is not None and all(_COMPARED[name](default, bound) for name, bound in bounds.items()):
        return one_of(absent(key), test)
    return test


def _limit(shape: Shape, bound: Scalar, now: datetime) -> Scalar:
    return resolve_time(cast("str", bound), now).isoformat() if shape.sort == "time" else bound
