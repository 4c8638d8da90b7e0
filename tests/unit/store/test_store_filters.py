"""Filters are JSON of our own; the client's models know every condition in them, and each field has its index."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from qdrant_client import models

from afterturn.consumers.store import filters, schema
from afterturn.consumers.store.narrowing import narrowing
from afterturn.consumers.store.search import Search, Window
from afterturn.schemas.conditions import FIELDS, Condition, FieldName
from afterturn.schemas.parts import Filter
from afterturn.schemas.scope import Scope

AT = datetime(2026, 3, 1, tzinfo=UTC)


def exists(name: FieldName) -> dict[str, object]:
    """A condition on a field of any sort."""
    if FIELDS[name].default is None:
        return {"field": name, "op": "exists", "value": True}
    return {"field": name, "op": "eq", "value": FIELDS[name].default}


SCOPE = Scope(workspace="w", user="u")
EVERYTHING = Search(
    tenant="t",
    scope=tuple(Scope(workspace="w", route="r", user="u", agent="a").pairs()),
    threads=("x",),
    exclude_threads=("y",),
    authors=("Ann",),
    roles=("user",),
    kinds=("episodic",),
    types=("conversation",),
    tags_any=("a", "b"),
    tags_all=("c",),
    since=AT,
    until=AT,
    min_importance=0.5,
    min_confidence=0.5,
    as_of=AT,
    where=narrowing(Condition.model_validate({"and": [*map(exists, FIELDS)]}), AT),
)
SELECTED = Filter(
    scope=SCOPE, threads=("x",), tags_any=("a",), kinds=("semantic",), authors=("Ann",), since=AT, until=AT
)
READS: dict[str, filters.Filter] = {
    "tail": filters.tail("t", 5),
    "landed": filters.landed(str(uuid4()), ["t", "u"], 5),
    "born at": filters.born_at("t", 5),
    "searched": filters.all_of(*filters.searched(EVERYTHING)),
    "windows": filters.windows([Window("x", SCOPE, 0, 5), Window("y", Scope(), 2, 3)]),
    "corpus": filters.all_of(filters.tenant_is("t")),
    "forgotten": filters.forgotten("t", SELECTED, 5),
    "derived": filters.derived("t", [str(uuid4())], 5),
    "everything": filters.everything("t", ("memory", "receipt"), 5),
    "changed at": filters.changed_at("t", 5),
    "episodes' tail": filters.tail("t", 5, episodes=True),
    "states": filters.states(3, "thread", 5),
    "kept beside": filters.kept_beside("t", 5, 9),
    "of a thread": filters.of_thread("t", SCOPE, "x"),
    "collectable": filters.collectable(3, 5),
    "removed": filters.all_of(filters.has_id([str(uuid4())]), filters.bounds("rev", lt=5)),
}


def leaves(condition: Any) -> Iterator[Any]:
    """Every condition on a field or on ids, at any depth."""
    if isinstance(condition, models.Filter):
        for part in (condition.must, condition.should, condition.must_not):
            for inner in part if isinstance(part, list) else [part] if part else []:
                yield from leaves(inner)
    else:
        yield condition


def served(condition: Any) -> bool:
    """Whether an index answers the condition, as strict mode asks."""
    if isinstance(condition, models.HasIdCondition):
        return True
    indexes = schema.indexes()
    if isinstance(condition, models.IsEmptyCondition):
        return condition.is_empty.key in indexes
    index = indexes[condition.key].model_dump(mode="json")
    if condition.range is not None:
        dated = isinstance(condition.range, models.DatetimeRange)
        return index["type"] in (("datetime",) if dated else ("float", "integer")) and index.get("range") is not False
    wanted = condition.match.value if isinstance(condition.match, models.MatchValue) else condition.match.any[0]
    kinds = ("integer",) if isinstance(wanted, int) else ("keyword", "uuid")
    return index["type"] in kinds and index.get("lookup") is not False


@pytest.mark.parametrize("given", READS.values(), ids=list(READS))
def test_the_client_knows_every_condition_and_an_index_serves_it(given: filters.Filter) -> None:
    parsed = models.Filter.model_validate(given)
    conditions = list(leaves(parsed))
    assert conditions
    assert [condition for condition in conditions if not served(condition)] == []


def test_every_index_serves_a_condition() -> None:
    asked: set[str] = {"evict_key"}  # orders
    for given in READS.values():
        for condition in leaves(models.Filter.model_validate(given)):
            if isinstance(condition, models.IsEmptyCondition):
                asked.add(condition.is_empty.key)
            elif isinstance(condition, models.FieldCondition):
                asked.add(condition.key)
    assert set(schema.indexes()) == asked


def test_a_search_always_names_the_tenant_and_memories_in_use_or_summarised() -> None:
    conditions = filters.searched(Search(tenant="t"))
    assert conditions == [
        {"key": "tenant", "match": {"value": "t"}},
        {"key": "point", "match": {"value": "memory"}},
        {"should": [{"key": "status", "match": {"value": "active"}}, {"must_not": [{"is_empty": {"key": "summary"}}]}]},
    ]


def test_only_a_checkpoint_has_next_and_only_other_points_have_rev() -> None:
    assert filters.unwritten(10, 20) == {
        "should": [
            {"key": "next", "range": {"gte": 10, "lt": 20}},
            {"key": "rev", "range": {"lt": 20}},
        ]
    }
