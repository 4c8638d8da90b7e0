"""What a collection is: its vectors, indexes, strict mode and metadata, as created and as told again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from afterturn.consumers.dev.store.errors import invalid, malformed, unsupported, wrong_input
from afterturn.consumers.dev.store.fields import Table, flag, needed, table, text, whole
from afterturn.consumers.dev.store.indexes import Index, parse_index
from afterturn.consumers.dev.store.strict import StrictMode, parse_strict_mode

_VECTOR_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]{0,99}")
DISTANCES = ("Cosine", "Dot", "Euclid", "Manhattan")
_KEYS = (
    "vectors",
    "sparse_vectors",
    "hnsw_config",
    "shard_number",
    "replication_factor",
    "write_consistency_factor",
    "on_disk_payload",
    "strict_mode_config",
    "metadata",
)
_HNSW = {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000, "max_indexing_threads": 0, "payload_m": None}


@dataclass(frozen=True, slots=True)
class Dense:
    """A dense vector: its dimension and how distances are taken."""

    size: int
    distance: str
    on_disk: bool | None = None


@dataclass(frozen=True, slots=True)
class Sparse:
    """A sparse vector; with `idf`, its scores are weighted by how rare a term is."""

    idf: bool


@dataclass(frozen=True, slots=True)
class Schema:
    """All of a collection but its points; `params` is what one process only tells again (replication and the like)."""

    dense: Mapping[str, Dense]
    sparse: Mapping[str, Sparse]
    hnsw: Mapping[str, int | bool | None]
    params: Mapping[str, int | bool]
    strict: StrictMode
    metadata: Mapping[str, Any] | None
    indexes: Mapping[str, Index] = field(default_factory=dict)

    def with_index(self, name: str, index: Index) -> Schema:
        """The same with one more payload index."""
        return replace(self, indexes={**self.indexes, name: index})

    def with_metadata(self, changes: Mapping[str, Any]) -> Schema:
        """The same with these fields of the metadata; a null takes its field away."""
        merged = {**(self.metadata or {}), **changes}
        return replace(self, metadata={name: value for name, value in merged.items() if value is not None})

    def to_json(self) -> Table:
        """What `parse_schema` reads, and the indexes."""
        return {
            "create": {
                "vectors": {name: _dense_json(item) for name, item in self.dense.items()},
                "sparse_vectors": {name: _sparse_json(item) for name, item in self.sparse.items()},
                "hnsw_config": {name: value for name, value in self.hnsw.items() if value is not None},
                **self.params,
                "strict_mode_config": self.strict.to_json(),
                "metadata": None if self.metadata is None else dict(self.metadata),
            },
            "indexes": {name: index.to_json() for name, index in self.indexes.items()},
        }


def schema_from_json(value: Table) -> Schema:
    """The schema a file holds."""
    indexes = {name: parse_index(index) for name, index in value["indexes"].items()}
    return replace(parse_schema(value["create"]), indexes=indexes)


def parse_schema(value: object) -> Schema:
    """Read the body of the call that creates a collection."""
    source = table(value, _KEYS, "collection")
    if whole(source, "shard_number", 1, 1) != 1:
        raise unsupported("a shard_number other than 1")
    hnsw = table(source.get("hnsw_config") or {}, (*_HNSW, "on_disk"), "hnsw_config")
    metadata = source.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise malformed("metadata must be an object")
    vectors, sparse = _named(source, "vectors"), _named(source, "sparse_vectors")
    _check_names(vectors, sparse)
    return Schema(
        dense={name: _dense(item, name) for name, item in vectors.items()},
        sparse={name: _sparse(item, name) for name, item in sparse.items()},
        hnsw={**_HNSW, **_hnsw(hnsw)},
        params={
            "shard_number": 1,
            "replication_factor": whole(source, "replication_factor", 1, 1),
            "write_consistency_factor": whole(source, "write_consistency_factor", 1, 1),
            "on_disk_payload": flag(source, "on_disk_payload", default=True),
        },
        strict=parse_strict_mode(source.get("strict_mode_config") or {}),
        metadata=metadata,
    )


def _named(source: Table, field: str) -> Table:
    value = source.get(field) or {}
    if not isinstance(value, dict):
        raise malformed(f"{field} must be an object")
    return value


def _check_names(vectors: Table, sparse: Table) -> None:
    """A vector's name is part of the names of the engine's files, and each has files of its own."""
    if not vectors and not sparse:
        raise unsupported("a collection without vectors")
    if vectors.keys() & sparse.keys():
        raise wrong_input("a dense and a sparse vector have the same name")
    for name in (*vectors, *sparse):
        if not _VECTOR_NAME.fullmatch(name):
            raise unsupported("a vector name that is not of letters, digits, dots, hyphens and underscores")


def _hnsw(source: Table) -> dict[str, int | bool]:
    given: dict[str, int | bool] = {name: whole(source, name, 0) for name in _HNSW if source.get(name) is not None}
    if source.get("on_disk") is not None:
        given["on_disk"] = flag(source, "on_disk", default=False)
    return given


def _dense(value: object, name: str) -> Dense:
    if not isinstance(value, dict):
        raise unsupported("a collection with one unnamed vector")
    source = table(value, ("size", "distance", "on_disk"), f"vectors.{name}")
    needed(source, "size", f"vectors.{name}")
    size = whole(source, "size", 0, 1)
    if size > 65_536:  # the server's own bound
        raise invalid(f"vectors.{name}.size", f"value {size} invalid, must be from 1 to 65536")
    distance = text(needed(source, "distance", f"vectors.{name}"), f"vectors.{name}.distance")
    if distance not in DISTANCES:
        raise malformed(f"unknown distance {distance!r}")
    return Dense(size, distance, None if source.get("on_disk") is None else flag(source, "on_disk", default=False))


def _sparse(value: object, name: str) -> Sparse:
    source = table(value, ("modifier", "index"), f"sparse_vectors.{name}")
    if source.get("index") is not None:
        index = table(source["index"], ("on_disk",), f"sparse_vectors.{name}.index")
        if flag(index, "on_disk", default=False):
            raise unsupported(f"sparse_vectors.{name}.index.on_disk")
    modifier = source.get("modifier")
    if modifier not in (None, "none", "idf"):
        raise malformed(f"unknown modifier of sparse_vectors.{name}")
    return Sparse(idf=modifier == "idf")


def _dense_json(item: Dense) -> Table:
    return {"size": item.size, "distance": item.distance} | ({} if item.on_disk is None else {"on_disk": item.on_disk})


def _sparse_json(item: Sparse) -> Table:
    return {"modifier": "idf"} if item.idf else {}


def info(schema: Schema, points: int, indexed: int, segments: int, index_points: Mapping[str, int]) -> Table:
    """What the server tells of a collection."""
    created = schema.to_json()["create"]
    shown = {name: created[name] for name in ("vectors", "sparse_vectors")} | dict(schema.params)
    config = {
        "params": shown,
        "hnsw_config": {name: value for name, value in schema.hnsw.items() if value is not None} | {"on_disk": False},
        "optimizer_config": {
            "deleted_threshold": 0.2,
            "vacuum_min_vector_number": 1000,
            "default_segment_number": 0,
            "flush_interval_sec": 5,
        },
        "wal_config": {"wal_capacity_mb": 32, "wal_segments_ahead": 0},
        "quantization_config": None,
        "strict_mode_config": created["strict_mode_config"],
    }
    if schema.metadata is not None:
        config["metadata"] = created["metadata"]
    return {
        "status": "green",
        "optimizer_status": "ok",
        "indexed_vectors_count": indexed,
        "points_count": points,
        "segments_count": segments,
        "config": config,
        "payload_schema": {
            name: {"data_type": index.kind, "params": index.to_json(), "points": index_points.get(name, 0)}
            for name, index in schema.indexes.items()
        },
    }
