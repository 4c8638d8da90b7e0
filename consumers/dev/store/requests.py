"""Reads as values: parsed from JSON, before strict mode and the engine see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

from afterturn.consumers.dev.store.errors import bad_request, malformed, unsupported, wrong_input
from afterturn.consumers.dev.store.fields import (
    PointId,
    Table,
    flag,
    needed,
    number,
    point_id,
    point_ids,
    rows,
    table,
    text,
    whole,
)
from afterturn.consumers.dev.store.filters import Filter, optional_filter
from afterturn.consumers.dev.store.points import Vector, parse_vector
from afterturn.consumers.dev.store.schema import Schema


@dataclass(frozen=True, slots=True)
class Without:
    """All fields but these."""

    names: tuple[str, ...]


Names: TypeAlias = bool | list[str]  # which vectors an answer carries
Pick: TypeAlias = Names | Without  # what of a payload it carries


@dataclass(frozen=True, slots=True)
class Order:
    """An order by one payload field."""

    key: str
    descending: bool
    start_from: int | float | str | None = None


@dataclass(frozen=True, slots=True)
class Retrieve:
    """Points by id."""

    ids: list[PointId]
    payload: Pick
    vectors: Names


@dataclass(frozen=True, slots=True)
class Scroll:
    """A page of points; `offset` is the id it starts at."""

    limit: int
    offset: PointId | None
    filter: Filter | None
    order: Order | None
    payload: Pick
    vectors: Names


@dataclass(frozen=True, slots=True)
class Nearest:
    """An order by nearness to a vector."""

    vector: Vector
    using: str


@dataclass(frozen=True, slots=True)
class Params:
    """How a search is done: exactly, and with the terms of which corpus weighed."""

    exact: bool = False
    corpus: Filter | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """Which part of a ranking is wanted: ranks from `offset`, and scores of at least `threshold`."""

    limit: int
    offset: int
    threshold: float | None


@dataclass(frozen=True, slots=True)
class Search:
    """One ranked read: by nearness to a vector, by a field, or by id."""

    ranking: Nearest | Order | None
    params: Params
    filter: Filter | None
    page: Page
    payload: Pick
    vectors: Names


_SHOW = ("with_payload", "with_vector")
_SEARCH = ("query", "using", "filter", "params", "limit", "offset", "score_threshold", *_SHOW)


def parse_retrieve(body: object, schema: Schema) -> Retrieve:
    """Read the body of `POST points`."""
    source = table(body, ("ids", *_SHOW), "request")
    ids = list(dict.fromkeys(point_ids(needed(source, "ids", "request"), "ids")))
    return Retrieve(ids, _pick_payload(source, default=True), _pick_vectors(source, schema))


def parse_scroll(body: object, schema: Schema) -> Scroll:
    """Read the body of `POST points/scroll`."""
    source = table(body, ("limit", "offset", "filter", "order_by", *_SHOW), "request")
    order = None if source.get("order_by") is None else _order(source["order_by"])
    offset = None if source.get("offset") is None else point_id(source["offset"])
    if order and offset is not None:
        raise bad_request("Cannot use an `offset` when using `order_by`: use `order_by.start_from` instead")
    return Scroll(
        limit=whole(source, "limit", 10, 1),
        offset=offset,
        filter=optional_filter(source),
        order=order,
        payload=_pick_payload(source, default=True),
        vectors=_pick_vectors(source, schema),
    )


def parse_search(body: object, schema: Schema) -> Search:
    """Read the body of `POST points/query`, or one of a batch."""
    source = table(body, _SEARCH, "request")
    threshold = source.get("score_threshold")
    threshold = None if threshold is None else number(threshold, "score_threshold")
    return Search(
        ranking=_ranking(source, schema),
        params=_params(source),
        filter=optional_filter(source),
        page=Page(whole(source, "limit", 10, 1), whole(source, "offset", 0), threshold),
        payload=_pick_payload(source, default=False),
        vectors=_pick_vectors(source, schema),
    )


def _params(source: Table) -> Params:
    params = table(source.get("params") or {}, ("exact", "idf"), "params")
    idf = table(params.get("idf") or {}, ("corpus",), "params.idf")
    return Params(flag(params, "exact", default=False), optional_filter(idf, "corpus"))


def _ranking(source: Table, schema: Schema) -> Nearest | Order | None:
    query = source.get("query")
    if query is None:
        return None
    query = table(query, ("nearest", "order_by"), "query")
    if len(query) != 1:
        raise malformed("query needs exactly one of nearest, order_by")
    if "order_by" in query:
        return _order(query["order_by"])
    using = "" if source.get("using") is None else text(source["using"], "using")
    if not isinstance(query["nearest"], list | dict):
        raise unsupported("a query by a point's id or a document")
    return Nearest(parse_vector(using, query["nearest"], schema.dense, schema.sparse), using)


def _order(value: object) -> Order:
    if isinstance(value, str):
        return Order(value, descending=False)
    source = table(value, ("key", "direction", "start_from"), "order_by")
    direction = source.get("direction") or "asc"
    if direction not in ("asc", "desc"):
        raise malformed("order_by.direction must be asc or desc")
    start = source.get("start_from")
    if start is not None and (isinstance(start, bool) or not isinstance(start, int | float | str)):
        raise malformed("order_by.start_from must be a number or a time")
    return Order(text(needed(source, "key", "order_by"), "order_by.key"), direction == "desc", start)


def _pick_payload(source: Table, *, default: bool) -> Pick:
    value = source.get("with_payload")
    if value is None:
        return default
    if isinstance(value, dict):
        inner = table(value, ("include", "exclude"), "with_payload")
        if len(inner) != 1:
            raise malformed("with_payload takes one of include, exclude")
        if "exclude" in inner:
            return Without(tuple(_names(inner["exclude"], "with_payload")))
        value = inner["include"]
    return _flag_or_names(value, "with_payload")


def _pick_vectors(source: Table, schema: Schema) -> Names:
    value = source.get("with_vector")
    picked = False if value is None else _flag_or_names(value, "with_vector")
    for name in [] if isinstance(picked, bool) else picked:
        if name not in schema.dense and name not in schema.sparse:
            raise wrong_input(f"Not existing vector name error: {name}")
    return picked


def _flag_or_names(value: object, where: str) -> bool | list[str]:
    return value if isinstance(value, bool) else _names(value, where)


def _names(value: Any, where: str) -> list[str]:  # noqa: ANN401  # JSON
    return [text(item, where) for item in rows(value, where)]
