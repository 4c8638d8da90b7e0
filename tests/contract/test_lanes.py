"""What lanes promise, on the session's Kafka: real groups, lanes and producers over a store in memory."""

from __future__ import annotations

import pytest
from support.lane_checks import all_applied
from support.lanes import Gate, LaneLog

from afterturn.streams.errors import LogCut, Stop
from afterturn.streams.kafka import OutRecord
from afterturn.streams.lanes.queue import QueueLimits

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
