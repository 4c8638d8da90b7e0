"""Points as they arrive, checked whole before anything is written: the engine applies a batch in part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from afterturn.consumers.dev.store.errors import Refused, invalid, malformed, wrong_input
from afterturn.consumers.dev.store.fields import PointId, needed, point_id, table
from afterturn.consumers.dev.store.schema import Dense, Sparse

SparseValues: TypeAlias = tuple[list[int], list[float]]
Vector: TypeAlias = list[float] | SparseValues
_LARGEST = 3.4028234663852886e38  # of a 32-bit float
_INDICES = 2**32
_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Point:
    """One point to write: it replaces what its id held, payload and vectors."""

    id: PointId
    vectors: Mapping[str, Vector]
    payload: dict[str, Any] | None


def parse_point(value: object, dense: Mapping[str, Dense], sparse: Mapping[str, Sparse]) -> Point:
    """Read one point of a collection with these vectors."""
    source = table(value, ("id", "vector", "payload"), "point")
    payload = None if source.get("payload") is None else parse_payload(source["payload"])
    given = needed(source, "vector", "point")
    if not isinstance(given, dict):
        raise wrong_input("Not existing vector name error: ")
    vectors = {name: parse_vector(name, item, dense, sparse) for name, item in given.items()}
    return Point(point_id(source.get("id")), vectors, payload)


def parse_payload(value: object) -> dict[str, Any]:
    """Read a payload. What is nested deeper the engine writes to its log and cannot read back: it would never open."""
    if not isinstance(value, dict):
        raise malformed("a payload must be an object")
    level: list[Any] = [value]
    for _ in range(_DEPTH):
        level = [item for outer in level for item in (outer.values() if isinstance(outer, dict) else outer)]
        level = [item for item in level if isinstance(item, dict | list)]
        if not level:
            return value
    raise malformed(f"recursion limit exceeded: a payload is nested deeper than {_DEPTH} levels")


def parse_vector(name: str, value: object, dense: Mapping[str, Dense], sparse: Mapping[str, Sparse]) -> Vector:
    """Read the vector `name`: known, of the right kind and size, finite, and without an index twice."""
    if name in dense:
        if not isinstance(value, list):
            raise _wrong_kind(name, "a list of numbers")
        return _dense(value, dense[name].size)
    if name in sparse:
        if not isinstance(value, dict):
            raise _wrong_kind(name, "indices and values")
        source = table(value, ("indices", "values"), "sparse vector")
        return _sparse(needed(source, "indices", name), needed(source, "values", name))
    raise wrong_input(f"Not existing vector name error: {name}")


def _dense(value: list[Any], size: int) -> list[float]:
    if len(value) != size:
        raise wrong_input(f"Vector dimension error: expected dim: {size}, got {len(value)}")
    _check_numbers(value)
    return value


def _sparse(indices: object, values: object) -> SparseValues:
    if not isinstance(indices, list) or not isinstance(values, list):
        raise malformed("a sparse vector has a list of indices and a list of values")
    if len(indices) != len(values):
        raise invalid("vector.values", "must be the same length as indices")
    if not indices:
        return [], []
    if set(map(type, indices)) != {int} or not (min(indices) >= 0 and max(indices) < _INDICES):
        raise malformed("the indices of a sparse vector are unsigned 32-bit integers")
    if len(set(indices)) != len(indices):
        raise invalid("vector.indices", "must be unique")
    _check_numbers(values)
    return indices, values


def _check_numbers(values: list[Any]) -> None:
    """Refuse anything but finite 32-bit floats; comparing finds a null (a NaN at the client) or a string as well."""
    try:
        if min(values) >= -_LARGEST and max(values) <= _LARGEST:
            return
    except TypeError:
        pass
    raise malformed("a vector holds a value that is not a finite number")


def _wrong_kind(name: str, kind: str) -> Refused:
    return wrong_input(f"Vector {name} takes {kind}")
