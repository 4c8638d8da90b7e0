"""Strict mode refuses what a server with these settings refuses, and nothing else."""

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
