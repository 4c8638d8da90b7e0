"""What commands that go alone rely on: whole selections, and counts taken afterwards."""

from collections.abc import AsyncIterator, Mapping
from random import Random
from typing import Any

import pytest
from support.memory_selections import MemorySelections
from support.store_points import AT, memory, pid, put, tombstone
from support.turn_logs import SETTINGS, draw_log
from support.whole_log import fold_log

from afterturn.consumers.recorder.decoding import decode
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.select import SelectStore
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.parts import Filter
from afterturn.schemas.points import KeyState, Memory, Outcome, Receipt, StoredPoint, TenantState, ThreadState
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


async def gathered(pages: AsyncIterator[Mapping[str, StoredPoint]]) -> dict[str, StoredPoint]:
    """All pages as one; no point is in two."""
    found: dict[str, StoredPoint] = {}
    async for page in pages:
        assert not page.keys() & found.keys()
        found |= page
    return found


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


async def test_what_was_made_from_others_is_found(writes: WriteStore, tenant: str) -> None:
    a, b = pid(f"{tenant}a"), pid(f"{tenant}b")
    points: dict[str, StoredPoint] = {
        "a": memory(tenant, 1, 5),
        "b": memory(tenant, 2, 5),
        "c": memory(tenant, 3, 5, source_ids=(a, b)),
        "d": memory(tenant, 4, 5, derived_from=(b,)),
        "e": tombstone(tenant, 5, 6, born=1).model_copy(update={"source_ids": (a,)}),
        "f": tombstone(tenant, 6, 9, born=1).model_copy(update={"source_ids": (a,)}),
        "g": memory(f"{tenant}-other", 7, 5, source_ids=(a,)),
    }
    await write(writes, tenant, points)
    assert names(await writes.derived(tenant, [a], 9), tenant) == "cf"
    assert names(await writes.derived(tenant, [a, b], 99), tenant) == "cd"
    assert await writes.derived(tenant, [], 9) == {}


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
    assert names(await select.everything(tenant, 9, 100), tenant) == "abcd"
    assert await select.count_everything(tenant, 9) == 4
    assert names(await select.everything(tenant, 9, 100, ("memory", "thread")), tenant) == "abd"
    changed = [names(await gathered(select.changed_at(tenant, rev, 1)), tenant) for rev in (5, 6, 9)]
    assert changed == ["a", "b", "f"]


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
    found = await gathered(select.collectable(own, 10, 1))
    assert names(found, tenant) == "ac"
    changed = receipt(tenant, 15, own)
    await writes.write([put(f"{tenant}a", changed)], previous=0, next_=16, checkpoint=None)
    await select.remove(found, 10)
    left = await writes.points(pid(f"{tenant}{name}") for name in "abcdefg")
    assert names(left, tenant) == "abdefg"


@pytest.mark.parametrize("seed", range(3))
async def test_every_selection_is_what_the_plain_predicates_say(
    writes: WriteStore, select: SelectStore, partition: int, seed: int
) -> None:
    """The filters the store is asked with, against predicates in Python, over what a random log leaves behind."""
    own = partition + 10_000 * (seed + 1)
    log = [decode(r, SETTINGS) for r in draw_log(Random(seed), 120)]
    points: dict[str, StoredPoint] = {}
    for id_, point in fold_log(log, SETTINGS).points.items():
        moved: dict[str, object] = {"partition": own, "tenant": f"{point.tenant}-{own}"}
        if isinstance(point, KeyState) and point.current is not None:
            moved["current"] = pid(f"{own}{point.current}")
        points[pid(f"{own}{id_}")] = point.model_copy(update=moved)
    for start in range(0, len(points), 200):
        batch = [PointWrite(id_, point) for id_, point in list(points.items())[start : start + 200]]
        await writes.write(batch, previous=0, next_=10_000, checkpoint=None)
    plain = MemorySelections(points)
    for below in (30, 80, 500):
        theirs = await each_selection(select, points, own, below)
        assert theirs == await each_selection(plain, points, own, below)


async def each_selection(
    selections: SelectStore | MemorySelections, points: Mapping[str, StoredPoint], partition: int, below: int
) -> dict[str, object]:
    """All that a sweep may ask."""
    found: dict[str, object] = {}
    for tenant in {point.tenant for point in points.values()}:
        for name, (chosen, _) in SELECTED.items():
            found[f"{tenant} {name}"] = (await selections.matching(tenant, chosen, below, 999)).keys()
            found[f"{tenant} {name} counted"] = await selections.count(tenant, chosen, below)
        found[f"{tenant} everything"] = await selections.everything(tenant, below, 999)
        found[f"{tenant} counted"] = await selections.count_everything(tenant, below)
    gone = await gathered(selections.collectable(partition, below, 7))
    threads = await gathered(selections.threads(partition, below, 7))
    keys = await gathered(selections.keys(partition, below, 7))
    first = {id_: p for id_, p in gone.items() if isinstance(p, Memory) and p.ordinal == 0}
    named = {id_: p for id_, p in threads.items() if isinstance(p, ThreadState) and p.thread is not None}
    return found | {
        "collectable": gone,
        "threads": threads,
        "keys": keys,
        "siblings": await selections.with_siblings(first, below),
        "in use": await selections.in_use(named),
        "held": await selections.held({id_: p for id_, p in keys.items() if isinstance(p, KeyState)}),
    }
