"""What the recorder relies on: the one conditional write, and the reads around it."""

import asyncio
from math import inf, nan
from typing import Any
from uuid import uuid4

import pytest
from support.store_points import DIMENSION, memory, pid, put, tombstone

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import BadVector, StoreRefused, WrongDimension, WrongStore
from afterturn.consumers.store.points import MAX_UPSERT
from afterturn.consumers.store.read import ReadStore, Search
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.ids import checkpoint_id, rev_of, tenant_id
from afterturn.schemas.points import Checkpoint, Memory, Outcome, Receipt, StoredPoint, TenantState, ThreadState

VECTOR = [1.0, 0.0, 0.0, 0.0]


class Lane:
    """A writer of one partition and one tenant, as a lane is; several are owners that don't know of each other."""

    def __init__(self, store: WriteStore, partition: int, tenant: str) -> None:
        self.store, self.partition, self.tenant = store, partition, tenant

    async def write(self, names: dict[str, int], *, previous: int, next_: int, gone: str = "") -> None:
        """Write messages by name and number, with the rev of the batch's last record; `gone` names tombstones."""
        rev = next_ - 1
        batch = [put(self.tenant + name, memory(self.tenant, n, rev), VECTOR, {7: 1.0}) for name, n in names.items()]
        batch += [put(self.tenant + name, tombstone(self.tenant, 1, rev, born=0)) for name in gone]
        point = Checkpoint(partition=self.partition, next=next_)
        await self.store.write(batch, previous=previous, next_=next_, checkpoint=point)

    async def state(self, *names: str) -> dict[str, Any]:
        """The checkpoint's next, and (status, rev) of each of these that is there."""
        checkpoint = await self.store.checkpoint(self.partition)
        ids = {pid(f"{self.tenant}{name}"): name for name in names}
        found = await self.store.points(ids)
        told = {ids[id_]: (p.status, p.rev) for id_, p in found.items() if isinstance(p, Memory)}
        return {"next": checkpoint.next if checkpoint else None, **told}


@pytest.fixture
async def lane(writes: WriteStore, partition: int, tenant: str) -> Lane:
    await writes.open_checkpoint(partition)
    return Lane(writes, partition, tenant)


async def test_a_fresh_batch_is_written_whole_and_reads_back(lane: Lane, client: StoreClient) -> None:
    await lane.write({"a": 1, "b": 2}, previous=0, next_=10)
    assert await lane.state("a", "b") == {"next": 10, "a": ("active", 9), "b": ("active", 9)}
    ids = [pid(f"{lane.tenant}a"), pid(f"{lane.tenant}b"), checkpoint_id(lane.partition)]
    stored = await client.api.retrieve(client.alias, ids, with_vectors=True)
    vectors = {str(point.id): point.vector for point in stored}
    assert vectors[ids[2]] in ({}, None)
    for found in (vectors[ids[0]], vectors[ids[1]]):
        assert isinstance(found, dict)
        assert set(found) == {"dense", "bm25"}


async def test_what_is_written_comes_back_exactly(writes: WriteStore, tenant: str, partition: int) -> None:
    points: dict[str, StoredPoint] = {
        "memory": memory(
            tenant, 3, 7, tags=("x", "y"), data={"n": 1, "list": [None, 2.5]}, pinned=True, confidence=0.1
        ),
        "receipt": Receipt(
            partition=0, born=7, rev=7, tenant=tenant, outcome=Outcome(event="memory.skipped.v1"), digest="d"
        ),
        "thread": ThreadState(partition=0, born=7, rev=7, tenant=tenant, thread="t1", next_position=4),
        "tenant": TenantState(partition=0, born=7, rev=7, tenant=tenant, live=1, authors=("Ann", "Bo")),
    }
    batch = [put(f"{tenant}{name}", point) for name, point in points.items()]
    checkpoint = Checkpoint(partition=partition, next=8, key="k", time=5)
    await writes.write(batch, previous=0, next_=8, checkpoint=checkpoint)
    assert await writes.points([write.id for write in batch]) == {write.id: write.point for write in batch}
    assert await writes.checkpoint(partition) == checkpoint


async def test_the_next_batch_moves_on_and_buries(lane: Lane) -> None:
    await lane.write({"a": 1, "b": 2}, previous=0, next_=10)
    await lane.write({"c": 3}, previous=10, next_=20, gone="a")
    assert await lane.state("a", "b", "c") == {
        "next": 20,
        "a": ("evicted", 19),
        "b": ("active", 9),
        "c": ("active", 19),
    }


async def test_a_zombie_behind_changes_nothing(lane: Lane) -> None:
    await lane.write({"a": 1, "b": 2}, previous=0, next_=10)
    await lane.write({"c": 3}, previous=10, next_=20, gone="a")
    before = await lane.state("a", "b", "c")
    await lane.write({"a": 1, "b": 2}, previous=0, next_=10)
    assert await lane.state("a", "b", "c") == before


@pytest.mark.parametrize("zombie_first", [True, False])
async def test_a_zombie_with_a_longer_batch_is_ahead_whoever_comes_first(lane: Lane, *, zombie_first: bool) -> None:
    await lane.write({"a": 1}, previous=0, next_=10)
    for longer in (zombie_first, not zombie_first):
        if longer:
            await lane.write({"b": 2, "c": 3}, previous=10, next_=30, gone="a")
        else:
            await lane.write({"b": 2}, previous=10, next_=20, gone="a")
    ahead = {"next": 30, "a": ("evicted", 29), "b": ("active", 29), "c": ("active", 29)}
    assert await lane.state("a", "b", "c") == ahead


async def test_a_checkpoint_behind_what_a_batch_was_planned_on_stays(lane: Lane) -> None:
    await lane.write({"a": 1}, previous=0, next_=10)
    await lane.write({}, previous=20, next_=30)
    assert (await lane.state("a"))["next"] == 10


async def test_a_chunk_without_a_checkpoint_leaves_it(lane: Lane) -> None:
    await lane.write({"a": 1}, previous=0, next_=10)
    chunk = [put(f"{lane.tenant}b", memory(lane.tenant, 2, 19), VECTOR)]
    await lane.store.write(chunk, previous=10, next_=20, checkpoint=None)
    assert await lane.state("a", "b") == {"next": 10, "a": ("active", 9), "b": ("active", 19)}


async def test_an_overwrite_without_vectors_drops_them(lane: Lane, reads: ReadStore) -> None:
    search = Search(tenant=lane.tenant, statuses=("active", "evicted"))
    await lane.write({"a": 1}, previous=0, next_=10)
    found = await reads.search(search, VECTOR, ([7], [1.0]))
    assert len(found.dense) == len(found.lexical) == 1
    await lane.write({}, previous=10, next_=20, gone="a")
    found = await reads.search(search, VECTOR, ([7], [1.0]))
    assert found.dense == found.lexical == []


@pytest.mark.parametrize("dense", [[1.0] * (DIMENSION + 1), [1.0] * (DIMENSION - 1)])
async def test_a_vector_of_another_size_stops_before_anything_is_sent(lane: Lane, dense: list[float]) -> None:
    batch = [put(f"{lane.tenant}good", memory(lane.tenant, 1, 9), VECTOR)]
    batch.append(put(f"{lane.tenant}bad", memory(lane.tenant, 2, 9), dense))
    with pytest.raises(WrongDimension, match=rf"{len(dense)} .* {DIMENSION}"):
        await lane.store.write(batch, previous=0, next_=10, checkpoint=Checkpoint(partition=lane.partition, next=10))
    assert await lane.state("good", "bad") == {"next": 0}


async def test_a_collection_of_another_size_stops_and_takes_nothing(lane: Lane, client: StoreClient) -> None:
    mistaken = Lane(WriteStore(client, dimension=DIMENSION + 1, epoch=0), lane.partition, lane.tenant)
    batch = [put(f"{lane.tenant}{n}", memory(lane.tenant, n, 9), [1.0] * (DIMENSION + 1)) for n in range(3)]
    with pytest.raises(WrongStore, match="afterturn init"):
        await mistaken.store.write(
            batch, previous=0, next_=10, checkpoint=Checkpoint(partition=lane.partition, next=10)
        )
    assert await lane.state("0", "1", "2") == {"next": 0}


@pytest.mark.parametrize("number", [nan, inf, -inf, 1e39])
@pytest.mark.parametrize("sparse", [False, True])
async def test_a_number_that_is_none_is_refused_before_anything_is_sent(
    lane: Lane, number: float, *, sparse: bool
) -> None:
    vectors: dict[str, Any] = {"words": {7: number}} if sparse else {"dense": [0.0, number, 0.0, 0.0]}
    batch = [put(f"{lane.tenant}a", memory(lane.tenant, 1, 9), **vectors)]
    with pytest.raises(BadVector, match=pid(f"{lane.tenant}a")):
        await lane.store.write(batch, previous=0, next_=10, checkpoint=None)
    assert await lane.state("a") == {"next": 0}


async def test_a_batch_larger_than_strict_mode_allows_is_refused(lane: Lane) -> None:
    batch = [put(uuid4().hex, memory(lane.tenant, n, 9)) for n in range(MAX_UPSERT + 1)]
    with pytest.raises(StoreRefused) as refused:
        await lane.store.write(batch, previous=0, next_=10, checkpoint=None)
    assert refused.value.status == 400
    await lane.store.write(batch[1:], previous=0, next_=10, checkpoint=None)
    assert len(await lane.store.points(write.id for write in batch)) == MAX_UPSERT


async def test_opening_counts_and_progress_takes_it_back(lane: Lane) -> None:
    opened = [await lane.store.open_checkpoint(lane.partition) for _ in range(2)]
    assert [(each.next, each.opens) for each in opened] == [(0, 2), (0, 3)]
    await lane.store.settle(lane.partition)
    await lane.write({"a": 1}, previous=0, next_=10)
    found = await lane.store.checkpoint(lane.partition)
    assert found == Checkpoint(partition=lane.partition, next=10, opens=0)


async def test_a_first_opening_starts_at_the_epoch(client: StoreClient, partition: int) -> None:
    writes = WriteStore(client, dimension=DIMENSION, epoch=3)
    assert await writes.checkpoint(partition) is None
    await writes.settle(partition)
    assert await writes.checkpoint(partition) is None
    both = await asyncio.gather(writes.open_checkpoint(partition), writes.open_checkpoint(partition))
    assert {each.next for each in both} == {rev_of(3, 0)}
    assert await writes.checkpoint(partition) in both


async def test_a_spoilt_checkpoint_says_so(lane: Lane) -> None:
    await lane.store.mark_spoilt(lane.partition)
    found = await lane.store.open_checkpoint(lane.partition)
    assert found.spoilt
    assert found.opens == 2


async def test_tails_are_the_lowest_that_may_leave_and_what_was_just_written(writes: WriteStore, tenant: str) -> None:
    other = f"{tenant}-other"
    points = {
        "plain": memory(tenant, 5, 10),
        "superseded": memory(tenant, 9, 10, status="superseded", evict_key=9),
        "candidate": memory(tenant, 4, 10, status="candidate"),
        "pinned": memory(tenant, 1, 10, pinned=True),
        "gone": tombstone(tenant, 2, 10, born=1),
        "just gone": tombstone(tenant, 3, 50, born=1),
        "just pinned": memory(tenant, 6, 51, pinned=True),
        "high": memory(tenant, 7, 10),
        "other": memory(other, 1, 10),
    }
    await writes.write([put(f"{tenant}{n}", p) for n, p in points.items()], previous=0, next_=60, checkpoint=None)
    expected = ["superseded", "just gone", "candidate", "plain", "just pinned", "high"]
    found = await writes.tails({tenant: 5, other: 3, "nobody": 2}, first_rev=50)
    assert list(found[tenant].items()) == [(pid(f"{tenant}{n}"), points[n]) for n in expected[:5]]
    assert list(found[other]) == [pid(f"{tenant}other")]
    assert found["nobody"] == {}
    assert list((await writes.tails({tenant: 50}, 50))[tenant]) == [pid(f"{tenant}{name}") for name in expected]
    assert await writes.tails({}, 50) == await writes.tails({tenant: 0}, 50) == {}


async def test_landing_is_the_checkpoint_and_all_of_these_tenants_from_a_rev_on(lane: Lane) -> None:
    tenant, other = lane.tenant, f"{lane.tenant}-other"
    points: dict[str, StoredPoint] = {
        "old": memory(tenant, 1, 49),
        "new": memory(tenant, 2, 50),
        "buried": tombstone(tenant, 3, 51, born=1),
        "thread": ThreadState(partition=0, born=50, rev=50, tenant=tenant, thread="t", next_position=1),
        "state": TenantState(partition=0, born=1, rev=52, tenant=tenant),
        "other": memory(other, 2, 50),
        "stranger": memory(f"{tenant}-stranger", 2, 50),
    }
    batch = [put(f"{tenant}{n}", p) for n, p in points.items()]
    await lane.store.write(batch, previous=0, next_=60, checkpoint=Checkpoint(partition=lane.partition, next=60))
    checkpoint, landed = await lane.store.landing(lane.partition, [tenant, other], 50)
    assert checkpoint is not None
    assert checkpoint.next == 60
    assert landed == {pid(f"{tenant}{n}"): points[n] for n in ("new", "buried", "thread", "state", "other")}
    many = [tenant, *(f"{tenant}-{n}" for n in range(500))]
    assert set((await lane.store.landing(lane.partition, many, 50))[1]) == {
        pid(f"{tenant}{n}") for n in ("new", "buried", "thread", "state")
    }
    assert (await lane.store.landing(lane.partition, [], 0))[1] == {}


async def test_landing_without_a_checkpoint_is_none(writes: WriteStore, partition: int, tenant: str) -> None:
    assert await writes.landing(partition, [tenant], 0) == (None, {})


async def test_a_thousand_ids_are_one_call_and_missing_ones_are_left_out(writes: WriteStore, tenant: str) -> None:
    written = [put(f"{tenant}{n}", memory(tenant, n, 1)) for n in range(300)]
    await writes.write(written, previous=0, next_=2, checkpoint=None)
    asked = [write.id for write in written] + [pid(f"{tenant}missing{n}") for n in range(900)]
    assert set(await writes.points(asked)) == {write.id for write in written}
    assert await writes.points([]) == {}


async def test_a_point_that_is_none_of_ours_stops(client: StoreClient, writes: WriteStore, tenant: str) -> None:
    row = {"id": tenant_id(tenant), "vector": {}, "payload": {"point": "tenant", "tenant": tenant, "live": "many"}}
    await client.change("a test", "PUT", "", {"points": [row]})
    with pytest.raises(WrongStore, match="partition") as stopped:
        await writes.points([tenant_id(tenant)])
    assert "many" not in str(stopped.value)
