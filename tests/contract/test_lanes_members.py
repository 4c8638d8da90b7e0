"""How lanes come and go: members of a group, orderly ends, zombies, and what is missing meanwhile."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.lane_checks import all_applied
from support.lanes import Gate, LaneLog, Point, StillOurs, Told
from support.log import until

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import Reopen, Retry
from afterturn.streams.kafka import OutRecord, Producer
from afterturn.streams.lanes.keeper import Patience
from afterturn.streams.lanes.pulse import StalePoll

# Members come and go


async def test_members_come_and_go_under_load_and_every_record_is_applied_by_somebody(lanes: LaneLog) -> None:
    written = dict.fromkeys(range(3), 0)
    full = asyncio.Event()

    async def load() -> None:
        async with Producer(lanes.log.settings) as producer:
            while not full.is_set():
                for partition in written:
                    await producer.send(OutRecord(lanes.log.topic, b"k", b"v", partition=partition))
                    written[partition] += 1

    loading = asyncio.create_task(load())
    try:
        async with lanes.member() as first:
            await first.until(lambda: len(first.group.taking) == 3 and bool(lanes.shelves.applied[0]))
            async with lanes.member() as second:
                for one, two in ((first, second), (second, first)):
                    await one.until(lambda: first.group.missing() is second.group.missing() is None)
                    await two.until(lambda: first.group.taking | second.group.taking == {0, 1, 2})
                assert not first.group.partitions & second.group.partitions
                assert first.group.partitions
                assert second.group.partitions
                before = {p: len(offsets) for p, offsets in lanes.shelves.applied.items()}
                await first.until(lambda: all(len(lanes.shelves.applied[p]) > before[p] + 10 for p in before))
                assert all(second.told.batches[p] for p in second.group.partitions)
            await first.until(lambda: len(first.group.taking) == 3)
            full.set()
            await loading
            await first.until(lanes.shelves.reach(written))
    finally:
        full.set()
        await loading
    assert not first.told.reopenings, "a lane that drains is out of its follower's way"
    assert not second.told.reopenings
    await all_applied(lanes, written)


async def test_a_lane_finishes_its_batch_before_its_partition_goes_to_another_member(lanes: LaneLog) -> None:
    await lanes.fill(dict.fromkeys(range(3), 20))
    gates = [Gate() for _ in range(3)]
    for partition, gate in enumerate(gates):
        lanes.shelves.disturb("write", partition, gate)
    async with lanes.member() as first:
        await first.until(lambda: all(gate.reached for gate in gates))
        async with lanes.member() as second:
            await first.until(lambda: first.group.missing() is not None)
            assert not second.group.partitions
            for gate in gates:
                gate.open()
            await second.until(lanes.shelves.reach({0: 20, 1: 20, 2: 20}))
    assert all(first.told.batches[partition] for partition in range(3))
    assert not first.told.reopenings + second.told.reopenings
    await all_applied(lanes, dict.fromkeys(range(3), 20))


# Ending


async def test_ending_finishes_the_batch_at_hand_and_begins_no_other(lanes: LaneLog) -> None:
    await lanes.fill({0: 20})
    gate = Gate()
    lanes.shelves.disturb("write", 0, gate)
    async with lanes.member() as member:
        await member.until(lambda: gate.reached)
        member.stop.set()
        await member.until(lambda: not member.group.partitions)
        assert not member.task.done()
        gate.open()
        await member.end()
    assert lanes.shelves.applied[0] == list(range(7))
    await lanes.committed_is({0: 7})
    await lanes.announced({0: range(7)})
    async with lanes.member() as following:
        await following.until(lambda: lanes.shelves.checkpoints[0] == 20)
    assert (0, 7, 7) in following.told.openings
    await all_applied(lanes, {0: 20})


@pytest.mark.parametrize("point", ["write", "written"])
async def test_ending_drops_a_batch_that_takes_longer_than_the_deadline(lanes: LaneLog, point: Point) -> None:
    await lanes.fill({0: 20})
    gate = Gate()
    lanes.shelves.disturb(point, 0, gate)
    async with lanes.member(drain=0.3) as member:
        await member.until(lambda: gate.reached)
        await member.end(10.0)
    await lanes.committed_is({0: 0})
    await lanes.announced({0: []})
    async with lanes.member() as following:
        await following.until(lambda: lanes.shelves.checkpoints[0] == 20)
    await all_applied(lanes, {0: 20})


@pytest.mark.parametrize("held", ["opening", "backoff"])
async def test_ending_does_not_wait_for_a_lane_with_nothing_at_hand(lanes: LaneLog, held: str) -> None:
    hour = Patience(retry=Backoff(first=3600.0, cap=3600.0))
    await lanes.fill({0: 5})
    gate = Gate()
    if held == "opening":
        lanes.shelves.disturb("open", 0, gate)
    else:
        lanes.shelves.disturb("write", 0, Retry("away"))
    async with lanes.member(drain=60.0, patience=hour) as member:
        await member.until(lambda: gate.reached if held == "opening" else bool(member.told.retries))
        await member.end(15.0)
    assert not lanes.shelves.applied[0]


# The zombie bound


async def test_a_lane_that_was_not_polled_for_too_long_reopens_before_it_writes(lanes: LaneLog) -> None:
    """However quickly polls follow the gap, and whatever waited in the queue."""
    await lanes.fill({0: 20, 1: 20})
    late = 0.0

    async def stand_still(still_ours: StillOurs) -> None:
        nonlocal late
        still_ours()
        late += 61.0
        polled = member.group._pulse._last
        await until(lambda: _now(member.group._pulse._last > polled + 60))
        with pytest.raises(StalePoll):
            still_ours()

    lanes.shelves.disturb("write", 0, stand_still)
    async with lanes.member() as member:
        member.group._pulse._clock = lambda: time.monotonic() + late
        await member.until(lanes.shelves.reach({0: 20, 1: 20}))
    assert {partition for partition, _ in member.told.reopenings} <= {0, 1}
    assert all(isinstance(error, StalePoll) for _, error in member.told.reopenings)
    assert (0, 0, 0) in member.told.openings, "nothing was written before it opened anew"
    await all_applied(lanes, {0: 20, 1: 20})


# What is missing


async def test_what_is_missing_is_said_until_every_lane_is_open(lanes: LaneLog) -> None:
    gate, again = Gate(), Gate()
    lanes.shelves.disturb("open", 1, gate)
    waiting = "waiting for the group to give out partitions"
    assert lanes.group(Told()).missing() == waiting
    async with lanes.member() as member:
        assert member.group.missing() == waiting
        await member.until(lambda: gate.reached and len(member.group.taking) == 2)
        assert member.group.missing() == "1 of 3 lanes are not open"
        gate.open()
        await member.until(lambda: member.group.missing() is None)
        assert member.group.taking == member.group.partitions == {0, 1, 2}
        lanes.shelves.disturb("write", 2, Reopen("another owner"))
        lanes.shelves.disturb("open", 2, again)
        await lanes.fill({2: 1})
        await member.until(lambda: again.reached)
        assert member.group.missing() == "1 of 3 lanes are not open"
        again.open()
        await member.until(lambda: member.group.missing() is None)
    assert member.group.missing() == waiting


async def test_a_member_without_partitions_misses_nothing(lanes: LaneLog) -> None:
    """There are more members than partitions: it is ready to take over."""
    async with lanes.member() as a, lanes.member() as b, lanes.member() as c, lanes.member() as d:
        members = (a, b, c, d)
        await a.until(lambda: all(each.group.missing() is None for each in members))
        assert sorted(len(each.group.partitions) for each in members) == [0, 1, 1, 1]


async def test_a_group_that_polls_no_more_is_stuck_and_one_that_waits_or_ends_is_not(lanes: LaneLog) -> None:
    """What liveness says: true while it starts, works and ends in order; false once it has stood still for long."""
    await lanes.fill({0: 3})
    idle = lanes.group(Told())
    assert idle.stuck() is None, "it has not begun"
    async with lanes.member(zombie_bound=5.0, drain=2.0, session=6.0) as member:
        await member.until(lanes.shelves.reach({0: 3}))
        assert member.group.stuck() is None
        member.group._pulse._last -= 15.0
        assert member.group.stuck() is None, "late, but not stuck"
        member.group._pulse._last -= 15.0
        assert "not polled" in (member.group.stuck() or "")
        await member.polls()
        assert member.group.stuck() is None
    member.group._pulse._last -= 3_600.0
    assert member.group.stuck() is None, "it has ended"


async def test_lag_is_what_the_log_holds_beyond_what_is_done(lanes: LaneLog) -> None:
    await lanes.fill({0: 20})
    gate = Gate()
    lanes.shelves.disturb("write", 0, gate)
    async with lanes.member() as member:
        await member.until(lambda: gate.reached)
        assert member.group.lags()[0] == 20
        gate.open()
        await member.until(lanes.shelves.reach({0: 20}))
        await member.until(lambda: member.group.lags()[0] == 0)


async def _now(value: bool) -> bool:
    return value
