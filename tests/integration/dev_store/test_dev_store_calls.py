"""Every call our store makes, through the official client, answered as a Qdrant server answers it."""

from uuid import uuid4

import httpx
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store_collection import INDEXES, bare, make_collection, match, point, unwritten, within

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


async def test_it_names_itself_and_answers_like_1_19(client: AsyncQdrantClient) -> None:
    about = await client.info()

    assert about.version == "1.19.0"
    assert "embedded" in about.title


@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_it_says_that_it_is_there(http: httpx.AsyncClient, path: str) -> None:
    assert (await http.get(path)).text == f"{path[1:]} check passed"


async def test_a_collection_tells_what_it_was_made_of(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1), bare(2, next=3))

    told = await client.get_collection(name)

    assert told.status is m.CollectionStatus.GREEN
    assert told.points_count == 2
    assert told.config.metadata == {"embedder": "static", "epoch": 0}
    assert told.config.hnsw_config.m == 0
    assert told.config.hnsw_config.payload_m == 0
    assert told.config.params.on_disk_payload is True
    vectors = told.config.params.vectors
    assert isinstance(vectors, dict)
    assert (vectors["dense"].size, vectors["dense"].distance) == (4, m.Distance.COSINE)
    assert told.config.params.sparse_vectors is not None
    assert told.config.params.sparse_vectors["bm25"].modifier is m.Modifier.IDF
    assert told.config.strict_mode_config is not None
    assert told.config.strict_mode_config.max_query_limit == 100
    assert told.payload_schema.keys() == INDEXES.keys()
    assert told.payload_schema["tenant"].params == INDEXES["tenant"]
    assert told.payload_schema["tenant"].points == 1


async def test_collections_are_listed_and_removed(client: AsyncQdrantClient, own: str) -> None:
    assert own in [item.name for item in (await client.get_collections()).collections]
    assert await client.collection_exists(own)

    assert await client.delete_collection(own) is True

    assert not await client.collection_exists(own)
    assert await client.delete_collection(own) is False
    assert own not in [item.name for item in (await client.get_collections()).collections]


async def test_a_removed_collection_can_be_made_again_and_is_empty(client: AsyncQdrantClient, own: str) -> None:
    await write(client, own, point(1))
    await client.delete_collection(own)

    await make_collection(client, own, None, {})

    assert (await client.count(own)).count == 0


async def test_an_alias_stands_for_its_collection_and_can_be_moved(client: AsyncQdrantClient, own: str) -> None:
    other, alias = f"other-{uuid4().hex}", f"alias-{uuid4().hex}"
    await make_collection(client, other, None, {})
    await write(client, own, point(1))
    create = m.CreateAlias(collection_name=own, alias_name=alias)
    await client.update_collection_aliases([m.CreateAliasOperation(create_alias=create)])
    assert (await client.count(alias)).count == 1
    assert await client.collection_exists(alias)
    assert [(item.alias_name) for item in (await client.get_collection_aliases(own)).aliases] == [alias]

    move = m.CreateAlias(collection_name=other, alias_name=alias)
    drop = m.DeleteAliasOperation(delete_alias=m.DeleteAlias(alias_name=alias))
    await client.update_collection_aliases([drop, m.CreateAliasOperation(create_alias=move)])

    assert (await client.count(alias)).count == 0
    found = {item.alias_name: item.collection_name for item in (await client.get_aliases()).aliases}
    assert found[alias] == other
    await client.delete_collection(other)
    assert alias not in {item.alias_name for item in (await client.get_aliases()).aliases}


async def test_an_upsert_replaces_payload_and_vectors(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1, content="old", tags=["a"]))
    await write(client, name, bare(1, status="erased"))

    (row,) = await client.retrieve(name, [1], with_vectors=True)

    assert row.payload == {"status": "erased"}
    assert row.vector == {}
    assert (await client.query_points(name, [1.0, 2.0, 3.0, 1.0], using="dense", query_filter=ANN)).points == []


async def test_an_overwrite_without_vectors_leaves_both_arms(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1), point(2))
    await write(client, name, bare(1, tenant="ann", status="deleted"))

    dense = await client.query_points(name, [1.0, 2.0, 3.0, 1.0], using="dense", query_filter=ANN)
    words = m.SparseVector(indices=[1], values=[1.0])
    sparse = await client.query_points(name, words, using="bm25", query_filter=ANN)

    assert [row.id for row in dense.points] == [2]
    assert [row.id for row in sparse.points] == [2]


async def test_vectors_and_payloads_come_back_as_asked(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1, data={"a": {"b": 1}, "c": 2}, at="2024-05-01T10:00:00Z", none=None))

    (whole,) = await client.retrieve(name, [1, 77], with_vectors=True)
    (some,) = await client.retrieve(name, [1], with_payload=["rev", "data.a"], with_vectors=["bm25"])
    (without,) = await client.retrieve(name, [1], with_payload=m.PayloadSelectorExclude(exclude=["data", "rev"]))
    (nothing,) = await client.retrieve(name, [1], with_payload=False)

    assert isinstance(whole.vector, dict)
    assert whole.vector["dense"] == pytest.approx([0.258199, 0.516398, 0.774597, 0.258199], abs=1e-6)
    assert whole.vector["bm25"] == m.SparseVector(indices=[1, 11], values=[0.5, 0.25])
    assert whole.payload is not None
    assert whole.payload["data"] == {"a": {"b": 1}, "c": 2}
    assert whole.payload["none"] is None
    assert some.payload == {"rev": 1, "data": {"a": {"b": 1}}}
    assert isinstance(some.vector, dict)
    assert some.vector.keys() == {"bm25"}
    assert without.payload is not None
    assert "rev" not in without.payload
    assert "data" not in without.payload
    assert nothing.payload is None


async def test_ids_are_integers_or_uuids(client: AsyncQdrantClient, name: str) -> None:
    identity = str(uuid4())
    await write(client, name, m.PointStruct(id=identity, vector={}, payload={"rev": 1}), bare(2**64 - 1, rev=2))

    assert {row.id for row in await client.retrieve(name, [identity, 2**64 - 1])} == {identity, 2**64 - 1}


async def test_an_update_filter_decides_for_each_stored_point(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1, rev=5), point(2, rev=50), bare(99, next=10))

    batch = [point(1, rev=12), point(2, rev=12), point(3, rev=12), bare(99, next=20)]
    await write(client, name, *batch, update_filter=unwritten(10, 20))

    found = await client.retrieve(name, [1, 2, 3, 99])
    assert {row.id: (row.payload or {}).get("rev", (row.payload or {}).get("next")) for row in found} == {
        1: 12,  # an earlier command's
        2: 50,  # a later command's: left alone
        3: 12,  # missing: inserted
        99: 20,
    }


async def test_who_is_behind_changes_nothing(client: AsyncQdrantClient, name: str) -> None:
    first = [point(1, rev=0), point(2, rev=1), bare(99, next=2)]
    await write(client, name, *first, update_filter=unwritten(0, 2))
    second = [bare(1, tenant="ann", status="deleted", rev=3), bare(99, next=4)]
    await write(client, name, *second, update_filter=unwritten(2, 4))
    before = await payloads(client, name, 1, 2, 99)

    await write(client, name, *first, update_filter=unwritten(0, 2))

    assert await payloads(client, name, 1, 2, 99) == before


@pytest.mark.parametrize(
    ("mode", "stored"),
    [
        (m.UpdateMode.UPSERT, {1: "new", 2: "new"}),
        (m.UpdateMode.INSERT_ONLY, {1: "old", 2: "new"}),
        (m.UpdateMode.UPDATE_ONLY, {1: "new"}),
    ],
)
async def test_an_update_mode(client: AsyncQdrantClient, name: str, mode: m.UpdateMode, stored: dict[int, str]) -> None:
    await write(client, name, bare(1, is_="old"))

    await write(client, name, bare(1, is_="new"), bare(2, is_="new"), update_mode=mode)

    found = await client.retrieve(name, [1, 2])
    assert {row.id: (row.payload or {})["is_"] for row in found} == stored


async def test_an_id_given_twice_keeps_the_last(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, bare(1, n=1), bare(1, n=2), update_mode=m.UpdateMode.INSERT_ONLY)

    assert await payloads(client, name, 1) == {1: {"n": 2}}


async def test_fields_are_set_by_id_by_filter_and_below_a_key(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1, data={"a": 1}), point(2), point(3, tenant="bob"))

    await client.set_payload(name, {"opens": 2}, points=[1], wait=True)
    await client.set_payload(name, {"b": 2}, points=[1], key="data", wait=True)
    await client.set_payload(name, {"status": "superseded"}, points=ANN, wait=True)

    rows = {row.id: row.payload or {} for row in await client.retrieve(name, [1, 2, 3])}
    assert rows[1]["opens"] == 2
    assert rows[1]["data"] == {"a": 1, "b": 2}
    assert [rows[number]["status"] for number in (1, 2, 3)] == ["superseded", "superseded", "active"]
    assert rows[1]["rev"] == 1
    (kept,) = await client.retrieve(name, [1], with_vectors=True)
    assert isinstance(kept.vector, dict)
    assert kept.vector.keys() == {"dense", "bm25"}


async def test_points_are_deleted_by_id_and_by_filter(client: AsyncQdrantClient, name: str) -> None:
    await write(client, name, point(1), point(2), point(3, tenant="bob"), point(4, tenant="bob"))

    await client.delete(name, m.PointIdsList(points=[1, 77]), wait=True)
    await client.delete(name, m.FilterSelector(filter=m.Filter(must=[match("tenant", "bob")])), wait=True)

    assert await ids(client, name, None) == [2]


async def test_a_batch_is_applied_in_order(client: AsyncQdrantClient, name: str) -> None:
    results = await client.batch_update_points(
        name,
        [
            m.UpsertOperation(upsert=m.PointsList(points=[point(1), point(2)])),
            m.SetPayloadOperation(set_payload=m.SetPayload(payload={"rev": 9}, points=[1])),
            m.UpsertOperation(
                upsert=m.PointsList(points=[point(1, rev=3)], update_filter=m.Filter(must=[within("rev", lt=5)]))
            ),
            m.DeleteOperation(delete=m.FilterSelector(filter=m.Filter(must=[within("rev", lt=5)]))),
        ],
        wait=True,
        ordering=STRONG,
    )

    assert [result.status for result in results] == [m.UpdateStatus.COMPLETED] * 4
    assert {row.id: (row.payload or {})["rev"] for row in await client.retrieve(name, [1, 2])} == {1: 9}


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
