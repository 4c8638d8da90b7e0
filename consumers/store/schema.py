"""What the collection is, as values: its vectors, indexes and limits, and what differs in one that is there. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pydantic import ValidationError
from qdrant_client import models

from afterturn.consumers.store.points import DENSE, MAX_UPSERT, SPARSE
from afterturn.schemas.settings import FoldSettings

MAX_QUERY_LIMIT = 20_000
"""Points one read may ask for: above a tenant's usual bound, so that a full ranked read passes."""
_UNSAFE = re.compile(r"[^a-z0-9._]+")

_KEYWORDS = (
    "point", "status", "kind", "type", "thread", "author", "role", "tags",
    "scope.workspace", "scope.route", "scope.user", "scope.agent",
)  # fmt: skip
_RANGES = ("rev", "born", "evict_key", "position")
_FLOATS = ("importance", "confidence")
_TIMES = ("occurred_at", "expires_at")
_IDS = ("source_ids", "derived_from")
_Index: TypeAlias = (
    models.KeywordIndexParams
    | models.IntegerIndexParams
    | models.FloatIndexParams
    | models.DatetimeIndexParams
    | models.UuidIndexParams
    | models.BoolIndexParams
)

HNSW: Mapping[str, int] = {"m": 0, "payload_m": 0}
"""No graph: a tenant is searched exactly. A tenant as large as the graph's threshold would get no hit at all."""
STRICT: Mapping[str, bool | int] = {
    "enabled": True,
    "unindexed_filtering_retrieve": False,
    "unindexed_filtering_update": False,
    "max_query_limit": MAX_QUERY_LIMIT,
    "upsert_max_batchsize": MAX_UPSERT,
}


@dataclass(frozen=True, slots=True)
class Difference:
    """One way in which the collection isn't what the settings say.

    Attributes:
        field: which, as a dotted name: ``vectors.dense.distance``, ``index.rev``, ``settings.epoch``.
        ours: what this process would have made.
        theirs: what is there; None where nothing is.
    """

    field: str
    ours: object
    theirs: object

    def __str__(self) -> str:
        return f"{self.field} is {self.theirs!r}, not {self.ours!r}"


def collection_name(settings: FoldSettings, alias: str = "memories") -> str:
    """``<alias>-<embedder>-<dimension>-v1``, the embedder's name reduced to what a name may hold."""
    embedder = _UNSAFE.sub("-", settings.embedder.lower()).strip("-")[:100]
    return f"{alias[:100]}-{embedder}-{settings.dimension}-v1"


def indexes() -> dict[str, _Index]:
    """Every payload index by field: all that a read or an update filters by.

    Strict mode refuses any other. ``next`` has none: only conditional upserts test it, on the points they carry.
    ``pinned`` is only tested for being there. No index but the tenant's takes part in a graph.
    """
    ranged: dict[str, Any] = {"type": "integer", "lookup": False, "range": True, "enable_hnsw": False}
    return {
        "tenant": models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True),
        **{name: models.KeywordIndexParams.model_validate(_plain("keyword")) for name in _KEYWORDS},
        **{name: models.IntegerIndexParams.model_validate(ranged) for name in _RANGES},
        "partition": models.IntegerIndexParams.model_validate({**ranged, "lookup": True, "range": False}),
        **{name: models.FloatIndexParams.model_validate(_plain("float")) for name in _FLOATS},
        **{name: models.DatetimeIndexParams.model_validate(_plain("datetime")) for name in _TIMES},
        **{name: models.UuidIndexParams.model_validate(_plain("uuid")) for name in _IDS},
        "pinned": models.BoolIndexParams.model_validate(_plain("bool")),
    }


def creation(settings: FoldSettings) -> dict[str, Any]:
    """The arguments of the call that creates the collection."""
    dense = models.VectorParams(size=settings.dimension, distance=models.Distance.COSINE, on_disk=False)
    return {
        "vectors_config": {DENSE: dense},
        "sparse_vectors_config": {SPARSE: models.SparseVectorParams(modifier=models.Modifier.IDF)},
        "hnsw_config": models.HnswConfigDiff.model_validate(dict(HNSW)),
        "shard_number": 1,
        "on_disk_payload": True,
        "strict_mode_config": models.StrictModeConfig.model_validate(dict(STRICT)),
        "metadata": settings.model_dump(mode="json"),
    }


def dimension_of(info: models.CollectionInfo) -> int | None:
    """The size of the collection's dense vectors, None where it has none of that name."""
    vectors = info.config.params.vectors
    dense = vectors.get(DENSE) if isinstance(vectors, dict) else None
    return dense.size if dense else None


def differences(info: models.CollectionInfo, settings: FoldSettings) -> list[Difference]:
    """In what a collection differs from what these settings make; further indexes and limits are no difference."""
    return [
        *_vectors(info, settings),
        *_graph(info),
        *_strict(info),
        *_indexes(info.payload_schema),
        *_settings(info.config.metadata, settings),
    ]


def missing_indexes(info: models.CollectionInfo) -> list[str]:
    """Which payload indexes are not there: an ``init`` that was cut off makes them when it runs again."""
    return [name for name in indexes() if name not in info.payload_schema]


def _vectors(info: models.CollectionInfo, settings: FoldSettings) -> Iterator[Difference]:
    params = info.config.params
    vectors = params.vectors if isinstance(params.vectors, dict) else {}
    dense, sparse = vectors.get(DENSE), (params.sparse_vectors or {}).get(SPARSE)
    found = {
        f"vectors.{DENSE}.size": (settings.dimension, dense and dense.size),
        f"vectors.{DENSE}.distance": ("Cosine", dense and dense.distance.value),
        f"sparse_vectors.{SPARSE}.modifier": ("idf", sparse and sparse.modifier and sparse.modifier.value),
        "shard_number": (1, params.shard_number),
    }
    yield from _unequal(found)


def _graph(info: models.CollectionInfo) -> Iterator[Difference]:
    graph = info.config.hnsw_config
    yield from _unequal({f"hnsw_config.{name}": (ours, getattr(graph, name)) for name, ours in HNSW.items()})


def _strict(info: models.CollectionInfo) -> Iterator[Difference]:
    theirs = info.config.strict_mode_config
    for name, ours in STRICT.items():
        value = getattr(theirs, name, None)
        roomy = not isinstance(ours, bool) and (value is None or value >= ours)
        if value != ours and not roomy:
            yield Difference(f"strict_mode_config.{name}", ours, value)


def _indexes(found: Mapping[str, models.PayloadIndexInfo]) -> Iterator[Difference]:
    for name, index in indexes().items():
        ours, there = index.model_dump(mode="json", exclude_none=True), found.get(name)
        kind = ours.pop("type")
        if there is None or there.data_type.value != kind:
            yield Difference(f"index.{name}", kind, there and there.data_type.value)
            continue
        params = there.params.model_dump(mode="json", exclude_none=True) if there.params else {}
        for key, value in ours.items():
            theirs = params.get(key, key != "is_tenant")  # what the server takes an absent one for
            if theirs != value:
                yield Difference(f"index.{name}.{key}", value, theirs)


def _settings(metadata: dict[str, Any] | None, settings: FoldSettings) -> Iterator[Difference]:
    try:
        theirs = FoldSettings.model_validate(metadata or {})
    except ValidationError as error:
        fields = sorted({".".join(map(str, place["loc"])) for place in error.errors(include_input=False)})
        yield Difference("settings", "the settings of this version", f"fields missing, unknown or invalid: {fields}")
        return
    for name, ours, value in settings.differences(theirs):
        yield Difference(f"settings.{name}", ours, value)


def _plain(kind: str) -> dict[str, Any]:
    return {"type": kind, "enable_hnsw": False}


def _unequal(pairs: Mapping[str, tuple[object, object]]) -> Iterator[Difference]:
    return (Difference(name, ours, theirs) for name, (ours, theirs) in pairs.items() if ours != theirs)
