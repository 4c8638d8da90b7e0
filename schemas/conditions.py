"""The filter algebra of a query: ``and``, ``or``, ``not`` over conditions on a memory's fields.

A condition is ``{"field": …, "op": …, "value": …}``. What a memory doesn't have fulfils no comparison, so ``ne`` and
``not_in``, which are the plain opposites of ``eq`` and ``in``, hold for it. A filter is put beside everything else a
query asks for: it narrows, and cannot widen.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeAlias, get_args

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    TypeAdapter,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from afterturn.schemas.parts import Source, Status
from afterturn.schemas.settings import Kind, Role
from afterturn.schemas.types import Count, Identifier, Model, Share, Tag, as_tuple
from afterturn.schemas.when import When

MAX_DEPTH = 8
MAX_CONDITIONS = 100
MAX_VALUES = 256

FieldName = Literal[
    "scope.workspace", "scope.route", "scope.user", "scope.agent", "thread", "turn_id", "author", "key", "collection",
    "type", "source.id", "role", "kind", "status", "source.type", "tags", "entities.id", "entities.type", "importance",
    "confidence", "trust", "level", "reinforce_count", "position", "pinned", "occurred_at", "recorded_at",
    "effective_at", "valid_from", "valid_to", "expires_at",
]  # fmt: skip
"""The fields of a memory that a filter may name. Those of its text are not among them: that is what recall is for."""
Op = Literal[
    "eq", "ne", "in", "not_in", "gt", "gte", "lt", "lte", "between", "exists", "contains_any", "contains_all"
]  # fmt: skip
Scalar: TypeAlias = bool | int | float | str
Value: TypeAlias = Scalar | tuple[Scalar, ...]
Sort = Literal["text", "number", "time", "flag", "list"]
"""What sort of values a field has: that decides which operators it takes."""

_SOME: tuple[Op, ...] = ("in", "not_in", "contains_any", "contains_all")
_EQUAL: tuple[Op, ...] = ("eq", "ne", "in", "not_in")
_ORDERED: tuple[Op, ...] = ("gt", "gte", "lt", "lte", "between")
OPS: Mapping[Sort, tuple[Op, ...]] = {
    "text": (*_EQUAL, "exists"),
    "number": (*_EQUAL, *_ORDERED, "exists"),
    "time": (*_EQUAL, *_ORDERED, "exists"),
    "flag": ("eq", "ne"),
    "list": ("contains_any", "contains_all", "exists"),
}
"""The operators by sort of field."""


@dataclass(frozen=True, slots=True)
class Shape:
    """What a field is.

    Attributes:
        sort: the sort of its values.
        of: the type of one value.
        default: what a memory has where its payload leaves the field out; None where it then has nothing.
    """

    sort: Sort
    of: Any
    default: Scalar | None = None


FIELDS: Mapping[FieldName, Shape] = {
    **dict.fromkeys(get_args(FieldName), Shape("text", Identifier)),
    "role": Shape("text", Role),
    "kind": Shape("text", Kind),
    "status": Shape("text", Status),
    "source.type": Shape("text", Source.model_fields["type"].annotation),
    "tags": Shape("list", Tag),
    "entities.id": Shape("list", Identifier),
    "entities.type": Shape("list", Identifier),
    "importance": Shape("number", Share),
    "confidence": Shape("number", Share),
    "trust": Shape("number", Share),
    "level": Shape("number", Count, 0),
    "reinforce_count": Shape("number", Count, 0),
    "position": Shape("number", Count),
    "pinned": Shape("flag", bool, default=False),
    "occurred_at": Shape("time", When),
    "recorded_at": Shape("time", When),
    "effective_at": Shape("time", When),
    "valid_from": Shape("time", When),
    "valid_to": Shape("time", When),
    "expires_at": Shape("time", When),
}
"""Every field by name."""


class Condition(Model):
    """A condition on one field, or ``and``, ``or``, ``not`` of others."""

    model_config = ConfigDict(serialize_by_alias=True)

    and_: Annotated[Conditions | None, Field(alias="and")] = None
    or_: Annotated[Conditions | None, Field(alias="or")] = None
    not_: Annotated[Condition | None, Field(alias="not")] = None
    field: FieldName | None = None
    op: Op | None = None
    value: Value | None = None

    @field_validator("op")
    @classmethod
    def _op_of_field(cls, op: Op | None, info: ValidationInfo) -> Op | None:
        name = info.data.get("field")
        if op is not None and name is not None and op not in OPS[FIELDS[name].sort]:
            raise ValueError(f"{name} takes {', '.join(OPS[FIELDS[name].sort])}")
        return op

    @field_validator("value", mode="before")
    @classmethod
    def _value_of_field(cls, value: object, info: ValidationInfo) -> object:
        name, op = info.data.get("field"), info.data.get("op")
        if name is None or op is None or value is None:
            return None
        adapter = _adapter(name, op)
        try:
            return adapter.validate_python(as_tuple(value))
        except ValidationError as error:
            raise ValueError(error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")) from None

    @model_validator(mode="after")
    def _one_form(self) -> Condition:
        leaf = (self.field, self.op, self.value)
        if sum(form is not None for form in (self.and_, self.or_, self.not_)) + any(p is not None for p in leaf) != 1:
            raise ValueError("must be one of and, or, not, or have field, op and value")
        if any(p is None for p in leaf) and any(p is not None for p in leaf):
            missing = [name for name in ("field", "op", "value") if getattr(self, name) is None]
            raise ValueError(f"a condition has field, op and value; missing: {', '.join(missing)}")
        return self

    @property
    def parts(self) -> tuple[Condition, ...]:
        """The conditions within this one; none in one on a field."""
        return self.and_ or self.or_ or ((self.not_,) if self.not_ else ())


Conditions: TypeAlias = Annotated[
    tuple[Condition, ...], Field(fail_fast=True, min_length=1, max_length=MAX_CONDITIONS), BeforeValidator(as_tuple)
]


@cache
def _adapter(name: FieldName, op: Op) -> TypeAdapter[Any]:
    one = FIELDS[name].of
    if op == "exists":
        return TypeAdapter(bool, config=ConfigDict(strict=True))
    if op in _SOME:
        wanted: Any = Annotated[
            GenericAlias(tuple, (one, ...)), Field(fail_fast=True, min_length=1, max_length=MAX_VALUES)
        ]
    elif op == "between":
        wanted = GenericAlias(tuple, (one, one))
    else:
        wanted = one
    return TypeAdapter(wanted, config=ConfigDict(strict=True))


def _bounded(condition: Condition) -> Condition:
    """Refuse what is deeper or larger than a search should be.

    Raises:
        ValueError: it is.
    """
    level, depth, count = [condition], 0, 0
    while level:
        depth += 1
        count += sum(map(_weight, level))
        level = [part for each in level for part in each.parts]
    if depth > MAX_DEPTH:
        raise ValueError(f"must not be nested deeper than {MAX_DEPTH} levels")
    if count > MAX_CONDITIONS:
        raise ValueError(f"must not have more than {MAX_CONDITIONS} conditions, each number or time of a list counted")
    return condition


def _weight(condition: Condition) -> int:
    """How many tests the store makes for this condition itself."""
    if condition.field is None:
        return 0
    several = FIELDS[condition.field].sort in {"number", "time"} and condition.op in _SOME
    listed = several or condition.op == "contains_all"
    return len(condition.value) if listed and isinstance(condition.value, tuple) else 1


Where = Annotated[Condition, AfterValidator(_bounded)]
"""A filter: at most 8 levels and 100 conditions."""
