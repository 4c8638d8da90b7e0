"""One collection: its schema and its points, in one folder."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from afterturn.consumers.dev.store.engine import Engine, check_filter
from afterturn.consumers.dev.store.errors import Refused, bad_request
from afterturn.consumers.dev.store.fields import PointId, Table
from afterturn.consumers.dev.store.files import read_json, write_json
from afterturn.consumers.dev.store.filters import Filter, MatchAny, MatchValue
from afterturn.consumers.dev.store.indexes import Index
from afterturn.consumers.dev.store.points import Point
from afterturn.consumers.dev.store.requests import Nearest, Order, Scroll, Search
from afterturn.consumers.dev.store.schema import Schema, info, schema_from_json
from afterturn.consumers.dev.store.writes import Delete, SetPayload, Upsert, Write

_MORE = "Check https://qdrant.tech/documentation/concepts/indexing/#payload-index to see which payload schemas support"


class Collection:
    """What is written here is durable when a call returns, and whole or absent after a crash."""

    def __init__(self, folder: Path, schema: Schema, engine: Engine) -> None:
        self.schema = schema
        self.engine = engine
        self._folder = folder
        self._operation = 0
        self._unflushed = False
        self._broken = False

    @classmethod
    def create(cls, folder: Path, schema: Schema) -> None:
        """Lay out a new collection in `folder`."""
        engine = Engine.create(folder / "shard", schema)
        engine.close()
        write_json(folder / "schema.json", schema.to_json())

    @classmethod
    def open(cls, folder: Path) -> Collection:
        """The collection in `folder`, its log replayed and flushed, so that it is not replayed again."""
        engine = Engine.load(folder / "shard")
        engine.flush()
        return cls(folder, schema_from_json(read_json(folder / "schema.json")), engine)

    def close(self) -> None:
        """Flush and close."""
        self.engine.close()

    def flush(self) -> None:
        """Write what the log holds into the segments, if anything was written since."""
        if self._unflushed:
            self.engine.flush()
            self._unflushed = False

    def info(self) -> Table:
        """What the server tells of a collection."""
        indexed, segments, index_points = self.engine.figures()
        return info(self.schema, self.engine.count(None), indexed, segments, index_points)

    def create_index(self, name: str, index: Index) -> Table:
        """Index a payload field; once the schema says so, the engine has it."""
        if self.schema.indexes.get(name) != index:
            if name not in self.schema.indexes:
                self.schema.strict.check_indexes(len(self.schema.indexes))
            with self._writing():
                self.engine.index(name, index)
            self.schema = self.schema.with_index(name, index)
            write_json(self._folder / "schema.json", self.schema.to_json())
        return self._completed()

    def merge_metadata(self, changes: Table) -> None:
        """Set these fields of the metadata, each as a whole; a null takes its field away."""
        self.schema = self.schema.with_metadata(changes)
        write_json(self._folder / "schema.json", self.schema.to_json())

    def apply(self, writes: list[Write]) -> list[Table]:
        """Apply writes in order, each whole, and make them durable; an error leaves what came before it."""
        for write in writes:
            if isinstance(write, Upsert):
                check_filter(write.condition)
        with self._writing():
            return [self._apply(write) for write in writes]

    @contextmanager
    def _writing(self) -> Generator[None]:
        """Make durable what is written inside. After a fault (a full disk, say) nothing more is acknowledged."""
        if self._broken:
            raise Refused(500, "Service internal error: an earlier write failed, restart the store and see its log")
        self._unflushed = True
        self._broken = True
        try:
            yield
        except Refused:
            self.engine.sync()
            self._broken = False
            raise
        self.engine.sync()
        self._broken = False

    def _apply(self, write: Write) -> Table:
        match write:
            case Upsert():
                self.schema.strict.check_points(lambda: self.engine.count(None))
                points = self._winners(write)
                if points:
                    self.engine.upsert(points)
            case SetPayload(payload, target, key):
                ids = self._targets(target)
                absent = set(ids) - self.engine.present(ids)
                if absent:
                    raise Refused(404, f"Not found: No point with id {next(iter(absent))} found")
                if ids:
                    self.engine.set_payload(ids, payload, key)
            case Delete(target):
                ids = self._targets(target)
                if ids:
                    self.engine.delete(ids)
        return self._completed()

    def _winners(self, write: Upsert) -> list[Point]:
        """Decide here which points are written: the engine would decide anew when it replays its log."""
        points = write.points
        if write.condition is None and write.mode == "upsert":
            return list(points.values())
        present = self.engine.present(list(points))
        winners: set[PointId] = set()
        if write.mode != "insert_only" and present:
            winners |= present if write.condition is None else set(self.engine.matching(write.condition, present))
        if write.mode != "update_only":
            winners |= points.keys() - present
        return [point for identity, point in points.items() if identity in winners]

    def _targets(self, target: list[PointId] | Filter) -> list[PointId]:
        return self.engine.matching(target) if isinstance(target, Filter) else target

    def _completed(self) -> Table:
        self._operation += 1
        return {"operation_id": self._operation, "status": "completed"}

    def scroll(self, request: Scroll) -> Table:
        """A page of points."""
        self.schema.strict.check_limit(request.limit)
        self.check_read(request.filter)
        self._check_order(request.order)
        points, following = self.engine.scroll(request)
        return {"points": points, "next_page_offset": None if request.order else following}

    def count(self, condition: Filter | None) -> int:
        """How many points a filter selects."""
        self.check_read(condition)
        return self.engine.count(condition)

    def facet(self, key: str, limit: int, condition: Filter | None, *, exact: bool) -> list[Table]:
        """How many points have each value of a field."""
        self.schema.strict.check_limit(limit)
        self.check_read(condition)
        self.schema.strict.check_exact(exact=exact)
        index = self.schema.indexes.get(key)
        if index is None or not index.supports_match():
            raise bad_request(
                f"No appropriate index for faceting: `{key}`. Please create one to facet on this field. "
                f"{_MORE} Match conditions"
            )
        return self.engine.facet(key, limit, condition, exact=exact)

    def search(self, searches: list[Search]) -> list[list[Table]]:
        """Run ranked reads."""
        for search in searches:
            self._check_search(search)
        return self.engine.search(searches)

    def check_read(self, condition: Filter | None) -> None:
        """What strict mode says of a read's filter."""
        self.schema.strict.check_read(condition, self.schema.indexes)

    def _check_search(self, search: Search) -> None:
        strict = self.schema.strict
        ranking = search.ranking
        if isinstance(ranking, Nearest) and ranking.using in self.schema.dense and not self.schema.hnsw["m"]:
            strict.check_unindexed_search(ranking.using, filtered_by_tenant=self._by_tenant(search.filter))
        strict.check_limit(search.page.limit)
        self.check_read(search.filter)
        strict.check_exact(exact=search.params.exact)
        self.check_read(search.params.corpus)
        self._check_order(ranking if isinstance(ranking, Order) else None)

    def _check_order(self, order: Order | None) -> None:
        index = self.schema.indexes.get(order.key) if order else None
        if order and (index is None or not index.supports_order()):
            raise bad_request(
                f"No range index for `order_by` key: `{order.key}`. Please create one to use `order_by`. "
                f"{_MORE} Range conditions"
            )

    def _by_tenant(self, condition: Filter | None) -> bool:
        leaves = condition.leaves() if condition else ()
        keys = {leaf.key for leaf in leaves if isinstance(leaf, MatchValue | MatchAny)}
        return any(dict(index.params).get("is_tenant") for name, index in self.schema.indexes.items() if name in keys)
