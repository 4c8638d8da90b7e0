"""Killed under load, again and again: what was acknowledged is there, what was not is whole or absent.

Writers fold a log each, as lanes do: one conditional upsert a batch, the checkpoint in it. Each knows exactly what its
points must be. Zombies send batches again that were sent long ago; they must change nothing.
"""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from qdrant_client.conversions.common_types import PointId
from qdrant_client.http.exceptions import ResponseHandlingException
from support.store import StoreProcess, connect, start_store
from support.store_collection import make_collection, match, unwritten

KILLS = 4
LANES = 4
SPACE = 1_000_000  # ids of one lane
NAME = "memories"
INDEXES = dict.fromkeys(("lane", "rev", "next"), m.PayloadSchemaType.INTEGER) | {"status": m.PayloadSchemaType.KEYWORD}


@dataclass(frozen=True)
class Batch:
    """One batch as it is sent, and what the lane's points are after it."""

    following: int
    points: list[m.PointStruct]
    condition: m.Filter
    mode: m.UpdateMode
    after: dict[int, dict[str, Any]]


@dataclass
class Lane:
    """A writer: `now` is what its points are for sure, `sent` the batches that were acknowledged."""

    number: int
    random: Random
    following: int = 0
    opens: int = 0
    now: dict[int, dict[str, Any]] = field(default_factory=dict)
    sent: list[Batch] = field(default_factory=list)

    @property
    def checkpoint(self) -> int:
        return self.number * SPACE + SPACE - 1

    def plan(self) -> Batch:
        """The next commands: new memories, changed ones, and tombstones over live ones."""
        previous, following = self.following, self.following + self.random.randint(1, 40)
        changed: dict[int, dict[str, Any]] = {}
        for rev in range(previous, following):
            live = [i for i, payload in {**self.now, **changed}.items() if payload.get("status") == "active"]
            deed = self.random.random()
            if deed < 0.5 or not live:
                identity, status = self.number * SPACE + rev, "active"
            else:
                identity, status = self.random.choice(live), "deleted" if deed < 0.8 else "active"
            changed[identity] = {"lane": self.number, "rev": rev, "status": status, "text": f"{rev}" * 20}
        changed[self.checkpoint] = {"lane": self.number, "next": following, "opens": self.opens}
        points = [m.PointStruct(id=i, vector=vector(payload), payload=payload) for i, payload in changed.items()]
        self.random.shuffle(points)
        condition = unwritten(previous, following)
        return Batch(following, points, condition, m.UpdateMode.UPSERT, {**self.now, **changed})

    def plan_eviction(self) -> Batch | None:
        """Tombstones over some live points as they were read: by status and rev, not by the order of the log."""
        live = [(i, payload) for i, payload in self.now.items() if payload.get("status") == "active"]
        if not live:
            return None
        chosen = dict(self.random.sample(live, min(3, len(live))))
        gone = {i: {"lane": self.number, "rev": self.following, "status": "evicted"} for i in chosen}
        points = [m.PointStruct(id=i, vector={}, payload=payload) for i, payload in gone.items()]
        condition = m.Filter(should=[as_read(i, payload["rev"]) for i, payload in chosen.items()])
        return Batch(self.following, points, condition, m.UpdateMode.UPDATE_ONLY, {**self.now, **gone})


def as_read(identity: int, rev: int) -> m.Filter:
    return m.Filter(must=[m.HasIdCondition(has_id=[identity]), match("status", "active"), match("rev", rev)])


def vector(payload: dict[str, Any]) -> m.VectorStruct:
    if payload.get("status") != "active":
        return {}
    return {"dense": [1.0, 2.0, 3.0, 4.0], "bm25": m.SparseVector(indices=[payload["rev"]], values=[1.0])}


async def send(client: AsyncQdrantClient, batch: Batch) -> None:
    result = await client.upsert(
        NAME,
        batch.points,
        wait=True,
        ordering=m.WriteOrdering.STRONG,
        update_filter=batch.condition,
        update_mode=batch.mode,
    )
    assert result.status is m.UpdateStatus.COMPLETED


async def stored(client: AsyncQdrantClient, lane: Lane) -> dict[int, dict[str, Any]]:
    """The lane's points; it also holds the law that the live have vectors and nobody else has."""
    found: dict[int, dict[str, Any]] = {}
    condition = m.Filter(must=[m.FieldCondition(key="lane", match=m.MatchValue(value=lane.number))])
    offset: PointId | None = None
    while True:
        rows, offset = await client.scroll(NAME, condition, limit=500, offset=offset, with_vectors=True)
        for row in rows:
            assert isinstance(row.id, int)
            assert isinstance(row.vector, dict)
            found[row.id] = row.payload or {}
            assert row.vector.keys() == ({"dense", "bm25"} if found[row.id].get("status") == "active" else set())
        if offset is None:
            return found


async def write_until_killed(client: AsyncQdrantClient, lane: Lane, acknowledged: asyncio.Semaphore) -> Batch | None:
    """Write on; gives the batch that was in flight when the store went."""
    while True:
        batch = (lane.random.random() < 0.4 and lane.plan_eviction()) or lane.plan()
        try:
            await send(client, batch)
        except ResponseHandlingException:
            return batch
        lane.now, lane.following = batch.after, batch.following
        lane.sent.append(batch)
        acknowledged.release()


async def haunt_until_killed(client: AsyncQdrantClient, lane: Lane) -> None:
    """Send old batches of a lane again and again."""
    while True:
        await asyncio.sleep(0)
        if not lane.sent:
            await asyncio.sleep(0.005)
            continue
        try:
            await send(client, lane.random.choice(lane.sent))
        except ResponseHandlingException:
            return


async def open_lane(client: AsyncQdrantClient, lane: Lane, in_flight: Batch | None) -> None:
    """Read what a crash left, compare it with both states it may be in, and make the small write of an opening."""
    found = await stored(client, lane)
    if in_flight is not None and found == in_flight.after:
        lane.now, lane.following = in_flight.after, in_flight.following
        lane.sent.append(in_flight)
    assert found == lane.now, f"lane {lane.number} at {lane.following}"
    if lane.checkpoint in lane.now:
        lane.opens += 1
        await client.set_payload(NAME, {"opens": lane.opens}, points=[lane.checkpoint], wait=True)
        lane.now = {**lane.now, lane.checkpoint: {**lane.now[lane.checkpoint], "opens": lane.opens}}


async def open_lanes(client: AsyncQdrantClient, lanes: list[Lane], in_flight: list[Batch | None]) -> None:
    for lane, batch in zip(lanes, in_flight, strict=True):
        await open_lane(client, lane, batch)


async def one_life(
    store: StoreProcess, client: AsyncQdrantClient, lanes: list[Lane], random: Random
) -> list[Batch | None]:
    """Load until enough is acknowledged, then the kill, at any moment of a call."""
    acknowledged = asyncio.Semaphore(0)
    zombies = [asyncio.create_task(haunt_until_killed(client, lane)) for lane in lanes[:2]]
    writers = [asyncio.create_task(write_until_killed(client, lane, acknowledged)) for lane in lanes]
    for _ in range(random.randint(10, 40)):
        await acknowledged.acquire()
    await asyncio.sleep(random.random() * 0.01)
    await asyncio.to_thread(store.kill)
    in_flight: list[Batch | None] = await within(30, asyncio.gather(*writers))
    await within(30, asyncio.gather(*zombies))
    return in_flight


async def within(seconds: float, work: Awaitable[Any]) -> Any:
    async with asyncio.timeout(seconds):
        return await work


@pytest.mark.parametrize("flush_every", ["5", "0.02"])
async def test_a_killed_store_has_all_that_was_acknowledged_and_nothing_in_part(folder: Path, flush_every: str) -> None:
    random = Random(20)
    lanes = [Lane(number, Random(number)) for number in range(1, LANES + 1)]
    with start_store(folder, "--flush-every", flush_every) as store:
        async with connect(store.url) as client:
            await make_collection(client, NAME, None, INDEXES)
            in_flight: list[Batch | None] = [None] * LANES
            for _ in range(KILLS):
                await open_lanes(client, lanes, in_flight)
                in_flight = await one_life(store, client, lanes, random)
                await asyncio.to_thread(store.restart)
            await open_lanes(client, lanes, in_flight)
    assert sum(len(lane.sent) for lane in lanes) >= KILLS * 10
