"""The collection as code: made once, by any number of processes, and compared before anything starts."""

import asyncio

import pytest
from qdrant_client import models
from support.store_points import DIMENSION, fold_settings

from afterturn.consumers.store import schema
from afterturn.consumers.store.client import StoreClient, opened
from afterturn.consumers.store.collection import check, create_or_check, require, target
from afterturn.consumers.store.doctor import describe, versions
from afterturn.consumers.store.errors import NoCollection, WrongDimension, WrongStore
from afterturn.consumers.store.settings import StoreSettings


async def test_two_processes_make_it_at_once(settings_for: StoreSettings, unmade: StoreClient) -> None:
    ours = fold_settings()
    async with opened(settings_for) as other:
        first, second = await asyncio.gather(create_or_check(unmade, ours), create_or_check(other, ours))
    assert first == second == []
    assert await target(unmade) == schema.collection_name(ours, unmade.alias)
    assert await create_or_check(unmade, ours) == []
    await require(unmade, ours)
    told = await describe(unmade)
    assert told["missing_indexes"] == []
    assert told["dimension"] == DIMENSION
    assert told["points"] == 0
    assert (await versions(unmade)).new_enough


async def test_one_that_was_cut_off_is_finished(unmade: StoreClient) -> None:
    ours = fold_settings()
    name = schema.collection_name(ours, unmade.alias)
    await unmade.api.create_collection(name, **schema.creation(ours))
    await unmade.api.create_payload_index(name, "tenant", schema.indexes()["tenant"])
    with pytest.raises(NoCollection, match="afterturn init"):
        await check(unmade, ours)
    assert await create_or_check(unmade, ours) == []


async def test_other_settings_are_named_with_both_values_and_stop_a_service(unmade: StoreClient) -> None:
    ours = fold_settings()
    assert await create_or_check(unmade, ours) == []
    changed = ours.model_copy(update={"epoch": 2, "topic": "other"})
    found = await check(unmade, changed)
    assert found == [
        schema.Difference("settings.topic", "other", "turns"),
        schema.Difference("settings.epoch", 2, 0),
    ]
    assert await create_or_check(unmade, changed) == found
    with pytest.raises(WrongStore, match=r"settings.topic is 'turns', not 'other'; settings.epoch is 0, not 2"):
        await require(unmade, changed)


async def test_another_alias_is_another_collection(settings_for: StoreSettings, unmade: StoreClient) -> None:
    """A second deployment on one Qdrant shares nothing with the first."""
    ours, theirs = fold_settings(), fold_settings().model_copy(update={"topic": "other"})
    assert await create_or_check(unmade, ours) == []
    async with opened(settings_for.model_copy(update={"alias": f"{settings_for.alias}-2"})) as second:
        try:
            assert await create_or_check(second, theirs) == []
            assert await target(second) != await target(unmade)
            await require(unmade, ours)
            await require(second, theirs)
        finally:
            await second.api.delete_collection(schema.collection_name(theirs, second.alias))


async def test_a_collection_of_other_settings_is_not_given_the_alias(unmade: StoreClient) -> None:
    ours = fold_settings()
    name = schema.collection_name(ours, unmade.alias)
    await unmade.api.create_collection(name, **schema.creation(ours.model_copy(update={"topic": "other"})))
    assert [each.field for each in await create_or_check(unmade, ours)] == ["settings.topic"]
    assert await target(unmade) is None


async def test_another_dimension_stops_with_both_numbers_and_the_command(unmade: StoreClient) -> None:
    ours = fold_settings()
    assert await create_or_check(unmade, ours) == []
    larger = ours.model_copy(update={"dimension": 384})
    for call in (check, create_or_check):
        with pytest.raises(WrongDimension, match=rf"384 .* {DIMENSION}.*afterturn init") as stopped:
            await call(unmade, larger)
        assert (stopped.value.ours, stopped.value.theirs) == (384, DIMENSION)


async def test_an_alias_that_is_a_collection_stops(settings_for: StoreSettings) -> None:
    async with opened(settings_for) as client:
        ours = fold_settings()
        vectors = {"dense": models.VectorParams(size=DIMENSION, distance=models.Distance.COSINE)}
        await client.api.create_collection(client.alias, vectors_config=vectors)
        try:
            with pytest.raises(WrongStore, match="QDRANT_ALIAS"):
                await create_or_check(client, ours)
        finally:
            await client.api.delete_collection(client.alias)
            await client.api.delete_collection(schema.collection_name(ours, client.alias))


async def test_a_collection_made_by_something_else_differs_in_everything(unmade: StoreClient) -> None:
    name = f"{unmade.alias}-plain"
    vectors = {"dense": models.VectorParams(size=DIMENSION, distance=models.Distance.DOT)}
    await unmade.api.create_collection(name, vectors_config=vectors)
    alias = models.CreateAlias(collection_name=name, alias_name=unmade.alias)
    await unmade.api.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
    fields = {difference.field for difference in await check(unmade, fold_settings())}
    assert fields >= {
        "vectors.dense.distance",
        "sparse_vectors.bm25.modifier",
        "hnsw_config.m",
        "strict_mode_config.enabled",
        "index.tenant",
        "settings",
    }
