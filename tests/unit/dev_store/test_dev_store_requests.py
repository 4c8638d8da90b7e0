"""Collections, reads and writes as values."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from afterturn.consumers.dev.store.errors import FolderTaken, Refused
from afterturn.consumers.dev.store.files import FolderLock, read_json, write_json
from afterturn.consumers.dev.store.filters import Filter, HasId
from afterturn.consumers.dev.store.indexes import parse_index
from afterturn.consumers.dev.store.requests import (
    Nearest,
    Order,
    Page,
    Params,
    Without,
    parse_retrieve,
    parse_scroll,
    parse_search,
)
from afterturn.consumers.dev.store.schema import parse_schema, schema_from_json
from afterturn.consumers.dev.store.writes import Delete, SetPayload, Upsert, parse_batch, parse_upsert

BODY = {
    "vectors": {"dense": {"size": 2, "distance": "Cosine", "on_disk": True}},
    "sparse_vectors": {"bm25": {"modifier": "idf"}, "plain": {}},
    "hnsw_config": {"m": 0, "payload_m": 0},
    "shard_number": 1,
    "replication_factor": 2,
    "write_consistency_factor": 1,
    "on_disk_payload": False,
    "strict_mode_config": {"enabled": True, "max_query_limit": 9, "upsert_max_batchsize": 2},
    "metadata": {"epoch": 0},
}
SCHEMA = parse_schema(BODY)


def test_a_schema_comes_back_from_its_file(tmp_path: Path) -> None:
    schema = SCHEMA.with_index("tenant", parse_index({"type": "keyword", "is_tenant": True}))

    write_json(tmp_path / "schema.json", schema.to_json())

    assert schema_from_json(read_json(tmp_path / "schema.json")) == schema
    assert [item.name for item in tmp_path.iterdir()] == ["schema.json"]


def test_a_file_keeps_its_content_when_the_new_one_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "aliases.json"
    write_json(file, {"a": 1})

    with pytest.raises(TypeError):
        write_json(file, {"a": object()})

    assert read_json(file) == {"a": 1}


def test_a_folder_is_held_by_one(tmp_path: Path) -> None:
    first = FolderLock(tmp_path)
    with pytest.raises(FolderTaken, match="in use by another store process"):
        FolderLock(tmp_path)

    first.release()

    FolderLock(tmp_path).release()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ({"vectors": {"size": 4, "distance": "Dot"}}, 501),
        ({"vectors": {}, "sparse_vectors": {}}, 501),
        ({"vectors": {"../x": {"size": 4, "distance": "Dot"}}}, 501),
        ({"vectors": {"bm25": {"size": 4, "distance": "Dot"}}}, 400),
        ({"vectors": {"a": {"size": 4}}}, 400),
        ({"vectors": {"a": {"size": 4, "distance": "Far"}}}, 400),
        ({"vectors": {"a": {"size": 0, "distance": "Dot"}}}, 422),
        ({"vectors": {"a": {"size": 65537, "distance": "Dot"}}}, 422),
        ({"sparse_vectors": {"a": {"modifier": "tf"}}}, 400),
        ({"sparse_vectors": {"a": {"index": {"on_disk": True}}}}, 501),
        ({"hnsw_config": {"inline_storage": True}}, 501),
        ({"shard_number": 2}, 501),
        ({"sharding_method": "custom"}, 501),
        ({"metadata": []}, 400),
    ],
)
def test_a_collection_that_cannot_be_made(change: dict[str, Any], status: int) -> None:
    with pytest.raises(Refused) as caught:
        parse_schema({**BODY, **change})
    assert caught.value.status == status


def test_reads_have_the_servers_defaults() -> None:
    scroll = parse_scroll({}, SCHEMA)
    search = parse_search({}, SCHEMA)

    assert (scroll.limit, scroll.offset, scroll.payload, scroll.vectors) == (10, None, True, False)
    assert (search.page, search.payload, search.vectors) == (Page(10, 0, None), False, False)
    assert parse_retrieve({"ids": [2, 1, 2]}, SCHEMA).ids == [2, 1]


def test_a_search_is_read_whole() -> None:
    body = {
        "query": {"nearest": {"indices": [3], "values": [1.5]}},
        "using": "bm25",
        "params": {"exact": True, "idf": {"corpus": {"must": [{"has_id": [1]}]}}},
        "limit": 3,
        "offset": 2,
        "score_threshold": 1,
        "with_payload": {"exclude": ["a"]},
        "with_vector": ["dense"],
    }

    search = parse_search(body, SCHEMA)

    assert search.ranking == Nearest(([3], [1.5]), "bm25")
    assert search.params == Params(exact=True, corpus=Filter(must=(HasId(frozenset({1})),)))
    assert search.page == Page(3, 2, 1.0)
    assert (search.payload, search.vectors) == (Without(("a",)), ["dense"])


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("rev", Order("rev", descending=False)),
        ({"key": "rev"}, Order("rev", descending=False)),
        ({"key": "rev", "direction": "desc", "start_from": 3}, Order("rev", descending=True, start_from=3)),
    ],
)
def test_an_order(written: object, read: Order) -> None:
    assert parse_search({"query": {"order_by": written}}, SCHEMA).ranking == read
    assert parse_scroll({"order_by": written}, SCHEMA).order == read


def test_a_batch_is_read_in_order_and_ids_count_once() -> None:
    upsert = {"points": [{"id": 1, "vector": {}, "payload": {"n": n}} for n in range(2)], "update_mode": "insert_only"}
    writes = parse_batch(
        {
            "operations": [
                {"upsert": upsert},
                {"set_payload": {"payload": {"a": 1}, "points": [1, 1], "key": "b"}},
                {"delete": {"filter": {}}},
            ]
        },
        SCHEMA,
    )

    first, second, third = writes
    assert isinstance(first, Upsert)
    assert [(point.id, point.payload) for point in first.points.values()] == [(1, {"n": 1})]
    assert first.mode == "insert_only"
    assert second == SetPayload({"a": 1}, [1], "b")
    assert isinstance(third, Delete)


@pytest.mark.parametrize(
    ("read", "status"),
    [
        (lambda: parse_upsert({"points": [{"id": n, "vector": {}} for n in range(3)]}, SCHEMA), 400),
        (lambda: parse_upsert({"points": [{"id": "x", "vector": {}}]}, SCHEMA), 400),
        (lambda: parse_upsert({"points": [], "update_filter": {}}, SCHEMA), 400),
        (lambda: parse_batch({"operations": [{"upsert": {}, "delete": {}}]}, SCHEMA), 400),
        (lambda: parse_batch({"operations": [{"clear_payload": {}}]}, SCHEMA), 501),
        (lambda: parse_scroll({"limit": 0}, SCHEMA), 422),
        (lambda: parse_scroll({"limit": True}, SCHEMA), 400),
        (lambda: parse_search({"prefetch": []}, SCHEMA), 501),
        (lambda: parse_search({"query": {"nearest": [1.0, 2.0]}}, SCHEMA), 400),
        (lambda: parse_search({"query": {"nearest": [1.0, 2.0]}, "using": "bm25"}, SCHEMA), 400),
        (lambda: parse_search({"query": {}, "using": "bm25"}, SCHEMA), 400),
    ],
)
def test_what_cannot_be_is_refused(read: Callable[[], object], status: int) -> None:
    with pytest.raises(Refused) as caught:
        read()
    assert caught.value.status == status
