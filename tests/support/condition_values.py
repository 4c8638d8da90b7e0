"""Conditions of a query's filter for tests, and memories they are about."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from afterturn.schemas.conditions import FIELDS, OPS, Condition, FieldName, Op

DAY = datetime(2026, 3, 1, tzinfo=UTC)
NOW = DAY + timedelta(days=5)
_TEXTS: dict[str, tuple[str, ...]] = {
    "role": ("user", "assistant", "tool"),
    "kind": ("episodic", "semantic", "reflection"),
    "status": ("active", "candidate", "superseded", "deleted"),
    "source.type": ("run", "user", "human"),
}
_FEW = ("a", "b", "c")
_TIMES = ("2026-03-01T00:00:00Z", "2026-03-02T00:00:00Z", "2026-03-03T01:00:00+01:00", "-5d", "-3d", "-2d", "-72h")


def conditions() -> SearchStrategy[Condition]:
    """Any filter that is not too large, of few values, so that memories fulfil some."""
    return st.recursive(leaves(), _combined, max_leaves=6).map(Condition.model_validate)


def leaves() -> SearchStrategy[dict[str, Any]]:
    """A condition on one field, as JSON values."""
    names: list[FieldName] = list(FIELDS)
    pairs: list[tuple[FieldName, Op]] = [(name, op) for name in names for op in OPS[FIELDS[name].sort]]
    return st.sampled_from(pairs).flatmap(lambda pair: _leaf(pair[0], pair[1]))


def _combined(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    several = st.lists(inner, min_size=1, max_size=3)
    return st.one_of(
        several.map(lambda parts: {"and": parts}),
        several.map(lambda parts: {"or": parts}),
        inner.map(lambda part: {"not": part}),
    )


def _leaf(name: FieldName, op: Op) -> SearchStrategy[dict[str, Any]]:
    one = _value(name)
    value: SearchStrategy[Any] = one
    if op == "exists":
        value = st.booleans()
    elif op in ("in", "not_in", "contains_any", "contains_all"):
        value = st.lists(one, min_size=1, max_size=3)
    elif op == "between":
        value = st.tuples(one, one).map(list)
    return value.map(lambda found: {"field": name, "op": op, "value": found})


def _value(name: FieldName) -> SearchStrategy[Any]:
    sort, of = FIELDS[name].sort, FIELDS[name].of
    if sort == "number":
        whole = name in ("level", "reinforce_count", "position")
        return st.integers(0, 3) if whole else st.sampled_from((0.0, 0.25, 0.38, 0.5, 1.0, 1))
    if sort == "time":
        return st.sampled_from(_TIMES)
    return st.booleans() if of is bool else st.sampled_from(_TEXTS.get(name, _FEW))


def memory_fields() -> SearchStrategy[dict[str, Any]]:
    """What a memory may have, for ``support.store_points.memory``."""
    few, day = st.sampled_from(_FEW), st.integers(0, 4).map(lambda days: DAY + timedelta(days=days))
    share, whole = st.sampled_from((0.0, 0.25, 0.38, 0.5, 1.0)), st.integers(0, 3)
    entity = st.fixed_dictionaries({"span": few, "type": few}, optional={"id": few})
    source = st.fixed_dictionaries({"type": st.sampled_from(_TEXTS["source.type"]), "id": few})
    optional: dict[str, SearchStrategy[Any]] = {
        **dict.fromkeys(("thread", "turn_id", "author", "key", "collection", "type"), few | st.none()),
        **dict.fromkeys(("recorded_at", "effective_at", "valid_from", "valid_to", "invalidated_at", "expires_at"), day),
        "scope": st.fixed_dictionaries({}, optional=dict.fromkeys(("workspace", "route", "user", "agent"), few)),
        "role": st.sampled_from(_TEXTS["role"]) | st.none(),
        "kind": st.sampled_from(_TEXTS["kind"]),
        "tags": st.lists(few, max_size=2),
        "entities": st.lists(entity, max_size=2),
        "source": source,
        "importance": share,
        "confidence": share,
        "trust": share,
        "level": whole,
        "reinforce_count": whole,
        "position": whole | st.none(),
        "pinned": st.booleans(),
        "occurred_at": day,
        "status": st.sampled_from(("active", "active", "candidate", "superseded")),
    }
    return st.fixed_dictionaries({}, optional=optional)
