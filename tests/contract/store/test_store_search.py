"""What recall relies on: two arms filtered inside the search, neighbours, texts."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from support.store_points import AT, memory, pid, put, tombstone

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import StoreRefused, WrongDimension, WrongStore
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.read import RANKING_FIELDS, Hit, ReadStore, Search, SearchHits, Window
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.points import Checkpoint, TenantState
from afterturn.schemas.scope import Scope

EAST, NORTH = [1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]
APPLE, PEAR = 11, 12


async def write(store: WriteStore, *batch: PointWrite) -> None:
    for start in range(0, len(batch), 400):
        await store.write(batch[start : start + 400], previous=0, next_=1_000, checkpoint=None)


def names(hits: list[Hit], tenant: str, candidates: str) -> str:
    """The one-letter names of the hits, in their order."""
    known = {pid(f"{tenant}{name}"): name for name in candidates}
    return "".join(known[hit.id] for hit in hits)


async def test_both_arms_find_best_first_with_what_ranking_needs(
    writes: WriteStore, reads: ReadStore, tenant: str
) -> None:
    near = memory(tenant, 1, 5, asks=True)
    await write(
        writes,
        put(f"{tenant}a", near, EAST, {APPLE: 1.0}),
        put(f"{tenant}b", memory(tenant, 2, 5), [0.8, 0.6, 0.0, 0.0], {APPLE: 0.5, PEAR: 0.5}),
        put(f"{tenant}c", memory(tenant, 3, 5), NORTH, {PEAR: 1.0}),
        put(f"{tenant}d", memory(tenant, 4, 5), None, {APPLE: 0.1}),
    )
    found = await reads.search(Search(tenant=tenant), EAST, ([APPLE], [1.0]))
    assert names(found.dense, tenant, "abcd") == "abc"
    assert [round(hit.score, 4) for hit in found.dense] == [1.0, 0.8, 0.0]
    assert names(found.lexical, tenant, "abcd") == "abd"
    assert found.failed == {}
    stored = near.payload()
    expected = {name: stored[name] for name in RANKING_FIELDS if name in stored}
    assert found.dense[0].payload == found.lexical[0].payload == expected
    assert "asks" in expected
    assert "content" not in expected


async def test_an_arm_without_a_vector_is_left_out(writes: WriteStore, reads: ReadStore, tenant: str) -> None:
    await write(writes, put(f"{tenant}a", memory(tenant, 1, 5), EAST, {APPLE: 1.0}))
    search = Search(tenant=tenant)
    assert len((await reads.search(search, EAST, None)).dense) == 1
    assert len((await reads.search(search, None, ([APPLE], [1.0]))).lexical) == 1
    assert await reads.search(search, None, None) == await reads.search(search, None, ([], [])) == SearchHits()


async def test_one_relevant_among_many_of_another_tenant_is_found(
    writes: WriteStore, reads: ReadStore, tenant: str
) -> None:
    other = f"{tenant}-other"
    crowd = [put(f"{other}{n}", memory(other, n, 5), EAST, {APPLE: 9.0}) for n in range(800)]
    await write(writes, put(f"{tenant}a", memory(tenant, 1, 5), [0.1, 0.9, 0.0, 0.0], {APPLE: 0.1}), *crowd)
    found = await reads.search(Search(tenant=tenant), EAST, ([APPLE], [1.0]), limit=5)
    assert names(found.dense, tenant, "a") == names(found.lexical, tenant, "a") == "a"
    theirs = await reads.search(Search(tenant=other), EAST, ([APPLE], [1.0]), limit=5)
    assert len(theirs.dense) == len(theirs.lexical) == 5


async def test_words_weigh_what_they_weigh_in_the_tenant(writes: WriteStore, reads: ReadStore, tenant: str) -> None:
    own = [put(f"{tenant}{n}", memory(tenant, n, 5), EAST, {APPLE if n else PEAR: 1.0}) for n in range(20)]
    await write(writes, *own)
    search, question = Search(tenant=tenant), ([APPLE, PEAR], [1.0, 1.0])
    before = await reads.search(search, None, question)
    assert before.lexical[0].score > 5 * before.lexical[1].score  # the pear is rare here
    other = f"{tenant}-other"
    await write(writes, *(put(f"{other}{n}", memory(other, n, 5), EAST, {PEAR: 1.0}) for n in range(200)))
    after = await reads.search(search, None, question)
    assert [hit.score for hit in after.lexical] == pytest.approx([hit.score for hit in before.lexical])


async def test_an_unknown_tenant_has_nothing(reads: ReadStore, tenant: str) -> None:
    search = Search(tenant=tenant)
    found = await reads.search(search, EAST, ([APPLE], [1.0]))
    assert (found.dense, found.lexical, found.failed) == ([], [], {})
    assert await reads.tenant(tenant) is None
    assert await reads.receipt(pid(tenant)) is None
    assert await reads.neighbours(search, [Window("t1", Scope(), 0, 9)]) == []
    assert await reads.texts([pid(tenant)]) == {}
    assert await reads.born_at(tenant, 5) == 0


async def test_only_active_memories_are_found_unless_more_is_asked_for(
    writes: WriteStore, reads: ReadStore, tenant: str
) -> None:
    await write(
        writes,
        put(f"{tenant}a", memory(tenant, 1, 5), EAST),
        put(f"{tenant}b", memory(tenant, 2, 5, status="superseded"), EAST),
        put(f"{tenant}c", memory(tenant, 3, 5, status="candidate"), EAST),
        put(f"{tenant}d", tombstone(tenant, 4, 5, born=1)),
    )
    search = Search(tenant=tenant)
    assert names((await reads.search(search, EAST, None)).dense, tenant, "abcd") == "a"
    wider = await reads.search(replace(search, statuses=("active", "superseded", "candidate", "evicted")), EAST, None)
    assert sorted(names(wider.dense, tenant, "abcd")) == ["a", "b", "c"]


FILTERED: dict[str, tuple[dict[str, Any], str]] = {
    "user": ({"scope": (("user", "bo"),)}, "b"),
    "two dimensions": ({"scope": (("user", "ann"), ("workspace", "w"))}, "d"),
    "nobody's": ({"scope": (("user", "zoe"),)}, ""),
    "another dimension": ({"scope": (("agent", "ann"),)}, ""),
    "threads": ({"threads": ("t2", "t3")}, "bc"),
    "no thread": ({"threads": ()}, ""),
    "exclude threads": ({"exclude_threads": ("t2", "t3")}, "ad"),
    "authors": ({"authors": ("Bo",)}, "b"),
    "roles": ({"roles": ("assistant",)}, "c"),
    "kinds": ({"kinds": ("semantic", "reflection")}, "d"),
    "types": ({"types": ("user_fact",)}, "d"),
    "any tag": ({"tags_any": ("x", "y")}, "abc"),
    "all tags": ({"tags_all": ("x", "y")}, "b"),
    "since": ({"since": AT + timedelta(minutes=2)}, "bcd"),
    "until is exclusive": ({"until": AT + timedelta(minutes=2)}, "a"),
    "between": ({"since": AT + timedelta(minutes=2), "until": AT + timedelta(minutes=4)}, "bc"),
    "importance": ({"min_importance": 0.7}, "cd"),
    "confidence": ({"min_confidence": 0.9}, "abd"),
    "not expired": ({"as_of": AT + timedelta(hours=2)}, "bcd"),
    "expired later": ({"as_of": AT}, "abcd"),
    "several": ({"roles": ("user",), "tags_any": ("y",), "since": AT}, "b"),
}


@pytest.mark.parametrize(("fields", "expected"), FILTERED.values(), ids=list(FILTERED))
async def test_each_filter_holds_in_both_arms_and_for_neighbours(
    writes: WriteStore, reads: ReadStore, tenant: str, fields: dict[str, Any], expected: str
) -> None:
    points = {
        "a": memory(tenant, 1, 5, tags=("x",), expires_at=AT + timedelta(hours=2)),
        "b": memory(tenant, 2, 5, tags=("x", "y"), thread="t2", scope=Scope(user="bo"), author="Bo"),
        "c": memory(tenant, 3, 5, tags=("y",), thread="t3", role="assistant", importance=0.7, confidence=0.5),
        "d": memory(
            tenant, 4, 5, importance=1.0, kind="semantic", type="user_fact", scope=Scope(user="ann", workspace="w")
        ),
    }
    await write(writes, *(put(f"{tenant}{name}", point, EAST, {APPLE: 1.0}) for name, point in points.items()))
    search = Search(tenant=tenant, **fields)
    found = await reads.search(search, EAST, ([APPLE], [1.0]))
    windows = [Window(point.thread or "", point.scope, 0, 9) for point in points.values()]
    for hits in (found.dense, found.lexical, await reads.neighbours(search, windows)):
        assert "".join(sorted(names(hits, tenant, "abcd"))) == expected


async def test_neighbours_are_these_places_of_these_threads_only(
    writes: WriteStore, reads: ReadStore, tenant: str
) -> None:
    batch = [put(f"{tenant}{'abcdefgh'[n]}", memory(tenant, n, 5), EAST) for n in range(8)]
    batch.append(put(f"{tenant}x", memory(tenant, 3, 5, scope=Scope()), EAST))
    batch.append(put(f"{tenant}y", memory(tenant, 3, 5, scope=Scope(user="ann", agent="z")), EAST))
    batch.append(put(f"{tenant}z", memory(tenant, 3, 5, thread="t9"), EAST))
    await write(writes, *batch)
    search, scope = Search(tenant=tenant), Scope(user="ann")
    near = await reads.neighbours(search, [Window("t1", scope, 2, 4), Window("t1", scope, 7, 20)])
    assert "".join(sorted(names(near, tenant, "abcdefghxyz"))) == "cdeh"
    assert {hit.payload["content"] for hit in near} == {f"message {n}" for n in (2, 3, 4, 7)}
    bare = await reads.neighbours(search, [Window("t1", Scope(), 0, 9)])
    assert names(bare, tenant, "abcdefghxyz") == "x"
    assert await reads.neighbours(search, []) == []


async def test_texts_are_what_an_answer_shows_and_the_removed_are_gone(
    writes: WriteStore, reads: ReadStore, tenant: str
) -> None:
    shown = memory(tenant, 1, 5, tags=("x",), data={"n": 1})
    await write(writes, put(f"{tenant}a", shown, EAST), put(f"{tenant}b", tombstone(tenant, 2, 5, born=1)))
    ids = [pid(f"{tenant}{name}") for name in "abc"]
    found = await reads.texts(ids)
    assert list(found) == ids[:1]
    assert found[ids[0]].content == "message 1"
    assert found[ids[0]].tags == ("x",)


async def test_a_failing_arm_leaves_the_other(writes: WriteStore, reads: ReadStore, tenant: str) -> None:
    await write(writes, put(f"{tenant}a", memory(tenant, 1, 5), EAST, {APPLE: 1.0}))
    refused = ([APPLE, APPLE], [1.0, 1.0])  # the store takes no token twice
    found = await reads.search(Search(tenant=tenant), EAST, refused)
    assert names(found.dense, tenant, "a") == "a"
    assert found.lexical == []
    assert isinstance(found.failed["lexical"], StoreRefused)
    assert set(found.failed) == {"lexical"}
    with pytest.raises(StoreRefused):
        await reads.search(Search(tenant=tenant), None, refused)


async def test_a_question_of_another_size_stops(reads: ReadStore, tenant: str) -> None:
    with pytest.raises(WrongDimension):
        await reads.search(Search(tenant=tenant), [1.0], None)


async def test_states_and_receipts_are_read_by_id(
    writes: WriteStore, reads: ReadStore, tenant: str, partition: int
) -> None:
    state = TenantState(partition=0, born=5, rev=5, tenant=tenant, live=2, authors=("Ann",))
    batch = [PointWrite(tenant_id(tenant), state)]
    batch += [put(f"{tenant}{n}", memory(tenant, n, 5, ordinal=n), EAST) for n in range(2)]
    batch.append(put(f"{tenant}later", memory(tenant, 2, 6), EAST))
    checkpoint = Checkpoint(partition=partition, next=7)
    await writes.write(batch, previous=0, next_=7, checkpoint=checkpoint)
    assert await reads.tenant(tenant) == state
    assert await reads.checkpoint(partition) == checkpoint
    assert await reads.receipt(pid(f"{tenant}0")) == memory(tenant, 0, 5)
    assert [await reads.born_at(tenant, rev) for rev in (4, 5, 6)] == [0, 2, 1]


async def test_strict_mode_refuses_what_no_index_serves(client: StoreClient) -> None:
    unindexed = {"filter": {"must": [{"key": "content", "match": {"value": "x"}}]}, "limit": 1}
    with pytest.raises(WrongStore, match="Index required"):
        await client.post("a test", "/scroll", unindexed)
