"""What is refused, with which status, and that a refusal applies nothing."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import orjson
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from qdrant_client.http.exceptions import UnexpectedResponse
from support.store_collection import bare, make_collection, match

UNINDEXED = m.Filter(must=[match("colour", "red")])


async def refusal(call: Awaitable[Any]) -> tuple[int, str]:
    with pytest.raises(UnexpectedResponse) as caught:
        await call
    assert caught.value.status_code is not None
    return caught.value.status_code, orjson.loads(caught.value.content)["status"]["error"]


async def send(http: httpx.AsyncClient, method: str, path: str, body: object) -> tuple[int, str]:
    response = await http.request(method, path, content=orjson.dumps(body))
    answer = response.json()
    assert "time" in answer
    return response.status_code, "ok" if answer["status"] == "ok" else answer["status"]["error"]


@pytest.mark.parametrize(
    "call",
    [
        lambda client: client.get_collection("nowhere"),
        lambda client: client.count("nowhere"),
        lambda client: client.upsert("nowhere", [bare(1)]),
        lambda client: client.update_collection_aliases(
            [m.CreateAliasOperation(create_alias=m.CreateAlias(collection_name="nowhere", alias_name="x"))]
        ),
    ],
)
async def test_an_unknown_collection(
    client: AsyncQdrantClient, call: Callable[[AsyncQdrantClient], Awaitable[Any]]
) -> None:
    assert await refusal(call(client)) == (404, "Not found: Collection `nowhere` doesn't exist!")


async def test_a_collection_that_exists(client: AsyncQdrantClient, name: str) -> None:
    status, text = await refusal(make_collection(client, name))

    assert status == 409
    assert text == f"Wrong input: Collection `{name}` already exists!"


VECTORS: list[tuple[object, int, str]] = [
    ({"dense": [1.0, 2.0, 3.0]}, 400, "Wrong input: Vector dimension error: expected dim: 4, got 3"),
    ({"dense": [1.0, 2.0, 3.0, None]}, 400, "not a finite number"),
    ({"dense": [1.0, 2.0, 3.0, 1e39]}, 400, "not a finite number"),
    ({"dense": [1.0, 2.0, 3.0, "4"]}, 400, "not a finite number"),
    ({"dense": {"indices": [1], "values": [1.0]}}, 400, "Vector dense takes a list of numbers"),
    # I-62: never a 200 for a vector that is not kept.
    ({"other": [1.0]}, 400, "Wrong input: Not existing vector name error: other"),
    ([1.0, 2.0, 3.0, 4.0], 400, "Wrong input: Not existing vector name error: "),
    ({"bm25": [1.0]}, 400, "Vector bm25 takes indices and values"),
    ({"bm25": {"indices": [1, 2], "values": [1.0]}}, 422, "must be the same length as indices"),
    ({"bm25": {"indices": [1, 1], "values": [1.0, 2.0]}}, 422, "must be unique"),
    ({"bm25": {"indices": [-1], "values": [1.0]}}, 400, "unsigned 32-bit integers"),
    ({"bm25": {"indices": [1], "values": [None]}}, 400, "not a finite number"),
    (None, 400, "missing field `vector`"),
]


@pytest.mark.parametrize(("vector", "status", "text"), VECTORS)
async def test_a_bad_vector_keeps_the_whole_batch_out(
    client: AsyncQdrantClient, http: httpx.AsyncClient, name: str, vector: object, status: int, text: str
) -> None:
    good = [{"id": number, "vector": {"dense": [1.0, 2.0, 3.0, 4.0]}} for number in range(20)]
    body = {"points": [*good, {"id": 77, "vector": vector}]}

    answer = await send(http, "PUT", f"/collections/{name}/points?wait=true", body)

    assert answer[0] == status
    assert text in answer[1]
    assert (await client.count(name)).count == 0


async def test_a_refused_operation_keeps_the_whole_batch_out(
    client: AsyncQdrantClient, http: httpx.AsyncClient, name: str
) -> None:
    first = {"upsert": {"points": [{"id": 1, "vector": {}}]}}
    second = {"upsert": {"points": [{"id": 2, "vector": {"dense": [1.0]}}]}}

    status, _ = await send(http, "POST", f"/collections/{name}/points/batch", {"operations": [first, second]})

    assert status == 400
    assert (await client.count(name)).count == 0


async def test_an_error_leaves_the_operations_before_it(client: AsyncQdrantClient, name: str) -> None:
    operations: list[m.UpdateOperation] = [
        m.UpsertOperation(upsert=m.PointsList(points=[bare(1, n=1)])),
        m.SetPayloadOperation(set_payload=m.SetPayload(payload={"n": 2}, points=[1, 7])),
        m.UpsertOperation(upsert=m.PointsList(points=[bare(2, n=2)])),
    ]

    answer = await refusal(client.batch_update_points(name, operations))

    assert answer == (404, "Not found: No point with id 7 found")
    rows, _ = await client.scroll(name)
    assert [(row.id, row.payload) for row in rows] == [(1, {"n": 1})]


BODIES: list[tuple[str, str, object, int]] = [
    ("PUT", "points", {"points": []}, 400),
    ("PUT", "points", {"points": [{"id": "no-uuid", "vector": {}}]}, 400),
    ("PUT", "points", {"points": [{"id": -1, "vector": {}}]}, 400),
    ("PUT", "points", {"points": [{"id": True, "vector": {}}]}, 400),
    ("PUT", "points", {"points": [{"id": 1, "vector": {}, "payload": [1]}]}, 400),
    ("PUT", "points", {"points": [{"id": 1, "vector": {}}], "update_mode": "sometimes"}, 400),
    ("PUT", "points?ordering=sideways", {"points": [{"id": 1, "vector": {}}]}, 400),
    ("PUT", "points", ["points"], 400),
    ("PUT", "index", {"field_name": "x", "field_schema": {"type": "integer", "lookup": False, "range": False}}, 400),
    ("PUT", "index", {"field_name": "x", "field_schema": "colour"}, 400),
    ("POST", "points/payload", {"payload": {"a": 1}}, 400),
    ("POST", "points/payload", {"payload": {"a": 1}, "points": [1], "filter": {}}, 400),
    ("POST", "points/delete", {}, 400),
    ("POST", "points/scroll", {"limit": 0}, 422),
    ("POST", "points/scroll", {"offset": 1, "order_by": {"key": "rev"}}, 400),
    ("POST", "points/scroll", {"order_by": {"key": "tenant"}}, 400),
    ("POST", "points/scroll", {"order_by": {"key": "colour"}}, 400),
    ("POST", "points/scroll", {"filter": {"must": [{"key": "rev"}]}}, 400),
    ("POST", "points/scroll", {"filter": {"must": [{"key": "at", "range": {"gt": "yesterday"}}]}}, 400),
    ("POST", "points/query", {"query": {"nearest": [1.0, 2.0, 3.0, 4.0]}}, 400),
    ("POST", "points/query", {"query": {"nearest": [1.0]}, "using": "dense"}, 400),
    ("POST", "points/query", {"query": {"nearest": [1.0, 2.0, 3.0, None]}, "using": "dense"}, 400),
    ("POST", "points/query", {"query": {"nearest": {"indices": [1, 1], "values": [1, 1]}}, "using": "bm25"}, 422),
    ("POST", "points/query", {"query": {"order_by": {"key": "evict_key"}}, "limit": 0}, 422),
    ("POST", "facet", {"key": "evict_key"}, 400),
    ("POST", "points/payload", {"payload": {"a": 1}, "points": [1], "key": "not a path"}, 400),
    ("PUT", "index", {"field_name": "not a path", "field_schema": "integer"}, 400),
    ("POST", "points", {"ids": [1], "with_payload": ["not a path"]}, 400),
    ("POST", "points", {"ids": [1], "with_payload": {"exclude": ["not a path"]}}, 400),
    ("POST", "points", {"ids": [1], "with_vector": ["other"]}, 400),
    ("POST", "points/scroll", {"order_by": {"key": "rev", "start_from": "soon"}}, 400),
    ("POST", "points/scroll", {"filter": {"must": [{"key": "rev", "match": {"value": 2**63}}]}}, 400),
    ("POST", "points/scroll", {"filter": {"must": [{"key": "", "match": {"value": 1}}]}}, 400),
    ("POST", "facet", {"key": "colour"}, 400),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), BODIES)
async def test_a_body_that_cannot_be(
    http: httpx.AsyncClient, name: str, method: str, path: str, body: object, status: int
) -> None:
    good = {"points": [{"id": 1, "vector": {}}]}
    assert await send(http, "PUT", f"/collections/{name}/points", good) == (200, "ok")

    answer = await send(http, method, f"/collections/{name}/{path}", body)

    assert answer[0] == status, answer
    assert await send(http, "PUT", f"/collections/{name}/points", good) == (200, "ok")


async def test_a_body_that_is_not_json_or_too_large(http: httpx.AsyncClient, name: str) -> None:
    broken = await http.put(f"/collections/{name}/points", content=b'{"points": [}')
    large = await http.put(f"/collections/{name}/points", content=b" " * (32 * 1024 * 1024 + 1))

    assert broken.status_code == 400
    assert broken.json()["status"]["error"].startswith("Format error in JSON body: ")
    assert large.status_code == 413


UNSUPPORTED: list[tuple[str, str, object, str]] = [
    ("GET", "/nowhere", None, "GET /nowhere"),
    ("PATCH", "/collections/C", {"hnsw_config": {}}, "hnsw_config"),
    ("POST", "/collections/C/points/search", {}, "points/search"),
    ("PUT", "/collections/C/points?shard_key=1", {}, "query parameter shard_key"),
    ("POST", "/collections/C/points/count?wait=true", {}, "query parameter wait"),
    ("POST", "/collections/C/points/count?consistency=7x", {}, "consistency"),
    ("POST", "/collections/C/points/count", {"shard_key": None}, "request.shard_key"),
    ("POST", "/collections/C/points/query", {"prefetch": []}, "request.prefetch"),
    ("POST", "/collections/C/points/query", {"query": {"fusion": "rrf"}}, "query.fusion"),
    ("POST", "/collections/C/points/query", {"params": {"hnsw_ef": 5}}, "params.hnsw_ef"),
    ("POST", "/collections/C/points/query", {"query": {"nearest": 7}, "using": "dense"}, "by a point's id"),
    ("POST", "/collections/C/points/query/batch", {"searches": [{"lookup_from": {}}]}, "request.lookup_from"),
    ("POST", "/collections/C/points/scroll", {"filter": {"musst": []}}, "filter.musst"),
    (
        "POST",
        "/collections/C/points/scroll",
        {"filter": {"must": [{"key": "a", "match": {"text": "b"}}]}},
        "match.text",
    ),
    ("POST", "/collections/C/points/scroll", {"filter": {"must": [{"key": "a", "geo_radius": {}}]}}, "geo_radius"),
    ("POST", "/collections/C/points/scroll", {"filter": {"must": [{"nested": {}}]}}, "filter.nested"),
    (
        "POST",
        "/collections/C/points/scroll",
        {"filter": {"must": [{"key": "rev", "range": {"lt": 1}, "match": {"value": 1}}]}},
        "several tests",
    ),
    ("PUT", "/collections/C/points", {"points": [{"id": 1, "vector": {}, "version": 1}]}, "point.version"),
    ("PUT", "/collections/C/points", {"batch": {}}, "request.batch"),
    ("POST", "/collections/C/points/batch", {"operations": [{"overwrite_payload": {}}]}, "overwrite_payload"),
    ("PUT", "/collections/C/index", {"field_name": "x", "field_schema": "text"}, "type text"),
    ("PUT", "/collections/C/index", {"field_name": "x", "field_schema": {"type": "keyword", "prefix": True}}, "prefix"),
    ("POST", "/collections/aliases", {"actions": [{"swap": {}}]}, "swap"),
    ("PUT", "/collections/new", {"vectors": {"size": 4, "distance": "Dot"}}, "unnamed vector"),
    ("PUT", "/collections/new", {"vectors": {}, "shard_number": 2}, "shard_number"),
    ("PUT", "/collections/new", {"vectors": {}, "quantization_config": {}}, "quantization_config"),
    ("PUT", "/collections/new", {"vectors": {"a": {"size": 1, "distance": "Dot", "datatype": "float16"}}}, "datatype"),
    (
        "PUT",
        "/collections/new",
        {"sparse_vectors": {"a": {}}, "strict_mode_config": {"read_rate_limit": 1}},
        "read_rate",
    ),
]


@pytest.mark.parametrize(("method", "path", "body", "named"), UNSUPPORTED)
async def test_what_is_not_known_is_named_and_never_ignored(
    http: httpx.AsyncClient, name: str, method: str, path: str, body: object, named: str
) -> None:
    status, text = await send(http, method, path.replace("/C", f"/{name}"), body)

    assert status == 501
    assert named in text
    assert (await http.get("/collections/new/exists")).json()["result"] == {"exists": False}
