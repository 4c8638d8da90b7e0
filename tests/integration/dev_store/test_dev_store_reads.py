"""Every read our store makes, through the official client, answered as a Qdrant server answers it."""

import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store_collection import bare, match, point, within

STRONG = m.WriteOrdering.STRONG
ANN = m.Filter(must=[match("tenant", "ann")])


async def write(client: AsyncQdrantClient, name: str, *points: m.PointStruct, **options: object) -> m.UpdateResult:
    result = await client.upsert(name, list(points), wait=True, ordering=STRONG, **options)  # type: ignore[arg-type]
    assert result.status is m.UpdateStatus.COMPLETED
    return result


async def payloads(client: AsyncQdrantClient, name: str, *ids: int) -> dict[object, object]:
    return {row.id: row.payload for row in await client.retrieve(name, list(ids))}


async def ids(client: AsyncQdrantClient, name: str, condition: m.Filter | None) -> list[m.ExtendedPointId]:
    rows, _ = await client.scroll(name, scroll_filter=condition, limit=100, with_payload=False)
    return [row.id for row in rows]


async def test_pages_follow_one_another_by_id(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, *(point(number) for number in range(7)))

    first, following = await client.scroll(name, scroll_filter=ANN, limit=4, with_payload=["rev"])
    rest, end = await client.scroll(name, scroll_filter=ANN, limit=4, offset=following)

    assert [row.id for row in first] == [0, 1, 2, 3]
    assert first[0].payload == {"rev": 0}
    assert following == 4
    assert [row.id for row in rest] == [4, 5, 6]
    assert end is None


async def test_a_scroll_is_ordered_by_a_field(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, *(point(number, evict_key=-number) for number in range(5)), bare(9, tenant="ann"))
    order = m.OrderBy(key="evict_key", direction=m.Direction.DESC, start_from=-1)

    rows, following = await client.scroll(name, scroll_filter=ANN, limit=2, order_by=order, with_payload=["rev"])

    assert [(row.id, row.order_value, row.payload) for row in rows] == [(1, -1, {"rev": 1}), (2, -2, {"rev": 2})]
    assert following is None


async def test_points_at_or_after_an_offset_and_the_checkpoint_come_in_one_read(
    client: AsyncQdrantClient, name: str
) -> None:
    await write(client, name, *(point(number) for number in range(5)), point(7, tenant="bob"), bare(99, next=5))
    tenants = m.FieldCondition(key="tenant", match=m.MatchAny(any=["ann", "cid"]))
    landed = m.Filter(must=[tenants, within("rev", gte=3)])

    assert await ids(client, name, m.Filter(should=[landed, m.HasIdCondition(has_id=[99])])) == [3, 4, 99]


async def test_counts_and_facets(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1), point(2), point(3, status="superseded"), point(4, tenant="bob"))

    facet = await client.facet(name, "status", facet_filter=ANN, exact=True)

    assert (await client.count(name, ANN, exact=True)).count == 3
    assert (await client.count(name)).count == 4
    assert [(hit.value, hit.count) for hit in facet.hits] == [("active", 2), ("superseded", 1)]


async def test_two_arms_and_an_ordered_read_in_one_batch(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, *(point(n) for n in range(6)), point(50, tenant="bob", dense=[0.0, 0.0, 0.0, 1.0]))
    words = m.SparseVector(indices=[1, 13], values=[1.0, 1.0])
    tail = m.OrderByQuery(order_by=m.OrderBy(key="evict_key", direction=m.Direction.ASC))
    idf = m.SearchParams(idf=m.IdfCorpusParams(corpus=ANN))

    dense, sparse, lowest = await client.query_batch_points(
        name,
        [
            m.QueryRequest(query=[0.0, 0.0, 0.0, 1.0], using="dense", filter=ANN, limit=2, with_payload=["rev"]),
            m.QueryRequest(query=words, using="bm25", filter=ANN, params=idf, limit=3),
            m.QueryRequest(query=tail, filter=ANN, limit=2, offset=1, with_payload=["rev"], with_vector=["dense"]),
        ],
    )

    assert [(row.id, row.payload) for row in dense.points] == [(5, {"rev": 5}), (4, {"rev": 4})]
    assert dense.points[0].score == pytest.approx(0.800641, abs=1e-5)
    assert sparse.points[0].id == 3
    assert sparse.points[0].score > sparse.points[1].score
    assert sparse.points[0].payload is None
    assert [(row.id, row.order_value, row.payload) for row in lowest.points] == [
        (1, 1001, {"rev": 1}),
        (2, 1002, {"rev": 2}),
    ]
    assert isinstance(lowest.points[0].vector, dict)
    assert lowest.points[0].score == 1.0


async def test_what_ranks_behind_a_bound_comes_in_one_read(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, *(point(number) for number in range(10)))
    behind = m.OrderByQuery(order_by=m.OrderBy(key="evict_key", direction=m.Direction.DESC))

    found = await client.query_points(name, behind, query_filter=ANN, offset=8, limit=100, with_payload=["rev"])

    assert [row.id for row in found.points] == [1, 0]


async def test_the_tenants_own_corpus_weighs_terms(client: AsyncQdrantClient, name: str) -> None:
    others = [point(20 + number, tenant="bob") for number in range(20)]
    await write(client, name, point(1), point(2), *others, bare(5, tenant="ann", status="erased"))
    words = m.SparseVector(indices=[1], values=[1.0])

    async def score(corpus: m.Filter) -> float:
        params = m.SearchParams(idf=m.IdfCorpusParams(corpus=corpus))
        found = await client.query_points(name, words, using="bm25", query_filter=ANN, search_params=params)
        return found.points[0].score

    everyone = m.Filter(should=[match("tenant", "ann"), match("tenant", "bob")])
    alone = await score(ANN)
    assert alone == pytest.approx(0.5 * 0.182322, abs=1e-4)  # ln(1 + 0.5 / 2.5): two of two, the vector-less one apart
    assert await score(everyone) < alone


async def test_a_score_threshold_and_an_offset(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, *(point(number) for number in range(6)))
    query = [0.0, 0.0, 0.0, 1.0]

    close = await client.query_points(name, query, using="dense", query_filter=ANN, score_threshold=0.7)
    second = await client.query_points(
        name, query, using="dense", query_filter=ANN, offset=1, limit=1, with_payload=True
    )

    assert [row.id for row in close.points] == [5, 4]
    assert [(row.id, (row.payload or {})["rev"]) for row in second.points] == [(4, 4)]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (m.Filter(must=[match("tenant", "ann"), match("status", "active")]), [1, 2]),
        (m.Filter(must=match("tenant", "bob")), [4]),
        (m.Filter(should=[match("tenant", "bob"), within("rev", gte=3, lt=4)]), [3, 4]),
        (m.Filter(must=[match("tenant", "ann")], must_not=[match("status", "superseded")]), [1, 2]),
        (m.Filter(must=[m.Filter(should=[within("rev", lte=1), within("rev", gt=3)])]), [1, 4]),
        (
            m.Filter(must=[m.FieldCondition(key="status", match=m.MatchExcept.model_validate({"except": ["active"]}))]),
            [3],
        ),
        (m.Filter(must=[m.FieldCondition(key="rev", match=m.MatchAny(any=[1, 4, 9]))]), [1, 4]),
        (m.Filter(must=[m.FieldCondition(key="rev", match=m.MatchAny(any=[]))]), []),
        (m.Filter(must=[m.HasIdCondition(has_id=[2, 3, 77]), match("tenant", "ann")]), [2, 3]),
        (m.Filter(must=[match("pinned", value=True)]), [1]),
        (m.Filter(must=[match("pinned", value=False)]), [2]),
        (m.Filter(must=[m.IsEmptyCondition(is_empty=m.PayloadField(key="pinned"))]), [3, 4]),
        (m.Filter(must=[m.IsNullCondition(is_null=m.PayloadField(key="pinned"))]), [4]),
        (
            m.Filter(
                must=[m.FieldCondition(key="at", range=m.DatetimeRange.model_validate({"gte": "2024-02-01T00:00:00Z"}))]
            ),
            [2, 3],
        ),
        (
            m.Filter(
                must=[
                    m.FieldCondition(
                        key="at", range=m.DatetimeRange.model_validate({"lt": "2024-02-01T02:00:00+02:00"})
                    )
                ]
            ),
            [1],
        ),
        (
            m.Filter(
                min_should=m.MinShould(
                    conditions=[within("rev", gte=2), match("tenant", "ann"), match("pinned", value=False)], min_count=2
                )
            ),
            [2, 3],
        ),
    ],
)
async def test_conditions(client: AsyncQdrantClient, name: str, condition: m.Filter, expected: list[int]) -> None:
    await write(
        client,
        name,
        point(1, pinned=True, at="2024-01-01T00:00:00Z"),
        point(2, pinned=False, at="2024-02-01T00:00:00Z"),
        point(3, status="superseded", at="2024-03-01T00:00:00Z"),
        point(4, tenant="bob", pinned=None),
    )

    assert await ids(client, name, condition) == expected
