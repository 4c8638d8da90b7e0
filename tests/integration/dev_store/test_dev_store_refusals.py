"""What is refused, with which status, and that a refusal applies nothing."""

from collections.abc import Awaitable, Callable
from typing import Any

import httpx
import orjson
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from qdrant_client.http.exceptions import UnexpectedResponse
from support.store_collection import bare, make_collection, match, point, within

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
    ("POST", "facet", {"key": "colour"}, 400),
]


@pytest.mark.parametrize(("method", "path", "body", "status"), BODIES)
async def test_a_body_that_cannot_be(
    http: httpx.AsyncClient, name: str, method: str, path: str, body: object, status: int
) -> None:
    answer = await send(http, method, f"/collections/{name}/{path}", body)

    assert answer[0] == status, answer


async def test_a_body_that_is_not_json_or_too_large(http: httpx.AsyncClient, name: str) -> None:
    broken = await http.put(f"/collections/{name}/points", content=b'{"points": [}')
    large = await http.put(f"/collections/{name}/points", content=b" " * (32 * 1024 * 1024 + 1))

    assert broken.status_code == 400
    assert broken.json()["status"]["error"].startswith("Format error in JSON body: ")
    assert large.status_code == 413


UNSUPPORTED: list[tuple[str, str, object, str]] = [
    ("GET", "/nowhere", None, "GET /nowhere"),
    ("PATCH", "/collections/C", {}, "PATCH /collections/"),
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
    ("PUT", "/collections/new", {"strict_mode_config": {"read_rate_limit": 1}}, "read_rate_limit"),
]


@pytest.mark.parametrize(("method", "path", "body", "named"), UNSUPPORTED)
async def test_what_is_not_known_is_named_and_never_ignored(
    http: httpx.AsyncClient, name: str, method: str, path: str, body: object, named: str
) -> None:
    status, text = await send(http, method, path.replace("/C", f"/{name}"), body)

    assert status == 501
    assert named in text
    assert (await http.get("/collections/new/exists")).json()["result"] == {"exists": False}


STRICT: list[tuple[Callable[[AsyncQdrantClient, str], Awaitable[Any]], str]] = [
    (
        lambda c, n: c.scroll(n, UNINDEXED),
        'Index required but not found for "colour" of one of the following types: [keyword]',
    ),
    (lambda c, n: c.count(n, UNINDEXED), 'not found for "colour"'),
    (lambda c, n: c.facet(n, "status", UNINDEXED), 'not found for "colour"'),
    (lambda c, n: c.query_points(n, [1.0] * 4, using="dense", query_filter=UNINDEXED), 'not found for "colour"'),
    (
        lambda c, n: c.query_points(
            n,
            m.SparseVector(indices=[1], values=[1.0]),
            using="bm25",
            search_params=m.SearchParams(idf=m.IdfCorpusParams(corpus=UNINDEXED)),
        ),
        'not found for "colour"',
    ),
    (lambda c, n: c.set_payload(n, {"a": 1}, points=UNINDEXED), 'not found for "colour"'),
    (lambda c, n: c.delete(n, m.FilterSelector(filter=UNINDEXED)), 'not found for "colour"'),
    (
        lambda c, n: c.count(n, m.Filter(must=[match("evict_key", 1)])),
        'for "evict_key" of one of the following types: [integer]',
    ),
    (lambda c, n: c.count(n, m.Filter(must=[within("status", lt=1)])), "[float, integer]"),
    (lambda c, n: c.count(n, m.Filter(must=[match("rev", "x")])), 'for "rev" of one of the following types: [keyword]'),
    (lambda c, n: c.count(n, m.Filter(must=[m.IsEmptyCondition(is_empty=m.PayloadField(key="colour"))])), "[bool, "),
    (lambda c, n: c.count(n, m.Filter(must_not=[m.Filter(should=[match("colour", "x")])])), 'for "colour"'),
    (lambda c, n: c.scroll(n, limit=101), 'Limit exceeded 101 > 100 for "limit"'),
    (lambda c, n: c.query_points(n, [1.0] * 4, using="dense", limit=101), 'Limit exceeded 101 > 100 for "limit"'),
    (lambda c, n: c.upsert(n, [bare(i) for i in range(51)]), 'Limit exceeded 51 > 50 for "upsert limit"'),
    (
        lambda c, n: c.query_batch_points(n, [m.QueryRequest(query=[1.0] * 4, using="dense")] * 5),
        'Limit exceeded 5 > 4 for "search batch size"',
    ),
    (lambda c, n: c.count(n, m.Filter(must=[match("rev", i) for i in range(9)])), "condition limit reached (9 > 8)"),
    (
        lambda c, n: c.count(n, m.Filter(must=[m.HasIdCondition(has_id=list(range(21)))])),
        "size limit reached (21 > 20)",
    ),
    (lambda c, n: c.count(n, timeout=61), 'Limit exceeded 61 > 60 for "timeout"'),
]


@pytest.mark.parametrize(("call", "text"), STRICT)
async def test_strict_mode_refuses(
    client: AsyncQdrantClient, name: str, call: Callable[[AsyncQdrantClient, str], Awaitable[Any]], text: str
) -> None:
    await client.upsert(name, [point(1)])

    status, answer = await refusal(call(client, name))

    assert status == 400
    assert answer.startswith("Bad request: ")
    assert text in answer
    assert "Help: " in answer


async def test_strict_mode_bounds_the_indexes(client: AsyncQdrantClient, name: str) -> None:
    await client.create_payload_index(name, "seventh", m.PayloadSchemaType.KEYWORD)

    status, text = await refusal(client.create_payload_index(name, "eighth", m.PayloadSchemaType.KEYWORD))

    assert status == 400
    assert "maximum number of payload indices (7)" in text


async def test_an_update_filter_needs_no_index(client: AsyncQdrantClient, name: str) -> None:
    await client.upsert(name, [bare(1, colour="red"), bare(2, colour="blue")])

    await client.upsert(name, [bare(1, colour="green"), bare(2, colour="green")], update_filter=UNINDEXED)

    assert [row.payload for row in await client.retrieve(name, [1, 2])] == [{"colour": "green"}, {"colour": "blue"}]


async def test_empty_lists_decide_without_an_index(client: AsyncQdrantClient, name: str) -> None:
    nothing = m.FieldCondition(key="colour", match=m.MatchAny(any=[]))

    assert (await client.count(name, m.Filter(must=[nothing]))).count == 0


async def test_without_strict_mode_nothing_of_it_is_refused(client: AsyncQdrantClient, own: str) -> None:
    await client.upsert(own, [bare(number, colour="red") for number in range(60)])

    assert (await client.count(own, UNINDEXED)).count == 60
    assert len((await client.scroll(own, limit=200))[0]) == 60


async def test_strict_mode_can_bound_the_points_and_forbid_full_scans(client: AsyncQdrantClient) -> None:
    strict = m.StrictModeConfig(enabled=True, max_points_count=2, search_allow_exact=False)
    await make_collection(client, "bounded", strict, {})
    await client.upsert("bounded", [bare(1), bare(2)])

    full = await refusal(client.upsert("bounded", [bare(3)]))
    scan = await refusal(client.query_points("bounded", [1.0] * 4, using="dense"))

    assert full == (400, "Bad request: Max points count limit of 2 reached!")
    assert "Request is forbidden on 'dense'" in scan[1]
    await client.delete_collection("bounded")
