"""What lanes promise, on the session's Kafka: real groups, lanes and producers over a store in memory."""

from __future__ import annotations

import asyncio
import time

import pytest
from support.lanes import Gate, LaneLog, Point, StillOurs, Told
from support.log import until

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import Fenced, ForeignWrite, LogCut, Reopen, Retry, Stop
from afterturn.streams.kafka import OutRecord, Producer
from afterturn.streams.lanes.keeper import Patience
from afterturn.streams.lanes.pulse import StalePoll
from afterturn.streams.lanes.queue import QueueLimits


async def all_applied(lanes: LaneLog, counts: dict[int, int]) -> None:
    """Every record up to these ends was applied in order, is committed, and was announced once."""
    assert {p: lanes.shelves.applied[p] for p in counts} == {p: list(range(n)) for p, n in counts.items()}
    await lanes.committed_is(counts)
    await lanes.announced({p: range(n) for p, n in counts.items()})


# Taking records


async def test_every_record_is_applied_in_order_and_committed_once(lanes: LaneLog) -> None:
    counts = {0: 40, 1: 23, 2: 0}
    await lanes.fill(counts)
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach(counts))
        await lanes.fill(dict.fromkeys(counts, 5))
        ends = {p: n + 5 for p, n in counts.items()}
        await member.until(lanes.shelves.reach(ends))
    await all_applied(lanes, ends)
    for partition, end in ends.items():
        nexts = [batch.next for batch in member.told.batches[partition]]
        assert nexts == sorted(set(nexts))
        assert nexts[-1] == end
        assert sum(batch.endings["applied"] for batch in member.told.batches[partition]) == end
    assert sorted(member.told.closings) == [0, 1, 2]


async def test_what_was_read_before_a_lane_took_its_position_is_not_taken(lanes: LaneLog) -> None:
    """It is further on, and read again after the seek: a lane that takes it skips what lies between."""
    await lanes.fill({0: 5})
    early = (await lanes.log.read(0, 5))[3:]
    async with lanes.member(poll=0.5) as member:
        await member.until(lambda: 0 in member.group.partitions)
        keeper = member.group._keepers[0]
        keeper.offer(early)
        await member.until(lambda: keeper.wanted is not None)  # until this poll is over
        keeper.offer(early)
        await member.until(lanes.shelves.reach({0: 5}))
    await all_applied(lanes, {0: 5})


async def test_a_new_group_starts_at_the_checkpoint_and_commits_it_at_once(lanes: LaneLog) -> None:
    """Whoever finds a committed offset missing later must not take a new group for a crash before its first commit."""
    await lanes.fill({0: 5})
    lanes.shelves.checkpoints[0] = 3
    gate = Gate()
    lanes.shelves.disturb("write", 0, gate)
    async with lanes.member() as member:
        await member.until(lambda: gate.reached and len(member.group.taking) == 3)
        await lanes.committed_is({0: 3, 1: 0, 2: 0})
        assert sorted(member.told.openings) == [(0, 3, None), (1, 0, None), (2, 0, None)]
        gate.open()
        await member.until(lanes.shelves.reach({0: 5}))
    assert lanes.shelves.applied[0] == [3, 4]
    await lanes.committed_is({0: 5})
    await lanes.announced({0: [3, 4]})


async def test_a_store_behind_the_committed_offset_heals_and_says_nothing_twice(lanes: LaneLog) -> None:
    await lanes.fill({0: 10})
    await lanes.commit(0, 6)
    lanes.shelves.checkpoints[0], lanes.shelves.batch = 2, 3  # 2..4 lie below what is committed, 5..7 astride
    first, gate = Gate(), Gate()
    first.open()
    lanes.shelves.disturb("write", 0, first, gate)
    async with lanes.member() as member:
        await member.until(lambda: gate.reached)
        assert [batch.next for batch in member.told.batches[0]] == [5]
        assert (await lanes.committed())[0] == 6, "committing less would announce again after a crash"
        gate.open()
        await member.until(lanes.shelves.reach({0: 10}))
    assert (0, 2, 6) in member.told.openings
    assert lanes.shelves.applied[0] == list(range(2, 10))
    await lanes.committed_is({0: 10})
    await lanes.announced({0: range(6, 10)})


async def test_a_store_ahead_of_the_committed_offset_has_its_outcomes_announced(lanes: LaneLog) -> None:
    await lanes.fill({0: 10})
    await lanes.commit(0, 2)
    lanes.shelves.checkpoints[0] = 6
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 10}))
    assert (0, 6, 2) in member.told.openings
    assert lanes.shelves.applied[0] == list(range(6, 10)), "what is in the store is not applied again"
    await lanes.committed_is({0: 10})
    await lanes.announced({0: range(2, 10)})


# Logs that are not what they were


@pytest.mark.parametrize(("committed", "checkpoint"), [(2, 8), (8, 2)])
async def test_a_log_cut_beyond_the_position_stops(lanes: LaneLog, committed: int, checkpoint: int) -> None:
    await lanes.fill({1: 10})
    await lanes.commit(1, committed)
    lanes.shelves.checkpoints[1] = checkpoint
    await lanes.log.cut(1, 5)
    async with lanes.member(ending=LogCut) as member:
        error = await member.ended()
    assert isinstance(error, LogCut)
    assert (error.topic, error.partition, error.wanted) == (lanes.log.topic, 1, 2)
    assert 1 not in [partition for partition, _, _ in member.told.openings], "it is said before the lane opens"
    assert not lanes.shelves.applied[1]
    assert (await lanes.committed())[1] == committed


async def test_a_log_cut_up_to_the_position_goes_on(lanes: LaneLog) -> None:
    await lanes.fill({1: 10})
    await lanes.commit(1, 5)
    lanes.shelves.checkpoints[1] = 5
    await lanes.log.cut(1, 5)
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({1: 10}))
    await lanes.announced({1: range(5, 10)})


@pytest.mark.parametrize(("committed", "checkpoint"), [(3, 7), (7, 3), (None, 7)])
async def test_a_log_that_ends_before_the_checkpoint_or_the_committed_offset_stops(
    lanes: LaneLog, committed: int | None, checkpoint: int
) -> None:
    """It was made anew: its records would be taken for others."""
    await lanes.fill({1: 4})
    if committed is not None:
        await lanes.commit(1, committed)
    lanes.shelves.checkpoints[1] = checkpoint
    async with lanes.member(ending=Stop) as member:
        error = await member.ended()
    assert isinstance(error, Stop)
    assert not isinstance(error, LogCut)
    assert error.command_that_helps == "afterturn doctor"
    assert not lanes.shelves.applied[1]


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


# What the writer is asked to recognise


async def test_the_writer_is_shown_the_record_before_its_checkpoint(lanes: LaneLog) -> None:
    await lanes.fill({0: 6, 1: 6, 2: 6})
    lanes.shelves.checkpoints.update({0: 4, 1: 6, 2: 3})
    await lanes.log.cut(2, 3)
    async with lanes.member() as member:
        await member.until(lambda: len(member.group.taking) == 3)
    assert sorted(lanes.shelves.recognised) == [(0, 3), (1, 5)], "of 2 the log holds none"


async def test_a_record_that_the_writer_does_not_recognise_stops(lanes: LaneLog) -> None:
    await lanes.fill({0: 6})
    lanes.shelves.checkpoints[0], lanes.shelves.strangers[0] = 4, Stop("another log")
    async with lanes.member(ending=Stop) as member:
        assert await member.ended() is lanes.shelves.strangers[0]
    assert not lanes.shelves.applied[0]


async def test_a_collection_is_committed_to_the_partition_with_its_batch_and_read_like_any_command(
    lanes: LaneLog,
) -> None:
    await lanes.fill({0: 6, 1: 3})
    await lanes.commit(1, 2)
    await lanes.log.cut(0, 2)
    lanes.shelves.checkpoints[0] = 2
    lanes.shelves.collections[0] = OutRecord(lanes.log.topic, None, b"collect", partition=0)
    async with lanes.member() as member:
        await member.until(lanes.shelves.reach({0: 7}))
        await member.until(lanes.shelves.reach({1: 3}))
    assert lanes.shelves.applied[0] == [2, 3, 4, 5, 6]
    assert [each for each in lanes.shelves.looks if each[0] == 0] == [(0, 2)], "asked for now and then only"
    assert (await lanes.log.read(0, 5))[-1].value == b"collect"
    await lanes.committed_is({0: 7})
    await lanes.announced({0: range(2, 7), 1: [2]})


# Queues


async def test_a_full_queue_pauses_its_partition_and_the_others_go_on(lanes: LaneLog) -> None:
    limit = QueueLimits().records
    gate = Gate()
    lanes.shelves.disturb("write", 0, gate)
    lanes.shelves.batch = limit
    async with lanes.member() as member:
        await member.until(lambda: len(member.group.taking) == 3)
        queue = member.group._keepers[0].queue
        await lanes.fill({0: limit})
        await member.until(lambda: queue.full and gate.reached)
        await lanes.fill({1: 10})
        await member.until(lambda: lanes.shelves.checkpoints[1] == 10)  # a poll has passed since it was full
        held = len(queue)
        for more in range(1, 4):
            await lanes.fill({0: 100, 1: 10})
            await member.until(lanes.shelves.reach({1: 10 + 10 * more}))
        assert len(queue) == held, "a paused partition is not read"
        gate.open()
        await member.until(lanes.shelves.reach({0: limit + 300}))
        assert member.group.missing() is None
    await all_applied(lanes, {0: limit + 300, 1: 40})
    assert len(member.told.openings) == 3


async def test_polling_goes_on_while_every_lane_is_held(lanes: LaneLog) -> None:
    """A group gives up a member that does not poll."""
    gates = {partition: Gate() for partition in range(3)}
    for partition, gate in gates.items():
        lanes.shelves.disturb("write" if partition else "open", partition, gate)
    await lanes.fill(dict.fromkeys(gates, 3))
    async with lanes.member() as member:
        await member.until(lambda: all(gate.reached for gate in gates.values()))
        for _ in range(5):
            await member.polls(10.0)
        for gate in gates.values():
            gate.open()
        await member.until(lanes.shelves.reach({0: 3, 1: 3, 2: 3}))
    await all_applied(lanes, dict.fromkeys(gates, 3))


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


async def _now(value: bool) -> bool:
    return value
