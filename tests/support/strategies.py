"""Hypothesis strategies for the contract's values, built from the models: any value they allow, and nothing else."""

import math
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pydantic import BaseModel, JsonValue
from pydantic.fields import FieldInfo

from afterturn.schemas.codec import Attributes
from afterturn.schemas.commands import COMMANDS, Command, Erase, Forget, Remember, Revise, TurnCompleted
from afterturn.schemas.events import EVENTS, MemoryEvent
from afterturn.schemas.parts import Filter, Set, Summary
from afterturn.schemas.points import Checkpoint, Memory, Receipt, StoredPoint, TenantState, ThreadState
from afterturn.schemas.query import Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import MAX_INT64, Content, Identifier, JsonObject, Tag, Time, Uuid, is_blank
from support.condition_values import conditions

M = TypeVar("M", bound=BaseModel)
_VISIBLE = st.characters(exclude_categories=("Cc", "Cs"))
_ANY_TEXT = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
# Names that systems which join strings have confused with one another.
_AWKWARD = (
    "a",
    "b",
    "a_b",
    "team",
    "team_a",
    "t:1",
    "t",
    "1:u",
    "u",
    "a&run_id=b",
    '","',
    "[]",
    "null",
    "0",
    "ä",
    "名前",
)


def identifiers() -> SearchStrategy[str]:
    """Tenants, threads, turns, authors, keys: 1 to 256 characters in NFC without control characters."""
    free = st.text(_VISIBLE, min_size=1, max_size=20).map(lambda text: unicodedata.normalize("NFC", text))
    return st.sampled_from(_AWKWARD) | free


def contents(*, blank: bool = True) -> SearchStrategy[str]:
    """Texts as they are stored: no lone surrogates, no NUL; with ``blank`` also such that say nothing."""
    texts = st.text(_ANY_TEXT, max_size=60)
    return texts if blank else texts.filter(lambda text: not is_blank(text))


def times() -> SearchStrategy[datetime]:
    """Times in UTC, of the years 1 to 9999."""
    return st.datetimes(timezones=st.just(UTC))


def shares() -> SearchStrategy[float]:
    """Numbers from 0 to 1."""
    return st.floats(0, 1).map(abs)


def uuids() -> SearchStrategy[str]:
    """Ids of points."""
    return st.uuids().map(str)


def scopes() -> SearchStrategy[Scope]:
    """Scopes, from none of the dimensions to all."""
    return of(Scope)


def json_objects() -> SearchStrategy[dict[str, Any]]:
    """Free JSON within the contract's bounds."""
    text = st.text(_ANY_TEXT, max_size=8)
    numbers = st.integers(-MAX_INT64 - 1, MAX_INT64) | st.floats(allow_nan=False, allow_infinity=False)
    leaves = st.none() | st.booleans() | numbers | text
    values = st.recursive(
        leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3), max_leaves=6
    )
    return st.dictionaries(text, values, max_size=3).filter(lambda value: _depth(value) <= 8)


def turns() -> SearchStrategy[TurnCompleted]:
    """Turns."""
    return of(TurnCompleted)


def commands() -> SearchStrategy[Command]:
    """Commands of every type."""
    return st.one_of([of(model) for model in COMMANDS])


def events() -> SearchStrategy[MemoryEvent]:
    """MemoryEvents of every type."""
    return st.one_of([of(model) for model in EVENTS])


def points() -> SearchStrategy[StoredPoint]:
    """Points of every kind but checkpoints."""
    return st.one_of([of(model) for model in (Memory, Receipt, ThreadState, TenantState)])


def checkpoints() -> SearchStrategy[Checkpoint]:
    """Checkpoints."""
    return of(Checkpoint)


def queries() -> SearchStrategy[Query]:
    """Queries."""
    return of(Query, since=_WHEN, until=_WHEN, filter=st.none() | conditions())


def attributes() -> SearchStrategy[Attributes]:
    """A CloudEvent's attributes; headers carry milliseconds."""
    return st.builds(
        Attributes,
        id=identifiers(),
        source=identifiers(),
        type=st.just("set.by.the.codec"),
        time=times().map(lambda time: time.replace(microsecond=time.microsecond // 1_000 * 1_000)),
        traceparent=st.none() | st.from_regex(r"\A[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}\Z"),
        original_rev=st.none() | st.integers(0, 2**44 - 1),
    )


def of(model: type[M], **given: SearchStrategy[Any]) -> SearchStrategy[M]:
    """Any value of a model; optional fields are sometimes left out. ``given`` says otherwise for single fields."""
    hints = get_type_hints(model, include_extras=True)
    own = {**_OWN.get(model, {}), **given}
    fields = {name: own[name] if name in own else _of_hint(hints[name]) for name in model.model_fields}
    needed = {name: found for name, found in fields.items() if model.model_fields[name].is_required()}
    optional = {name: found for name, found in fields.items() if name not in needed}
    mended = _MENDED.get(model, lambda values: values)
    return st.fixed_dictionaries(needed, optional=optional).map(mended).map(model.model_validate)


def _of_hint(hint: Any) -> SearchStrategy[Any]:
    for alias, make in _ALIASES:
        if hint == alias:
            return make()
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _bounded(arguments[0], _bounds(arguments[1:]))
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in (UnionType, Union):
        return st.one_of([st.none() if argument is NoneType else _of_hint(argument) for argument in arguments])
    if isinstance(hint, type) and issubclass(hint, BaseModel):
        return of(hint)
    return _bounded(hint, {})


def _bounds(metadata: tuple[Any, ...]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for item in metadata:
        for constraint in item.metadata if isinstance(item, FieldInfo) else ():
            for name in ("ge", "gt", "le", "lt", "min_length", "max_length", "pattern"):
                if (value := getattr(constraint, name, None)) is not None:
                    found[name] = value
    return found


def _bounded(hint: Any, bounds: dict[str, Any]) -> SearchStrategy[Any]:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is tuple:
        return _tuples(arguments, bounds)
    if origin is dict:
        return st.dictionaries(_of_hint(arguments[0]), _of_hint(arguments[1]), max_size=3)
    if hint is bool:
        return st.booleans()
    if hint is int:
        highest = bounds.get("le", bounds["lt"] - 1 if "lt" in bounds else MAX_INT64)
        return st.integers(bounds.get("ge", -MAX_INT64), highest)
    if hint is float:
        lowest, highest = bounds.get("ge", -math.inf), bounds.get("le", math.inf)
        return st.floats(lowest, highest, allow_nan=False, allow_infinity=False)
    if hint is str and "pattern" in bounds:
        return st.from_regex(bounds["pattern"], fullmatch=True).filter(
            lambda text: len(text) <= bounds.get("max_length", 64)
        )
    if hint is str:
        return st.text(_ANY_TEXT, min_size=bounds.get("min_length", 0), max_size=min(bounds.get("max_length", 20), 20))
    raise NotImplementedError(hint)


def _tuples(arguments: tuple[Any, ...], bounds: dict[str, Any]) -> SearchStrategy[tuple[Any, ...]]:
    if arguments[-1] is not Ellipsis:
        return st.tuples(*map(_of_hint, arguments))
    least, most = bounds.get("min_length", 0), bounds.get("max_length", 3)
    return st.lists(_of_hint(arguments[0]), min_size=least, max_size=min(most, 3)).map(tuple)


def _depth(value: Any) -> int:
    if not isinstance(value, dict | list):
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value), default=0)


def _mended_filter(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value != ()}


def _mended_forget(values: dict[str, Any]) -> dict[str, Any]:
    if (chosen := values.get("filter")) is not None and chosen.restricts():
        return {**values, "ids": None}
    ids = values.get("ids") or ("00000000-0000-4000-8000-000000000000",)
    return {**values, "filter": None, "ids": ids}


def _mended_remember(values: dict[str, Any]) -> dict[str, Any]:
    starts, ends = values.get("valid_from"), values.get("valid_to")
    return {**values, "valid_to": starts} if starts and ends and ends < starts else values


_WHEN = st.none() | st.from_regex(r"\A-[0-9]{1,3}[mhd]\Z") | times().map(lambda time: time.isoformat())
_ALIASES: tuple[tuple[Any, Callable[[], SearchStrategy[Any]]], ...] = (
    (Identifier, identifiers),
    (Content, contents),
    (Tag, lambda: st.text(_ANY_TEXT, min_size=1, max_size=8)),
    (Time, times),
    (Uuid, uuids),
    (JsonObject, json_objects),
    (
        JsonValue,
        lambda: st.none() | st.booleans() | st.integers(-MAX_INT64, MAX_INT64) | st.text(_ANY_TEXT, max_size=8),
    ),
)
_OWN: dict[type[BaseModel], dict[str, SearchStrategy[Any]]] = {
    Remember: {"content": contents(blank=False)},
    Summary: {"content": contents(blank=False)},
    Set: {"status": st.sampled_from((None, "active", "superseded", "merged", "evicted"))},
}
_MENDED: dict[type[BaseModel], Callable[[dict[str, Any]], dict[str, Any]]] = {
    Erase: lambda values: {**values, "confirm": values["tenant"]},
    Filter: _mended_filter,
    Forget: _mended_forget,
    Remember: _mended_remember,
    Revise: lambda values: {**values, "changes": list({each.id: each for each in values["changes"]}.values())},
}
