"""What commands that go alone rely on: whole selections, and counts taken afterwards."""

from typing import Any

import pytest
from support.store_points import AT, memory, pid, put, tombstone

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.select import SelectStore
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.parts import Filter
from afterturn.schemas.points import Outcome, Receipt, StoredPoint, TenantState, ThreadState
from afterturn.schemas.scope import Scope


@pytest.fixture
def select(client: StoreClient) -> SelectStore:
    return SelectStore(client)


async def write(store: WriteStore, tenant: str, points: dict[str, StoredPoint]) -> None:
    batch = [put(f"{tenant}{name}", point) for name, point in points.items()]
    await store.write(batch, previous=0, next_=1_000, checkpoint=None)


def names(ids: Any, tenant: str) -> str:
    known = {pid(f"{tenant}{name}"): name for name in "abcdefghi"}
    return "".join(sorted(known[id_] for id_ in ids))


def receipt(tenant: str, rev: int, partition: int = 0) -> Receipt:
    outcome = Outcome(event="memory.skipped.v1")
    return Receipt(partition=partition, born=rev, rev=rev, tenant=tenant, outcome=outcome, digest="d")


SELECTED: dict[str, tuple[Filter | None, str]] = {
    "all": (None, "abcd"),
    "scope": (Filter(scope=Scope(user="bo")), "b"),
    "thread": (Filter(threads=("t2",)), "b"),
    "tags": (Filter(tags_any=("x", "y")), "ac"),
    "kind": (Filter(kinds=("semantic",)), "d"),
    "author": (Filter(authors=("Ann",)), "acd"),
    "times": (Filter(since=AT, until=AT.replace(hour=13)), "abcd"),
    "none": (Filter(threads=("t9",)), ""),
}


@pytest.mark.parametrize(("chosen", "expected"), SELECTED.values(), ids=list(SELECTED))
async def test_forgetting_selects_what_the_filter_says(
    writes: WriteStore, select: SelectStore, tenant: str, chosen: Filter | None, expected: str
) -> None:
    points: dict[str, StoredPoint] = {
        "a": memory(tenant, 1, 5, tags=("x",)),
        "b": memory(tenant, 2, 5, thread="t2", scope=Scope(user="bo"), author="Bo"),
        "c": memory(tenant, 3, 5, tags=("y",), status="superseded", pinned=True),
        "d": memory(tenant, 4, 5, kind="semantic", status="candidate"),
        "e": memory(tenant, 5, 9, tags=("x",)),
        "f": tombstone(tenant, 6, 5, born=1),
        "g": memory(f"{tenant}-other", 1, 5, tags=("x",)),
    }
    await write(writes, tenant, points)
    found = await select.matching(tenant, chosen, below=9, limit=100)
    assert names(found, tenant) == expected
    assert await select.count(tenant, chosen, below=9) == len(expected)
    assert len(await select.matching(tenant, chosen, below=9, limit=1)) == min(1, len(expected))


async def test_what_was_made_from_others_is_found(writes: WriteStore, select: SelectStore, tenant: str) -> None:
    a, b = pid(f"{tenant}a"), pid(f"{tenant}b")
    points: dict[str, StoredPoint] = {
        "a": memory(tenant, 1, 5),
        "b": memory(tenant, 2, 5),
        "c": memory(tenant, 3, 5, source_ids=(a, b)),
        "d": memory(tenant, 4, 5, derived_from=(b,)),
        "e": memory(tenant, 5, 9, source_ids=(a,)),
    }
    await write(writes, tenant, points)
    assert names(await select.derived(tenant, [a], below=9, limit=9), tenant) == "c"
    assert names(await select.derived(tenant, [a, b], below=9, limit=9), tenant) == "cd"
    assert await select.derived(tenant, [], below=9, limit=9) == {}


async def test_erasing_takes_everything_of_a_tenant_and_counts_what_is_done(
    writes: WriteStore, select: SelectStore, tenant: str
) -> None:
    points: dict[str, StoredPoint] = {
        "a": memory(tenant, 1, 5),
        "b": tombstone(tenant, 2, 6, born=1),
        "c": receipt(tenant, 5),
        "d": ThreadState(partition=0, born=5, rev=5, tenant=tenant, thread="t", next_position=1),
        "e": TenantState(partition=0, born=5, rev=5, tenant=tenant),
        "f": tombstone(tenant, 3, 9, born=1),
        "g": memory(f"{tenant}-other", 1, 5),
    }
    await write(writes, tenant, points)
    assert names(await select.everything(tenant, 9, 100), tenant) == "abcde"
    assert names(await select.everything(tenant, 9, 100, ("memory", "thread")), tenant) == "abd"
    assert [await select.changed_at(tenant, rev, "evicted") for rev in (5, 6, 9)] == [0, 1, 1]


async def test_collecting_takes_old_receipts_and_tombstones_of_a_partition_only(
    writes: WriteStore, select: SelectStore, tenant: str, partition: int
) -> None:
    own = partition + 1_000
    points: dict[str, StoredPoint] = {
        "a": receipt(tenant, 5, own),
        "b": receipt(tenant, 20, own),
        "c": tombstone(tenant, 1, 6, born=1).model_copy(update={"partition": own}),
        "d": tombstone(tenant, 1, 20, born=1).model_copy(update={"partition": own}),
        "e": memory(tenant, 1, 5, partition=own),
        "f": ThreadState(partition=own, born=5, rev=5, tenant=tenant, thread="t", next_position=1),
        "g": receipt(tenant, 5, own + 1_000),
    }
    await write(writes, tenant, points)
    found = await select.collectable(own, 10, 100)
    assert names(found, tenant) == "ac"
    changed = receipt(tenant, 15, own)
    await writes.write([put(f"{tenant}a", changed)], previous=0, next_=16, checkpoint=None)
    await select.remove(found, 10)
    left = await writes.points(pid(f"{tenant}{name}") for name in "abcdefg")
    assert names(left, tenant) == "abdefg"
