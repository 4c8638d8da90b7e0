"""Collections, aliases and indexes, through the official client, answered as a Qdrant server answers it."""

from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store import connect, start_store
from support.store_collection import INDEXES, bare, make_collection, match, point

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


async def test_metadata_change_field_by_field_and_outlive_a_restart(folder: Path) -> None:
    with start_store(folder) as store:
        async with connect(store.url) as client:
            await make_collection(client, "c")
            assert await client.update_collection("c", metadata={"epoch": 1, "moving": {"to": 2}})
            assert await client.update_collection("c", metadata={"moving": None, "embedder": "other"})
        store.restart()
        async with connect(store.url) as client:
            told = await client.get_collection("c")
    assert told.config.metadata == {"embedder": "other", "epoch": 1}


async def test_nothing_else_of_a_collection_can_be_changed(http: httpx.AsyncClient, own: str) -> None:
    assert (await http.patch(f"/collections/{own}", json={"metadata": [1]})).status_code == 400
    assert (await http.patch(f"/collections/{own}", json={"strict_mode_config": {}})).status_code == 501
    assert (await http.patch("/collections/nothing", json={"metadata": {"a": 1}})).status_code == 404
    assert (await http.patch(f"/collections/{own}", json={})).json()["result"] is True


async def test_fields_are_set_and_points_removed_by_filters_several_at_once(
    client: AsyncQdrantClient, name: str
) -> None:
    """What moving tenants asks for."""
    await write(client, name, point(1, tenant="ann"), point(2, tenant="ben"), point(3, tenant="ann"))
    payload, ben = {"partition": 4}, m.Filter(must=[match("tenant", "ben")])
    done = await client.batch_update_points(
        name,
        [
            m.SetPayloadOperation(set_payload=m.SetPayload(payload=payload, filter=ANN)),
            m.DeleteOperation(delete=m.FilterSelector(filter=ben)),
        ],
        wait=True,
        ordering=STRONG,
    )
    assert [each.status for each in done] == [m.UpdateStatus.COMPLETED] * 2
    kept = await payloads(client, name, 1, 2, 3)
    assert {id_: dict(each or {}).get("partition") for id_, each in kept.items() if isinstance(each, dict)} == {
        1: 4, 3: 4,
    }  # fmt: skip
