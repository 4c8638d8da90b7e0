"""Moving a collection to another partition count: each step, done twice, is as if done once."""

from __future__ import annotations

import pytest
from support.store_points import fold_settings, memory, pid, put

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.collection import check, create_or_check, require
from afterturn.consumers.store.errors import NoCollection, WrongStore
from afterturn.consumers.store.moving import MovingStore, Underway
from afterturn.consumers.store.read import ReadStore
from afterturn.consumers.store.select import SelectStore
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.ids import checkpoint_id, rev_of
from afterturn.schemas.points import Checkpoint, Outcome, Receipt, StoredPoint, TenantState
from afterturn.schemas.settings import FoldSettings

BEFORE = fold_settings(partitions=3)
TO = BEFORE.model_copy(update={"topic": "other.turns", "partitions": 5, "epoch": 1})


@pytest.fixture
async def made(unmade: StoreClient) -> StoreClient:
    """A collection of its own, of three partitions."""
    assert await create_or_check(unmade, BEFORE) == []
    return unmade


def receipt(tenant: str, partition: int) -> Receipt:
    return Receipt(partition=partition, born=1, rev=1, tenant=tenant, outcome=Outcome(event="memory.skipped.v1"))


def state(tenant: str, partition: int) -> TenantState:
    return TenantState(partition=partition, born=1, rev=1, tenant=tenant, live=1)


async def write(client: StoreClient, points: dict[str, StoredPoint], checkpoint: Checkpoint | None = None) -> None:
    store = WriteStore(client, dimension=BEFORE.dimension, epoch=0)
    batch = [put(name, point, [1.0, 2.0, 3.0, 4.0]) for name, point in points.items()]
    await store.write(batch, previous=0, next_=1_000, checkpoint=checkpoint)


async def partitions(client: StoreClient, *names: str) -> list[int | None]:
    found = await WriteStore(client, dimension=BEFORE.dimension, epoch=0).points(map(pid, names))
    return [point.partition if (point := found.get(pid(name))) else None for name in names]


async def test_while_it_is_under_way_no_service_starts_and_the_error_says_what_helps(made: StoreClient) -> None:
    moving = MovingStore(made)
    assert await moving.underway() == Underway(BEFORE)
    for begun in (False, True):
        await moving.mark(TO, begun=begun)
        assert await moving.underway() == Underway(BEFORE, TO, begun)
        for settings in (BEFORE, TO):
            with pytest.raises(WrongStore, match="topics repartition --partitions 5 --prefix other"):
                await require(made, settings)
    await moving.unmark()
    assert await moving.underway() == Underway(BEFORE)
    assert await check(made, BEFORE) == []


async def test_once_it_is_finished_the_new_settings_are_the_collections(made: StoreClient) -> None:
    moving = MovingStore(made)
    await moving.mark(TO, begun=True)
    for _ in range(2):
        await moving.finish(TO)
        assert await moving.underway() == Underway(TO)
        assert await check(made, TO) == []
    assert {each.field for each in await check(made, BEFORE)} == {
        "settings.topic", "settings.partitions", "settings.epoch",
    }  # fmt: skip


async def test_every_point_of_a_tenant_gets_its_partition_and_keeps_all_else(made: StoreClient) -> None:
    points: dict[str, StoredPoint] = {
        "a": memory("ann", 1, 1), "s": state("ann", 0), "r": receipt("ann", 0), "b": memory("ben", 1, 1),
    }  # fmt: skip
    await write(made, points)
    moving = MovingStore(made)
    for _ in range(2):
        await moving.move_tenants({"ann": 4, "nobody": 3})
        assert await partitions(made, "a", "s", "r", "b") == [4, 4, 4, 0]
    found = await WriteStore(made, dimension=BEFORE.dimension, epoch=0).points([pid("a")])
    assert found[pid("a")] == memory("ann", 1, 1, partition=4)
    assert await SelectStore(made).count_tenants() == 1


async def test_many_tenants_are_moved_in_pieces(made: StoreClient) -> None:
    await write(made, {f"p{n}": memory(f"tenant {n}", 1, 1) for n in range(120)})
    await MovingStore(made).move_tenants({f"tenant {n}": n % 5 for n in range(120)})
    assert await partitions(made, *(f"p{n}" for n in range(120))) == [n % 5 for n in range(120)]


async def test_tenants_that_have_receipts_only_are_found(made: StoreClient) -> None:
    await write(made, {"r": receipt("only a receipt", 0), "c": receipt("", 1), "m": memory("ann", 1, 1)})
    found = [names async for names in MovingStore(made).receipts_tenants()]
    assert set().union(*found) == {"only a receipt", ""}


async def test_the_receipts_of_collections_go_and_no_others(made: StoreClient) -> None:
    await write(made, {"r": receipt("ann", 0), "c": receipt("", 1), "m": memory("ann", 1, 1)})
    moving = MovingStore(made)
    for _ in range(2):
        await moving.forget_collections()
        assert await partitions(made, "r", "c", "m") == [0, None, 0]


async def test_every_checkpoint_begins_the_new_epoch(made: StoreClient) -> None:
    """Also those of partitions that are no more: a late recorder of the old log must stop at them."""
    for partition in (0, 2, 7):
        spoilt = Checkpoint(partition=partition, next=40 + partition, key="61", time=5, opens=3, spoilt=True)
        await write(made, {}, spoilt)
    moving = MovingStore(made)
    for _ in range(2):
        await moving.begin_epoch(5, 1)
    read = ReadStore(made, dimension=BEFORE.dimension)
    for partition in (0, 1, 2, 3, 4, 7):
        assert await read.checkpoint(partition) == Checkpoint(partition=partition, next=rev_of(1, 0)), partition
    assert await read.checkpoint(5) is None


async def test_a_checkpoint_of_the_new_epoch_is_left_alone_by_a_late_write_of_the_old_log(made: StoreClient) -> None:
    moving = MovingStore(made)
    await moving.begin_epoch(3, 1)
    await write(made, {}, Checkpoint(partition=0, next=900))
    assert (await moving.checkpoints([0]))[0] == Checkpoint(partition=0, next=rev_of(1, 0))
    assert checkpoint_id(0) != checkpoint_id(1)


async def test_metadata_that_are_not_ours_stop_it(made: StoreClient) -> None:
    aliases = (await made.get("reading aliases", "/aliases"))["aliases"]
    name = next(each["collection_name"] for each in aliases if each["alias_name"] == made.alias)
    async with made.call("changing the metadata") as api:
        await api.update_collection(name, metadata={"repartition": {"to": "x"}})
    with pytest.raises(WrongStore, match="not ours"):
        await MovingStore(made).underway()


async def test_without_a_collection_init_is_named(unmade: StoreClient) -> None:
    with pytest.raises(NoCollection, match="afterturn init"):
        await MovingStore(unmade).underway()


def test_the_target_is_complete() -> None:
    """All of the settings are kept in the mark: a second run knows them without asking for the first one's."""
    assert FoldSettings.model_validate(TO.model_dump(mode="json")) == TO
