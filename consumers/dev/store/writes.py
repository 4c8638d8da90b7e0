"""Writes as values: everything of a call is parsed and checked before any of it is applied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from afterturn.consumers.dev.store.errors import bad_request, malformed, unsupported
from afterturn.consumers.dev.store.fields import PointId, Table, needed, point_ids, rows, table, text
from afterturn.consumers.dev.store.filters import Filter, optional_filter, parse_filter
from afterturn.consumers.dev.store.points import Point, parse_payload, parse_point
from afterturn.consumers.dev.store.schema import Schema

MODES = ("upsert", "insert_only", "update_only")


@dataclass(frozen=True, slots=True)
class Upsert:
    """Points to write, each id once (the last one given counts).

    Missing ids are inserted, unless the mode is `update_only`; existing ones are replaced, where they match the
    condition if there is one, unless the mode is `insert_only`.
    """

    points: Mapping[PointId, Point]
    condition: Filter | None
    mode: str


@dataclass(frozen=True, slots=True)
class SetPayload:
    """Fields to set on points, at the top or below `key`."""

    payload: Table
    target: list[PointId] | Filter
    key: str | None


@dataclass(frozen=True, slots=True)
class Delete:
    """Points to remove."""

    target: list[PointId] | Filter


Write: TypeAlias = Upsert | SetPayload | Delete


def parse_upsert(body: object, schema: Schema) -> Upsert:
    """Read the body of `PUT points`."""
    source = table(body, ("points", "update_filter", "update_mode"), "request")
    given = rows(needed(source, "points", "request"), "points")
    if not given:
        raise bad_request("Empty update request")
    schema.strict.check_upsert(len(given))
    mode = source.get("update_mode") or "upsert"
    if mode not in MODES:
        raise malformed(f"unknown update_mode, expected one of {', '.join(MODES)}")
    points = (parse_point(item, schema.dense, schema.sparse) for item in given)
    return Upsert({point.id: point for point in points}, optional_filter(source, "update_filter"), mode)


def parse_set_payload(body: object, schema: Schema) -> SetPayload:
    """Read the body of `POST points/payload`."""
    source = table(body, ("payload", "points", "filter", "key"), "request")
    payload = parse_payload(needed(source, "payload", "request"))
    key = None if source.get("key") is None else text(source["key"], "key")
    return SetPayload(payload, _target(source, schema), key)


def parse_delete(body: object, schema: Schema) -> Delete:
    """Read the body of `POST points/delete`."""
    return Delete(_target(table(body, ("points", "filter"), "request"), schema))


def _target(source: Table, schema: Schema) -> list[PointId] | Filter:
    if (source.get("points") is None) == (source.get("filter") is None):
        raise malformed("an update needs one of points, filter")
    if source.get("points") is not None:
        return list(dict.fromkeys(point_ids(source["points"], "points")))
    condition = parse_filter(source["filter"])
    schema.strict.check_update(condition, schema.indexes)
    return condition


_OPERATIONS = {"upsert": parse_upsert, "set_payload": parse_set_payload, "delete": parse_delete}


def parse_batch(body: object, schema: Schema) -> list[Write]:
    """Read the body of `POST points/batch`: all of it, so that a refusal applies nothing."""
    source = table(body, ("operations",), "request")
    return [_operation(item, schema) for item in rows(needed(source, "operations", "request"), "operations")]


def _operation(value: Any, schema: Schema) -> Write:  # noqa: ANN401  # JSON
    if not isinstance(value, dict) or len(value) != 1:
        raise malformed("an operation is an object with one field, its name")
    kind, body = next(iter(value.items()))
    if kind not in _OPERATIONS:
        raise unsupported(f"the operation {kind}")
    parse: Any = _OPERATIONS[kind]
    write: Write = parse(body, schema)
    return write
