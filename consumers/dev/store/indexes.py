"""Payload indexes: what a field's index is, and which conditions it can answer under strict mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from afterturn.consumers.dev.store.errors import malformed, unsupported
from afterturn.consumers.dev.store.fields import flag, needed, table, text
from afterturn.consumers.dev.store.filters import (
    FieldIsEmpty,
    HasId,
    IsEmpty,
    IsNull,
    Leaf,
    MatchAny,
    MatchValue,
    Range,
)

# The parameters of each kind that make sense here; any other is answered 501.
_KINDS: dict[str, tuple[str, ...]] = {
    "keyword": ("is_tenant", "on_disk", "enable_hnsw"),
    "uuid": ("is_tenant", "on_disk", "enable_hnsw"),
    "integer": ("lookup", "range", "is_principal", "on_disk", "enable_hnsw"),
    "float": ("is_principal", "on_disk", "enable_hnsw"),
    "datetime": ("is_principal", "on_disk", "enable_hnsw"),
    "bool": ("on_disk", "enable_hnsw"),
}
# What an index of a kind answers; "any" stands for is_empty and is_null, which every index serves.
_SERVES: dict[str, frozenset[str]] = {
    "keyword": frozenset({"keyword match"}),
    "uuid": frozenset({"uuid match"}),
    "integer": frozenset({"integer match", "integer range"}),
    "float": frozenset({"float range"}),
    "datetime": frozenset({"datetime range"}),
    "bool": frozenset({"bool match"}),
}
_SWITCHES = {"lookup": "integer match", "range": "integer range"}
_EVERY_KIND = ("bool", "datetime", "float", "geo", "integer", "keyword", "text", "uuid")


@dataclass(frozen=True, slots=True)
class Index:
    """One payload index: its kind and its parameters as given."""

    kind: str
    params: tuple[tuple[str, bool], ...] = ()

    def serves(self) -> frozenset[str]:
        """The tests this index answers, as "kind test"."""
        given = dict(self.params)
        without = {
            f"integer {test}" for name, test in (("lookup", "match"), ("range", "range")) if not given.get(name, True)
        }
        return _SERVES[self.kind] - without

    def supports_match(self) -> bool:
        """Whether fields with this index can be counted by value (facets)."""
        return any(test.endswith(" match") for test in self.serves())

    def supports_order(self) -> bool:
        """Whether points can be ordered by this field."""
        return any(test.endswith(" range") for test in self.serves())

    def to_json(self) -> dict[str, Any]:
        """As the `field_schema` of the call that makes it."""
        return {"type": self.kind, **dict(self.params)}


def parse_index(value: object) -> Index:
    """Read a `field_schema`: a kind's name, or an object with its parameters."""
    if isinstance(value, str):
        return Index(_known_kind(value))
    if not isinstance(value, dict):
        raise malformed("field_schema must be a type's name or an object")
    kind = _known_kind(text(needed(value, "type", "field_schema"), "field_schema.type"))
    source = table(value, ("type", *_KINDS[kind]), "field_schema")
    params = tuple((name, flag(source, name, default=True)) for name in _KINDS[kind] if source.get(name) is not None)
    index = Index(kind, params)
    if not index.serves():
        raise malformed("an integer index needs lookup or range")
    return index


def _known_kind(name: str) -> str:
    if name in _KINDS:
        return name
    if name in _EVERY_KIND:
        raise unsupported(f"a payload index of type {name}")
    raise malformed(f"unknown field type {name!r}")


def missing_index(condition: Leaf, indexes: Mapping[str, Index]) -> tuple[str, tuple[str, ...]] | None:
    """The key and the kinds of index one of which `condition` would need, or nothing where it needs none."""
    if isinstance(condition, HasId):
        return None
    index = indexes.get(condition.key)
    if isinstance(condition, IsEmpty | IsNull | FieldIsEmpty):
        return None if index else (condition.key, _EVERY_KIND)
    wanted = _tests(condition)
    if not wanted or (index and index.serves() & set(wanted)):
        return None
    return condition.key, tuple(sorted({test.split()[0] for test in wanted}))


def _tests(condition: MatchValue | MatchAny | Range) -> tuple[str, ...]:
    if isinstance(condition, Range):
        return ("datetime range",) if condition.is_time else ("float range", "integer range")
    values = condition.values if isinstance(condition, MatchAny) else (condition.value,)
    if not values:
        return ()  # an empty list decides by itself
    if isinstance(values[0], bool):
        return ("bool match",)
    if isinstance(values[0], int):
        return ("integer match",)
    return ("keyword match", "uuid match") if all(_is_uuid(value) for value in values) else ("keyword match",)


def _is_uuid(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True
