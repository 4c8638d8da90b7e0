"""The embedded engine: the one module that imports it. Values in, values out; it never decides what is written.

The engine writes a condition to its log and decides it anew when it replays the log, so it is given ids only.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np
import qdrant_edge as edge

from afterturn.consumers.dev.store import filters as f
from afterturn.consumers.dev.store.errors import Refused, malformed
from afterturn.consumers.dev.store.fields import PointId, Table
from afterturn.consumers.dev.store.files import sync_data, sync_folder
from afterturn.consumers.dev.store.indexes import Index
from afterturn.consumers.dev.store.points import Point, Vector
from afterturn.consumers.dev.store.requests import Names, Order, Pick, Scroll, Search, Without
from afterturn.consumers.dev.store.schema import Schema

P = ParamSpec("P")
R = TypeVar("R")


def _ask(call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Call the engine. It refuses arguments it cannot read before it does anything; its own error is a bare one."""
    try:
        return call(*args, **kwargs)
    except (ValueError, TypeError, OverflowError) as error:
        why = f": {error}" if isinstance(error, ValueError) else ""  # names a field or says what is wrong with a time
        raise malformed(f"a field name, a time or a number of the request cannot be read{why}") from error
    except Exception as error:
        if type(error) is not Exception:
            raise
        raise Refused(500, f"Service internal error: {error}") from error


class Engine:
    """One shard in one folder. Not thread-safe: one thread calls it."""

    def __init__(self, shard: edge.EdgeShard, folder: Path) -> None:
        self._shard = shard
        self._wal = folder / "wal"
        self._wal_names: frozenset[str] = frozenset()

    @classmethod
    def create(cls, folder: Path, schema: Schema) -> Engine:
        """A new, empty shard."""
        folder.mkdir(parents=True)
        return cls(_ask(edge.EdgeShard.create, str(folder), _ask(_config, schema)), folder)

    @classmethod
    def load(cls, folder: Path) -> Engine:
        """The shard in `folder`, its log replayed."""
        return cls(_ask(edge.EdgeShard.load, str(folder)), folder)

    def close(self) -> None:
        """Flush and let go of the folder."""
        _ask(self._shard.flush)
        _ask(self._shard.close)

    def flush(self) -> None:
        """Write everything from the log into the segments: less to replay."""
        _ask(self._shard.flush)

    def sync(self) -> None:
        """Make the log durable: what was written before this survives a loss of power."""
        names = frozenset(item.name for item in self._wal.iterdir())
        for name in names:
            if name.startswith("open-"):
                sync_data(self._wal / name)
        if names != self._wal_names:
            sync_folder(self._wal)
            self._wal_names = names

    def upsert(self, points: Iterable[Point]) -> None:
        """Replace these points."""
        self._update(edge.UpdateOperation.upsert_points, [_point(point) for point in points])

    def set_payload(self, ids: Sequence[PointId], payload: Table, key: str | None) -> None:
        """Set fields of these points, which must all exist."""
        self._update(edge.UpdateOperation.set_payload, list(ids), payload, key)

    def delete(self, ids: Sequence[PointId]) -> None:
        """Remove these points."""
        self._update(edge.UpdateOperation.delete_points, list(ids))

    def index(self, name: str, index: Index) -> None:
        """Index a payload field."""
        self._update(edge.UpdateOperation.create_field_index, name, _index(index))

    def _update(self, make: Callable[P, edge.UpdateOperation], *args: P.args, **kwargs: P.kwargs) -> None:
        _ask(self._shard.update, _ask(make, *args, **kwargs))

    def present(self, ids: Sequence[PointId]) -> set[PointId]:
        """Which of these points there are."""
        return {_id(record) for record in _ask(self._shard.retrieve, list(ids), with_payload=False, with_vector=False)}

    def matching(self, condition: f.Filter, among: Collection[PointId] | None = None) -> list[PointId]:
        """The points a filter selects, of the given ones or of all."""
        if among is not None:
            condition = f.Filter(must=(f.HasId(frozenset(among)), condition))
        most = self.count(condition) if among is None else len(among)
        if not most:
            return []
        request = _ask(edge.ScrollRequest, None, most, _filter(condition), with_payload=False, with_vector=False)
        return [_id(record) for record in _ask(self._shard.scroll, request)[0]]

    def retrieve(self, ids: Sequence[PointId], payload: Pick, vectors: Names) -> list[Table]:
        """These points, as far as they exist."""
        return [_record(record) for record in _ask(self._shard.retrieve, list(ids), _payload(payload), vectors)]

    def scroll(self, request: Scroll) -> tuple[list[Table], PointId | None]:
        """A page of points in the order of their ids or of a field, and the id that comes next."""
        order = None if request.order is None else _order(request.order)
        shown: dict[str, Any] = {"with_payload": _payload(request.payload), "with_vector": request.vectors}
        page = _ask(edge.ScrollRequest, request.offset, request.limit, _filter(request.filter), order_by=order, **shown)
        records, following = _ask(self._shard.scroll, page)
        following_id: Any = following
        return [_record(record) for record in records], following_id

    def count(self, condition: f.Filter | None) -> int:
        """How many points a filter selects, exactly."""
        return _ask(self._shard.count, edge.CountRequest(exact=True, filter=_filter(condition)))

    def facet(self, key: str, limit: int, condition: f.Filter | None, *, exact: bool) -> list[Table]:
        """How many points have each value of a field, the most frequent values first."""
        request = _ask(edge.FacetRequest, key, limit=limit, exact=exact, filter=_filter(condition))
        return [{"value": hit.value, "count": hit.count} for hit in _ask(self._shard.facet, request).hits]

    def search(self, searches: Sequence[Search]) -> list[list[Table]]:
        """Run searches as one batch."""
        # The engine loads the payload of everything an ordered query skips, so that is fetched afterwards.
        later = [isinstance(search.ranking, Order) or search.page.offset > 0 for search in searches]
        requests = [_query(search, bare=bare) for search, bare in zip(searches, later, strict=True)]
        found = _ask(self._shard.query_batch, edge.QueryBatchRequest(requests))
        pages = [[_record(p) | {"version": p.version, "score": p.score} for p in page] for page in found]
        for search, bare, page in zip(searches, later, pages, strict=True):
            if bare and page and (search.payload is not False or search.vectors is not False):
                self._fill(page, search.payload, search.vectors)
        return pages

    def _fill(self, page: list[Table], payload: Pick, vectors: Names) -> None:
        full = {row["id"]: row for row in self.retrieve([row["id"] for row in page], payload, vectors)}
        for row in page:
            row.update({name: value for name, value in full[row["id"]].items() if name in ("payload", "vector")})

    def figures(self) -> tuple[int, int, dict[str, int]]:
        """Indexed vectors, segments, and the points of each payload index."""
        info = _ask(self._shard.info)
        indexes = {name: item.points for name, item in info.payload_schema.items()}
        return info.indexed_vectors_count, info.segments_count, indexes


def check_filter(condition: f.Filter | None) -> None:
    """Refuse a filter whose field names or times the engine cannot read."""
    _filter(condition)


def _config(schema: Schema) -> edge.EdgeConfig:
    m, payload_m = schema.hnsw["m"], schema.hnsw["payload_m"]
    return edge.EdgeConfig(
        vectors={
            name: edge.EdgeVectorParams(item.size, getattr(edge.Distance, item.distance), on_disk=item.on_disk)
            for name, item in schema.dense.items()
        },
        sparse_vectors={
            name: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if item.idf else None)
            for name, item in schema.sparse.items()
        },
        on_disk_payload=bool(schema.params["on_disk_payload"]),
        hnsw_config=edge.HnswIndexConfig(
            m=int(m or 0),
            ef_construct=int(schema.hnsw["ef_construct"] or 0),
            full_scan_threshold=int(schema.hnsw["full_scan_threshold"] or 0),
            payload_m=None if payload_m is None else int(payload_m),
        ),
        wal_enabled=True,
    )


_INDEX_TYPES: dict[str, Callable[..., Any]] = {
    "keyword": edge.KeywordIndexParams,
    "uuid": edge.UuidIndexParams,
    "integer": edge.IntegerIndexParams,
    "float": edge.FloatIndexParams,
    "datetime": edge.DatetimeIndexParams,
    "bool": edge.BoolIndexParams,
}


def _index(index: Index) -> Any:  # noqa: ANN401  # one of the engine's parameter types
    return _INDEX_TYPES[index.kind](**dict(index.params))


def _point(point: Point) -> edge.Point:
    vectors: Any = {name: _vector(vector) for name, vector in point.vectors.items()}
    return edge.Point(point.id, vectors, point.payload)


def _vector(vector: Vector) -> Any:  # noqa: ANN401  # a list or the engine's sparse vector
    return edge.SparseVector(*vector) if isinstance(vector, tuple) else vector


def _query(search: Search, *, bare: bool) -> edge.QueryRequest:
    page, params, ranking = search.page, search.params, search.ranking
    idf = None if params.corpus is None else edge.IdfParams(_filter(params.corpus))
    query: Any = None
    if isinstance(ranking, Order):
        query = _order(ranking)
    elif ranking is not None:
        query = edge.Query.Nearest(_vector(ranking.vector), using=ranking.using)
    return _ask(
        edge.QueryRequest,
        limit=page.limit,
        offset=page.offset,
        query=query,
        with_vector=False if bare else search.vectors,
        with_payload=False if bare else _payload(search.payload),
        filter=_filter(search.filter),
        score_threshold=page.threshold,
        params=edge.SearchParams(exact=params.exact, idf=idf),
    )


def _order(order: Order) -> edge.OrderBy:
    direction = edge.Direction.Desc if order.descending else edge.Direction.Asc
    return _ask(edge.OrderBy, order.key, direction, order.start_from)


def _payload(pick: Pick) -> bool | list[str] | edge.PayloadSelector:
    return _ask(edge.PayloadSelector.Exclude, list(pick.names)) if isinstance(pick, Without) else pick


def _filter(condition: f.Filter | None) -> edge.Filter | None:
    return None if condition is None else _ask(_group, condition)


def _group(group: f.Filter) -> edge.Filter:
    least = group.min_should is not None and edge.MinShould([_condition(c) for c in group.min_should], group.least)
    return edge.Filter(
        must=[_condition(item) for item in group.must] or None,
        should=[_condition(item) for item in group.should] or None,
        must_not=[_condition(item) for item in group.must_not] or None,
        min_should=least or None,
    )


def _condition(condition: f.Condition) -> Any:  # noqa: ANN401  # one of the engine's condition types
    match condition:
        case f.Filter():
            return _group(condition)
        case f.HasId(ids):
            return edge.HasIdCondition(set(ids))
        case f.IsEmpty(key):
            return edge.IsEmptyCondition(key)
        case f.IsNull(key):
            return edge.IsNullCondition(key)
        case f.FieldIsEmpty(key, null, wanted):
            return edge.FieldCondition(key, is_null=wanted) if null else edge.FieldCondition(key, is_empty=wanted)
        case f.Range(key, bounds):
            given: dict[str, Any] = dict(bounds)
            kind: Any = edge.RangeDateTime if condition.is_time else edge.RangeFloat
            return edge.FieldCondition(key, range=kind(**given))
        case _:
            return edge.FieldCondition(condition.key, match=_match(condition))


def _match(condition: f.MatchValue | f.MatchAny) -> Any:  # noqa: ANN401
    if isinstance(condition, f.MatchAny):
        values: Any = list(condition.values)
        return edge.MatchExcept(values) if condition.negated else edge.MatchAny(values)
    # The engine takes Python's True for the integer 1.
    value: Any = np.bool_(condition.value) if isinstance(condition.value, bool) else condition.value
    return edge.MatchValue(value)


def _id(record: Any) -> PointId:  # noqa: ANN401
    identity: PointId = record.id  # what was put in: an integer or a UUID
    return identity


def _record(record: Any) -> Table:  # noqa: ANN401
    row: Table = {"id": record.id}
    # Each of these is made anew whenever it is asked for.
    payload, vectors, value = record.payload, record.vector, record.order_value
    if payload is not None:
        row["payload"] = payload
    if vectors is not None:
        row["vector"] = {name: _shown(vector) for name, vector in vectors.items()}
    if value is not None:
        row["order_value"] = value
    return row


def _shown(vector: Any) -> Any:  # noqa: ANN401
    return {"indices": vector.indices, "values": vector.values} if isinstance(vector, edge.SparseVector) else vector
