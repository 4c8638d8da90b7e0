"""Results don't depend on where batches are cut, nor on what an interrupted command has left behind."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from support.fold_checks import event_fields
from support.memory_store import MemoryStore, now
from support.turn_logs import LARGE, LONG, PARTITION, SETTINGS, TENANTS, TEXTS, Mix, draw_log, record, turn
from support.whole_log import fold_log

from afterturn.consumers.recorder.cutting import BatchLimits, chunks, cut, fits
from afterturn.consumers.recorder.decoding import Arrival, Rejected, decode
from afterturn.consumers.recorder.fold.plan import Decision, Plan, finish, give_up, plan
from afterturn.consumers.recorder.fold.sweeps import selects
from afterturn.consumers.recorder.fold.view import Snapshot
from afterturn.consumers.recorder.reading import before_interruption, read
from afterturn.consumers.recorder.sweeping import Unconfirmed, sweep
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.points import Checkpoint, Memory, Receipt, StoredPoint, TenantState, evict_key
from afterturn.streams.errors import ForeignWrite, Stop
from afterturn.streams.records import Record

RANDOMS = st.randoms(use_true_random=False)
THOROUGH = settings(
    max_examples=40, deadline=None, suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large)
)
LIMITS = BatchLimits(points=7)
IN_PIECES = Mix(
    facts=25, pins=15, revisions=15, reviews=12, consolidations=12, forgets=3, tenants=(TENANTS[0], LARGE, LARGE)
)
Batch = Sequence[Arrival | Rejected]


class Interrupted(Exception):  # noqa: N818 - what happens to a lane, not an error
    """The process was killed."""


class Lane:
    """One lane over a store that nobody else writes: it keeps its checkpoint and what it has decided."""

    def __init__(self, at: int) -> None:
        self.store = MemoryStore()
        self.store.checkpoints[PARTITION] = Checkpoint(partition=PARTITION, next=at)
        self.at = at
        self.left = -1
        """Points a sweep may still write before it is interrupted; below 0: any number."""
        self.decisions: list[Decision] = []

    def planned(self, batch: Batch) -> Plan:
        snapshot = now(read(self.store, PARTITION, batch, SETTINGS, self.at))
        planned = plan(snapshot, batch, SETTINGS)
        if planned.sweep is None:
            return planned
        following = batch[-1].rev + 1

        async def put(writes: Sequence[PointWrite]) -> None:
            for write in writes:
                if self.left == 0:
                    raise Interrupted
                self.left -= 1
                await self.store.write([write], previous=self.at, next_=following, checkpoint=None)

        try:
            return finish(planned.sweep, now(sweep(self.store, planned.sweep, put, lambda: None)), snapshot)
        except Unconfirmed:
            return give_up(planned.sweep, snapshot)

    def parts(self, batch: Batch, planned: Plan, limits: BatchLimits = LIMITS) -> list[Sequence[PointWrite]]:
        receipt = batch[0].receipt if isinstance(batch[0], Arrival) else ""
        return chunks([PointWrite(i, p) for i, p in planned.points.items()], receipt, SETTINGS, limits)

    def apply(self, batch: Batch) -> None:
        planned = self.planned(batch)
        following = batch[-1].rev + 1
        *first, last = self.parts(batch, planned)
        for part in first:
            now(self.store.write(part, previous=self.at, next_=following, checkpoint=None))
        checkpoint = Checkpoint(partition=PARTITION, next=following)
        now(self.store.write(last, previous=self.at, next_=following, checkpoint=checkpoint))
        self.at = following
        self.decisions += planned.decisions


def decoded(log: Sequence[Record]) -> list[Arrival | Rejected]:
    return [decode(r, SETTINGS) for r in log]


def told(decisions: Sequence[Decision]) -> list[object]:
    return [(d.outcome, d.fault and d.fault.reason, event_fields(d)) for d in decisions]


@given(RANDOMS, st.lists(st.integers(1, 6), min_size=1, max_size=25))
@THOROUGH
def test_any_cut_of_the_log_gives_the_same_points_and_outcomes(rng: Random, sizes: list[int]) -> None:
    log = decoded(draw_log(rng, 25, Mix(long=15)))
    whole = fold_log(log, SETTINGS)
    lane = Lane(log[0].rev)
    rest = log
    while rest:
        batch = cut(rest[: sizes[len(lane.decisions) % len(sizes)]], lane.at, SETTINGS)
        lane.apply(batch)
        rest = rest[len(batch) :]
    assert lane.store.content == whole.points
    assert told(lane.decisions) == told(whole.decisions)


@given(RANDOMS)
@THOROUGH
def test_batches_are_cut_in_order_on_one_side_of_the_checkpoint(rng: Random) -> None:
    log = decoded(draw_log(rng, 20, Mix(long=15)))
    at = rng.choice(log).rev
    rest = log
    while rest:
        batch = cut(rest, at, SETTINGS, BatchLimits(points=rng.randint(1, 20)))
        assert batch == rest[: len(batch)]
        assert len(batch) >= 1
        assert len({item.rev < at for item in batch}) == 1
        rest = rest[len(batch) :]


def large_turn(rng: Random, offset: int) -> Record:
    messages = [{"role": "user", "content": rng.choice(TEXTS), "importance": rng.choice((0, 0.5, 1))} for _ in range(8)]
    messages.append({"role": "user", "content": rng.choice(LONG), "importance": rng.choice((0, 1))})
    return record(offset, turn(turn_id=f"large-{offset}", thread=rng.choice(("t1", "new")), messages=messages))


@given(RANDOMS, st.integers(0, 12))
@example(Random(1), 0)
@THOROUGH
def test_an_interrupted_large_command_ends_as_if_it_had_not_been(rng: Random, before: int) -> None:
    log = draw_log(rng, before, Mix(tenants=TENANTS[:1], replayed=0, configures=0))
    offset = log[-1].offset + 1 if log else 10
    after = draw_log(rng, 3, Mix(tenants=TENANTS[:1]), first=offset + 1)
    items = decoded([*log, large_turn(rng, offset), *after])
    whole = fold_log(items, SETTINGS)
    lane = Lane(items[0].rev)
    for item in items[:before]:
        lane.apply([item])
    large = items[before]
    *first, _ = lane.parts([large], lane.planned([large]))
    assert first, "the command is meant to be too large for one write"
    for part in first:
        if rng.randrange(3):
            landed = [write for write in part if rng.randrange(4)]
            now(lane.store.write(landed, previous=lane.at, next_=large.rev + 1, checkpoint=None))
    for item in items[before:]:
        lane.apply([item])
    assert lane.store.content == whole.points
    assert told(lane.decisions) == told(whole.decisions)


@given(RANDOMS)
@THOROUGH
def test_any_command_interrupted_between_its_pieces_ends_as_if_it_had_not_been(rng: Random) -> None:
    """Pins, revisions, reviews and consolidations too: what was changed in part is changed to the same again."""
    items = decoded(draw_log(rng, 30, IN_PIECES))
    whole = fold_log(items, SETTINGS)
    lane = Lane(items[0].rev)
    for item in items:
        planned = lane.planned([item]) if not (isinstance(item, Arrival) and selects(item.command)) else Plan()
        *first, _ = lane.parts([item], planned, BatchLimits(points=1))
        for part in first:
            if rng.randrange(3):
                now(lane.store.write(part, previous=lane.at, next_=item.rev + 1, checkpoint=None))
        lane.apply([item])
    assert lane.store.content == whole.points
    assert told(lane.decisions) == told(whole.decisions)


@given(RANDOMS)
@THOROUGH
def test_the_last_chunk_holds_receipt_and_states_and_each_fits(rng: Random) -> None:
    large = decode(large_turn(rng, 10), SETTINGS)
    assert isinstance(large, Arrival)
    planned = plan(Snapshot(), [large], SETTINGS)
    parts = Lane(10).parts([large], planned)
    assert len(parts) > 1
    assert large.receipt in {w.id for w in parts[-1]}
    assert all(isinstance(w.point, Memory) and w.id != large.receipt for part in parts[:-1] for w in part)
    assert all(fits({w.id: w.point for w in part}, SETTINGS, LIMITS) for part in parts)
    assert {w.id: w.point for part in parts for w in part} == planned.points


def test_a_checkpoint_further_on_is_another_owners() -> None:
    log = decoded(draw_log(Random(3), 3))
    lane = Lane(log[0].rev)
    lane.store.checkpoints[PARTITION] = Checkpoint(partition=PARTITION, next=log[0].rev + 1)
    with pytest.raises(ForeignWrite):
        lane.planned(log[:1])
    assert not lane.store.spoilt


def landing_write(seed: int) -> tuple[Lane, Batch] | None:
    """Another owner's write of which a piece is visible, though not yet its checkpoint; None where it came first."""
    log = decoded([record(n, turn(turn_id=n)) for n in (10, 11)])
    lane = Lane(10)
    lane.apply(log[:1])
    planned = lane.planned(log[1:])
    lane.store.rng, lane.store.scheduled = Random(seed), True
    writes = [PointWrite(i, p) for i, p in planned.points.items()]
    checkpoint = Checkpoint(partition=PARTITION, next=12)
    lane.store.write(writes, previous=11, next_=12, checkpoint=checkpoint).send(None)
    while all(point.rev < 11 for point in lane.store.content.values()):
        lane.store.step()
    return None if lane.store.checkpoints[PARTITION] == checkpoint else (lane, log[1:])


async def stepping(store: MemoryStore, work: Coroutine[Any, Any, object]) -> None:
    """Work on with a store that is at its queue meanwhile."""
    while True:
        store.step()
        work.send(None)


def test_anothers_write_that_is_landing_is_waited_for_then_told() -> None:
    met = [found for seed in range(30) if (found := landing_write(seed))]
    assert met, "in no case was a piece visible before the checkpoint"
    for lane, batch in met:
        reading = read(lane.store, PARTITION, batch, SETTINGS, lane.at)
        for _ in range(50):
            reading.send(None)
        with pytest.raises(ForeignWrite):
            now(stepping(lane.store, reading))


def test_a_checkpoint_that_went_back_is_marked_and_stops() -> None:
    log = decoded(draw_log(Random(3), 3))
    lane = Lane(log[0].rev)
    lane.store.checkpoints[PARTITION] = Checkpoint(partition=PARTITION, next=log[0].rev - 1)
    with pytest.raises(Stop):
        lane.planned(log[:1])
    assert lane.store.spoilt


@pytest.mark.parametrize("point", [
    TenantState(partition=PARTITION, born=5, rev=10, tenant=TENANTS[0]),
    TenantState(partition=PARTITION, born=11, rev=11, tenant=TENANTS[0]),
    Memory(partition=PARTITION, born=5, rev=11, tenant=TENANTS[0], status="evicted", ordinal=0, evict_key=1),
    Memory(partition=PARTITION, born=5, rev=10, tenant=TENANTS[0], status="active", ordinal=0, evict_key=1),
])  # fmt: skip
def test_what_no_interrupted_command_leaves_stops(point: StoredPoint) -> None:
    lane = Lane(10)
    lane.store.content["00000000-0000-5000-8000-000000000000"] = point
    with pytest.raises(Stop):
        lane.planned(decoded([record(10, turn())]))


@given(RANDOMS, st.integers(0, 9))
@THOROUGH
def test_an_interrupted_sweep_ends_as_if_it_had_not_been(rng: Random, left: int) -> None:
    """Killed after any number of points, once or twice, a selecting command comes to the same."""
    log = decoded(draw_log(rng, 40, Mix(forgets=15, configures=10, erases=5, collects=10, tenants=TENANTS[:1])))
    whole = fold_log(log, SETTINGS)
    lane = Lane(log[0].rev)
    for item in log:
        for most in (left, rng.randrange(4), -1):
            lane.left = most
            try:
                lane.apply([item])
            except Interrupted:
                continue
            break
    assert lane.store.content == whole.points
    assert told(lane.decisions) == told(whole.decisions)


def test_what_an_interrupted_command_inserted_was_not_there() -> None:
    made = Memory(
        partition=PARTITION,
        born=10,
        rev=10,
        tenant=TENANTS[0],
        status="evicted",
        ordinal=1,
        evict_key=evict_key(0.5, 1),
    )
    assert before_interruption(made, 10) is None
    changed = made.model_copy(update={"born": 5})
    assert before_interruption(changed, 10) == changed.model_copy(update={"rev": 5, "status": "active"})


def test_a_duplicate_writes_nothing() -> None:
    lane = Lane(10)
    lane.apply(decoded([record(10, turn(messages=[]))]))
    (receipt,) = lane.store.content.values()
    assert isinstance(receipt, Receipt)
    lane.apply(decoded([record(11, turn(messages=[]))]))
    assert list(lane.store.content.values()) == [receipt]
