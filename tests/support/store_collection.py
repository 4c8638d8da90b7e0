"""A collection of the kind our store makes, small and under strict mode, for tests of the embedded store."""

from collections.abc import Mapping
from typing import TypeAlias

from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m

Index: TypeAlias = m.PayloadSchemaType | m.KeywordIndexParams | m.IntegerIndexParams | m.DatetimeIndexParams
INDEXES: dict[str, Index] = {
    "tenant": m.KeywordIndexParams(type=m.KeywordIndexType.KEYWORD, is_tenant=True),
    "status": m.KeywordIndexParams(type=m.KeywordIndexType.KEYWORD, enable_hnsw=False),
    "rev": m.IntegerIndexParams(type=m.IntegerIndexType.INTEGER, enable_hnsw=False),
    "evict_key": m.IntegerIndexParams(type=m.IntegerIndexType.INTEGER, lookup=False, range=True, enable_hnsw=False),
    "at": m.DatetimeIndexParams(type=m.DatetimeIndexType.DATETIME, enable_hnsw=False),
    "pinned": m.PayloadSchemaType.BOOL,
}
STRICT = m.StrictModeConfig(
    enabled=True,
    unindexed_filtering_retrieve=False,
    unindexed_filtering_update=False,
    max_query_limit=100,
    upsert_max_batchsize=50,
    search_max_batchsize=4,
    filter_max_conditions=8,
    condition_max_size=20,
    max_timeout=60,
    max_payload_index_count=7,
)


async def make_collection(
    client: AsyncQdrantClient,
    name: str,
    strict: m.StrictModeConfig | None = STRICT,
    indexes: Mapping[str, Index] = INDEXES,
) -> None:
    """Make the collection and its indexes: `dense` of 4 dimensions, `bm25` with IDF."""
    await client.create_collection(
        name,
        vectors_config={"dense": m.VectorParams(size=4, distance=m.Distance.COSINE)},
        sparse_vectors_config={"bm25": m.SparseVectorParams(modifier=m.Modifier.IDF)},
        hnsw_config=m.HnswConfigDiff(m=0, payload_m=0),
        shard_number=1,
        replication_factor=1,
        write_consistency_factor=1,
        on_disk_payload=True,
        strict_mode_config=strict,
        metadata={"embedder": "static", "epoch": 0},
    )
    for field, kind in indexes.items():
        await client.create_payload_index(name, field, kind)


def point(number: int, *, dense: list[float] | None = None, **payload: object) -> m.PointStruct:
    """A memory-like point whose id is `number`; its vectors differ by number."""
    return m.PointStruct(
        id=number,
        vector={
            "dense": dense or [1.0, 2.0, 3.0, float(number)],
            "bm25": m.SparseVector(indices=[1, 10 + number], values=[0.5, 0.25]),
        },
        payload={"tenant": "ann", "status": "active", "rev": number, "evict_key": 1000 + number, **payload},
    )


def bare(number: int, **payload: object) -> m.PointStruct:
    """A point without vectors, as tombstones, receipts and states are."""
    return m.PointStruct(id=number, vector={}, payload=payload)


def match(key: str, value: str | int | bool) -> m.FieldCondition:
    """The field has this value."""
    return m.FieldCondition(key=key, match=m.MatchValue(value=value))


def within(key: str, **bounds: float) -> m.FieldCondition:
    """The field is within these bounds."""
    return m.FieldCondition(key=key, range=m.Range(**bounds))


def unwritten(previous: int, following: int) -> m.Filter:
    """What our write path writes over: the checkpoint where it is expected, and points of earlier commands."""
    return m.Filter(should=[within("next", gte=previous, lt=following), within("rev", lt=following)])
