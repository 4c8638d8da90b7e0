"""Every write our store makes, through the official client, answered as a Qdrant server answers it."""

from uuid import uuid4

import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store_collection import bare, match, point, unwritten, within

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
