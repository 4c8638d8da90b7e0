"""What the collection is, as values: its vectors, indexes and limits, and what differs in one that is there. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import ValidationError

from afterturn.consumers.store.points import DENSE, MAX_UPSERT, SPARSE
from afterturn.schemas.settings import FoldSettings

REPARTITION = "repartition"
"""The field of the metadata that says that the collection is being moved to another partition count."""
MAX_QUERY_LIMIT = 20_000
"""Points one read may ask for: above a tenant's usual bound, so that a full ranked read passes."""
_PARAMS = ("config", "params")
_UNSAFE = re.compile(r"[^a-z0-9._]+")

if TYPE_CHECKING:
    from qdrant_client import models

    _Index: TypeAlias = (
        models.KeywordIndexParams
        | models.IntegerIndexParams
        | models.FloatIndexParams
        | models.DatetimeIndexParams
        | models.UuidIndexParams
        | models.BoolIndexParams
    )

_KEYWORDS = (
    "point", "status", "kind", "type", "thread", "turn_id", "author", "role", "tags", "collection", "key",
    "scope.workspace", "scope.route", "scope.user", "scope.agent", "entities[].id", "entities[].type",
    "source.type", "source.id",
)  # fmt: skip
_RANGES = ("rev", "born", "evict_key", "position", "level", "reinforce_count")
_FLOATS = ("importance", "confidence", "trust")
_TIMES = (
    "occurred_at", "recorded_at", "effective_at", "expires_at", "valid_from", "valid_to", "invalidated_at",
)  # fmt: skip
_IDS = ("source_ids", "derived_from", "summary")
_RANGED = {"type": "integer", "lookup": False, "range": True, "enable_hnsw": False}


def _plain(kind: str) -> dict[str, Any]:
    return {"type": kind, "enable_hnsw": False}


INDEXES: Mapping[str, Mapping[str, Any]] = {
    "tenant": {"type": "keyword", "is_tenant": True},
    **{name: _plain("keyword") for name in _KEYWORDS},
    **dict.fromkeys(_RANGES, _RANGED),
    "partition": {**_RANGED, "lookup": True, "range": False},
    **{name: _plain("float") for name in _FLOATS},
    **{name: _plain("datetime") for name in _TIMES},
    **{name: _plain("uuid") for name in _IDS},
    "pinned": _plain("bool"),
}
"""Every payload index by field: all that a read or an update filters by.

Strict mode refuses any other. ``next`` has none: only conditional upserts test it, on the points they carry. ``pinned``
is only tested for being there. No index but the tenant's takes part in a graph.
"""
Info: TypeAlias = Mapping[str, Any]
"""A collection as the server tells it, as JSON values."""
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
    """Every payload index by field, as Qdrant's client takes it."""
    from qdrant_client import models

    kinds: dict[str, type[_Index]] = {
        "keyword": models.KeywordIndexParams,
        "integer": models.IntegerIndexParams,
        "float": models.FloatIndexParams,
        "datetime": models.DatetimeIndexParams,
        "uuid": models.UuidIndexParams,
        "bool": models.BoolIndexParams,
    }
    return {name: kinds[index["type"]].model_validate(dict(index)) for name, index in INDEXES.items()}


def creation(settings: FoldSettings) -> dict[str, Any]:
    """The arguments of the call that creates the collection, as Qdrant's client takes them."""
    from qdrant_client import models

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


def part(info: Info, *path: str) -> Mapping[str, Any]:
    """What stands at a place of an answer; empty where there is nothing of the kind."""
    found: Any = info
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def payload_schema(info: Info) -> dict[str, Mapping[str, Any]]:
    """The payload indexes that are there, by field."""
    return {name: part(info, "payload_schema", name) for name in part(info, "payload_schema")}


def dimension_of(info: Info) -> int | None:
    """The size of the collection's dense vectors, None where it has none of that name."""
    size = part(info, *_PARAMS, "vectors", DENSE).get("size")
    return size if isinstance(size, int) else None


def differences(info: Info, settings: FoldSettings) -> list[Difference]:
    """In what a collection differs from what these settings make; further indexes and limits are no difference."""
    return [
        *_vectors(info, settings),
        *_graph(info),
        *_strict(info),
        *_indexes(payload_schema(info)),
        *_settings(part(info, "config", "metadata"), settings),
    ]


def moving_to(info: Info) -> Mapping[str, Any]:
    """The settings the collection is being moved to, where that was begun and is not done; else nothing."""
    marker = part(info, "config", "metadata").get(REPARTITION)
    return part(marker, "to") if isinstance(marker, dict) else {}


def missing_indexes(info: Info) -> list[str]:
    """Which payload indexes are not there: an ``init`` that was cut off makes them when it runs again."""
    return [name for name in INDEXES if name not in payload_schema(info)]


def _vectors(info: Info, settings: FoldSettings) -> Iterator[Difference]:
    dense = part(info, *_PARAMS, "vectors", DENSE)
    found = {
        f"vectors.{DENSE}.size": (settings.dimension, dense.get("size")),
        f"vectors.{DENSE}.distance": ("Cosine", dense.get("distance")),
        f"sparse_vectors.{SPARSE}.modifier": ("idf", part(info, *_PARAMS, "sparse_vectors", SPARSE).get("modifier")),
        "shard_number": (1, part(info, *_PARAMS).get("shard_number")),
    }
    yield from _unequal(found)


def _graph(info: Info) -> Iterator[Difference]:
    graph = part(info, "config", "hnsw_config")
    yield from _unequal({f"hnsw_config.{name}": (ours, graph.get(name)) for name, ours in HNSW.items()})


def _strict(info: Info) -> Iterator[Difference]:
    theirs = part(info, "config", "strict_mode_config")
    for name, ours in STRICT.items():
        value = theirs.get(name)
        roomy = not isinstance(ours, bool) and (value is None or value >= ours)
        if value != ours and not roomy:
            yield Difference(f"strict_mode_config.{name}", ours, value)


def _indexes(found: Mapping[str, Mapping[str, Any]]) -> Iterator[Difference]:
    for name, index in INDEXES.items():
        there, kind = found.get(name, {}), index["type"]
        if there.get("data_type") != kind:
            yield Difference(f"index.{name}", kind, there.get("data_type"))
            continue
        params = part(there, "params")
        for key, value in index.items():
            if key == "type":
                continue
            theirs = params.get(key)
            if theirs is None:
                theirs = key != "is_tenant"  # what the server takes an absent one for
            if theirs != value:
                yield Difference(f"index.{name}.{key}", value, theirs)


def _settings(metadata: Mapping[str, Any], settings: FoldSettings) -> Iterator[Difference]:
    try:
        theirs = FoldSettings.model_validate({k: v for k, v in metadata.items() if k != REPARTITION})
    except ValidationError as error:
        fields = sorted({".".join(map(str, place["loc"])) for place in error.errors(include_input=False)})
        yield Difference("settings", "the settings of this version", f"fields missing, unknown or invalid: {fields}")
        return
    for name, ours, value in settings.differences(theirs):
        yield Difference(f"settings.{name}", ours, value)


def _unequal(pairs: Mapping[str, tuple[object, object]]) -> Iterator[Difference]:
    return (Difference(name, ours, theirs) for name, (ours, theirs) in pairs.items() if ours != theirs)
