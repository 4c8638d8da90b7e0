"""What lanes do about errors, by what these say, and about a broker that is away."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.lane_checks import all_applied
from support.lanes import Gate, LaneLog, Point

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import Fenced, ForeignWrite, Retry, Stop
from afterturn.streams.lanes.keeper import Patience

# Errors, by what they say


async def test_what_is_retried_is_tried_again_later_and_later_and_nothing_is_lost(lanes: LaneLog) -> None:
    await lanes.fill({0: 20})
    away = [Retry("the store is away") for _ in range(3)]
    lost_answer = Retry("the store took it, and its answer was lost")
    lanes.shelves.disturb("write", 0, *away)
    lanes.shelves.disturb("written", 0, lost_answer)
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 20}))
    assert [error for _, error, _ in member.told.retries] == [*away, lost_answer]
    patience = Patience().retry
    for attempt, (_, _, delay) in enumerate(member.told.retries, 1):
        assert patience.delay(attempt, 0.0) <= delay <= patience.delay(attempt, 1.0)
    assert not member.told.reopenings
    await all_applied(lanes, {0: 20})


async def test_a_success_ends_the_backoff(lanes: LaneLog) -> None:
    await lanes.fill({0: 14})
    through = Gate()
    through.open()
    lanes.shelves.disturb("write", 0, Retry("1"), Retry("2"), Retry("3"), through, Retry("4"))
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 14}))
    assert member.told.retries[-1][2] <= Patience().retry.delay(1, 1.0)


async def test_an_opening_that_is_retried_opens_later(lanes: LaneLog) -> None:
    await lanes.fill({0: 8, 1: 8})
    lanes.shelves.disturb("open", 0, Retry("the store is away"), Retry("still"))
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 8, 1: 8}))
    assert [(partition, str(error)) for partition, error, _ in member.told.retries] == [
        (0, "the store is away"),
        (0, "still"),
    ]
    assert member.told.retries[1][2] >= Patience().retry.delay(2, 0.0)
    await all_applied(lanes, {0: 8, 1: 8})


@pytest.mark.parametrize("point", ["open", "write", "written"])
async def test_a_lane_that_has_to_reopens_and_loses_nothing(lanes: LaneLog, point: Point) -> None:
    await lanes.fill({0: 20, 1: 20})
    error = ForeignWrite(0, 0, 3)
    lanes.shelves.disturb(point, 0, error)
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 20, 1: 20}))
    assert member.told.reopenings == [(0, error)]
    assert [partition for partition, _, _ in member.told.openings].count(1) == 1, "the others are left alone"
    await all_applied(lanes, {0: 20, 1: 20})


async def test_reopening_is_quick_again_after_a_success(lanes: LaneLog) -> None:
    """Ten reopenings in a month are no ten failures in a row."""
    attempts: list[int] = []

    class Watched(Backoff):
        def delay(self, attempt: int, chance: float) -> float:
            del chance
            attempts.append(attempt)
            return 0.0

    await lanes.fill({0: 28})
    through = Gate()
    through.open()
    reopen = ForeignWrite(0, 0)
    lanes.shelves.disturb("write", 0, through, reopen, through, reopen, through, reopen)
    async with lanes.member(patience=Patience(reopen=Watched())) as member:
        await member.until(lanes.shelves.reach({0: 28}))
    assert attempts == [1, 1, 1]


@pytest.mark.parametrize("opening", [True, False])
@pytest.mark.parametrize("error", [Stop("another log's store"), ValueError("a mistake of ours")])
async def test_a_stop_and_what_nobody_expects_end_the_run(lanes: LaneLog, opening: bool, error: Exception) -> None:
    await lanes.fill({0: 5})
    lanes.shelves.disturb("open" if opening else "write", 0, error)
    async with lanes.member(ending=type(error)) as member:
        assert await member.ended() is error
    assert not lanes.shelves.applied[0]
    assert (await lanes.committed())[0] == (None if opening else 0)


@pytest.mark.parametrize(
    "error",
    [
        Stop("found out while draining"),
        ValueError("a mistake of ours"),
    ],
    ids=["stop", "mistake"],
)
async def test_what_ends_a_lane_while_its_partition_is_taken_away_ends_the_run(
    lanes: LaneLog, error: Exception
) -> None:
    await lanes.fill({0: 5})
    gate = Gate()
    lanes.shelves.disturb("write", 0, gate)
    lanes.shelves.disturb("written", 0, error)
    async with lanes.member(ending=type(error)) as first:
        await first.until(lambda: gate.reached)
        async with lanes.member():
            await first.until(lambda: first.group.missing() is not None)
            gate.open()
            assert await first.ended(2.0) is error


async def test_a_fenced_lane_leaves_its_partition_alone_for_a_session_and_opens_anew(lanes: LaneLog) -> None:
    """The batch at hand is in the store when another owner starts; it is announced once all the same."""
    await lanes.fill({0: 10, 1: 10})
    gate = Gate()
    lanes.shelves.disturb("written", 0, gate)
    async with lanes.member() as member:
        await member.until(lambda: gate.reached and lanes.shelves.checkpoints[1] == 10)
        async with lanes.producer(0):
            gate.open()
            await member.until(lambda: bool(member.told.reopenings))
            began = time.monotonic()
            assert member.group.missing() == "1 of 3 lanes are not open"
            await lanes.fill({1: 5})
            await member.until(lanes.shelves.reach({1: 15}))
            assert (await lanes.committed())[0] == 0
            await member.until(lanes.shelves.reach({0: 10}))
            assert time.monotonic() - began >= lanes.session * 0.9
    [(partition, error)] = member.told.reopenings
    assert partition == 0
    assert isinstance(error, Fenced)
    assert [opening for opening in member.told.openings if opening[0] == 0] == [(0, 0, None), (0, 7, 0)]
    assert lanes.shelves.applied[0] == list(range(10))
    await lanes.committed_is({0: 10, 1: 15})
    await lanes.announced({0: range(10)})


# A broker that is away


async def test_lanes_wait_for_a_broker_that_is_away_and_go_on(lanes: LaneLog) -> None:
    broker = lanes.log.broker
    if not broker.ours:
        pytest.skip("the broker is not ours to kill")
    await lanes.fill({0: 20})
    gate = Gate()
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 20}))
        await lanes.committed_is({0: 20})
        lanes.shelves.disturb("write", 0, gate)
        await lanes.fill({0: 10})
        await member.until(lambda: gate.reached)
        await asyncio.to_thread(broker.settle)
        broker.kill()
        try:
            gate.open()
            for _ in range(10):
                await member.polls()
        finally:
            await asyncio.to_thread(broker.restart)
        await lanes.fill({0: 10})
        await member.until(lanes.shelves.reach({0: 40}), 60.0)
    await all_applied(lanes, {0: 40})
