"""What lanes do about deaths and openings without progress, and about committed offsets that were moved."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.lane_checks import PATIENCE, SOON, buried, reached
from support.lanes import Gate, LaneLog

from afterturn.streams.errors import ForeignWrite, LogCut, Retry
from afterturn.streams.lanes.caution import DEATHS, SUSPECT_OPENINGS, Bounds

# Openings without progress


async def dies(lanes: LaneLog, times: int, **changes: Any) -> None:
    """Run groups that end by a mistake of ours, as a process does that is killed."""
    for _ in range(times):
        async with lanes.member(ending=ValueError, zombie_bound=SOON, patience=PATIENCE, **changes) as member:
            assert isinstance(await member.ended(), ValueError)


async def test_a_record_that_ends_the_process_each_time_becomes_a_dead_letter(lanes: LaneLog) -> None:
    """I-13: deaths count, also those that nobody lives to tell of."""
    await lanes.fill({0: 12})
    lanes.shelves.poison[4] = ValueError("deadly")
    await dies(lanes, 1)
    assert lanes.shelves.checkpoints[0] == 0, "the batch of seven that it is in never lands"
    await dies(lanes, SUSPECT_OPENINGS - 2)
    assert lanes.shelves.checkpoints[0] == 0
    await dies(lanes, 1)
    assert lanes.shelves.checkpoints[0] > 0, "one record a batch: what stands before it lands"
    at = lanes.shelves.checkpoints[0]
    deaths = 0
    while lanes.shelves.checkpoints[0] < 4:
        await dies(lanes, 1)
        deaths += 1
        assert deaths < 3 * SUSPECT_OPENINGS, f"stuck at {at}"
    while lanes.shelves.counts[0][1] < DEATHS:
        await dies(lanes, 1)
        deaths += 1
        assert deaths < 6 * SUSPECT_OPENINGS
    assert not await buried(lanes, 0)
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 12)
    assert await buried(lanes, 0) == [(4, "crash", DEATHS)]
    assert lanes.shelves.applied[0] == [0, 1, 2, 3, 5, 6, 7, 8, 9, 10, 11]
    assert lanes.shelves.counts[0] == (0, 0), "progress takes the counts back"


async def test_suspect_lanes_take_turns_so_that_a_death_blames_one_of_them_only(lanes: LaneLog) -> None:
    await lanes.fill({0: 3, 1: 3})
    gates = {0: Gate(), 1: Gate()}
    for partition, gate in gates.items():
        lanes.shelves.counts[partition] = (SUSPECT_OPENINGS + 5, DEATHS - 2)
        lanes.shelves.disturb("write", partition, gate)
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: {0, 1} <= member.group.taking)
        await member.until(lambda: any(gate.reached for gate in gates.values()))
        for _ in range(5):
            await member.polls()
        (first,) = [partition for partition, gate in gates.items() if gate.reached]
        assert lanes.shelves.counts[first] == (SUSPECT_OPENINGS + 6, DEATHS - 1), "begun, and so it is the one"
        assert lanes.shelves.counts[1 - first] == (SUSPECT_OPENINGS + 6, DEATHS - 2)
        for gate in gates.values():
            gate.open()
        await reached(member, lanes, 0, 3)
        await reached(member, lanes, 1, 3)
    assert not await buried(lanes, 0)
    assert not await buried(lanes, 1)


async def test_while_a_suspect_lane_is_at_work_no_other_is(lanes: LaneLog) -> None:
    """Or another's deadly record would blame the one that happens to be begun."""
    await lanes.fill({0: 3, 1: 3})
    suspect, other = Gate(), Gate()
    lanes.shelves.counts[0] = (SUSPECT_OPENINGS, 0)
    lanes.shelves.disturb("count", 0, suspect)  # it is about to say that it begins
    lanes.shelves.disturb("write", 1, other)
    async with lanes.member(zombie_bound=60.0, patience=PATIENCE) as member:
        await member.until(lambda: suspect.reached or other.reached)
        for _ in range(5):
            await member.polls()
        assert not (suspect.reached and other.reached), "either it is alone, or it has not begun"
        other.open()
        suspect.open()
        await reached(member, lanes, 0, 3)
        await reached(member, lanes, 1, 3)


async def test_an_orderly_end_and_a_reopening_take_their_opening_back(lanes: LaneLog) -> None:
    await lanes.fill({0: 3})
    lanes.shelves.disturb("write", 0, *[Retry("away") for _ in range(1_000)])
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) >= 2)
        assert lanes.shelves.counts[0] == (1, 0)
        await member.end()
    assert lanes.shelves.counts[0] == (0, 0)


async def test_a_death_is_counted(lanes: LaneLog) -> None:
    await lanes.fill({0: 3})
    lanes.shelves.poison[1] = ValueError("a mistake of ours")
    await dies(lanes, 2)
    assert lanes.shelves.counts[0] == (2, 0)


async def test_a_fenced_lane_leaves_the_count_to_its_follower(lanes: LaneLog) -> None:
    await lanes.fill({0: 3})
    lanes.shelves.disturb("write", 0, ForeignWrite(0, 0, 1))
    seen: list[tuple[int, int]] = []

    async def look(_: object) -> None:
        seen.append(lanes.shelves.counts[0])

    lanes.shelves.disturb("write", 0, look)
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 3)
    assert seen == [(2, 0)]


# Offsets that were moved


@pytest.mark.parametrize("dies", [True, False])
async def test_a_committed_offset_that_was_set_back_publishes_nothing_twice(lanes: LaneLog, dies: bool) -> None:
    """Replayed from the start, nothing is told again; after a death the last batch may be, since nobody knows."""
    await lanes.fill({0: 20})
    async with lanes.member() as member:
        await reached(member, lanes, 0, 20)
        last = lanes.shelves.told[0]
        assert last >= 13, "all but the last batch"
    if dies:
        lanes.shelves.told[0] = last
    else:
        assert lanes.shelves.told[0] == 20, "an orderly end says so"
    await lanes.commit(0, 0)
    async with lanes.member() as member:
        await member.until(lambda: bool(member.told.moves))
        await lanes.committed_is({0: 20})
    assert [(p, committed) for p, committed, _ in member.told.moves] == [(0, 0)]
    assert lanes.shelves.applied[0] == list(range(20))
    await lanes.announced({0: [*range(20), *(range(last, 20) if dies else ())]})


async def test_a_store_is_made_anew_from_a_log_without_telling_it_again(lanes: LaneLog) -> None:
    await lanes.fill({0: 9, 1: 4})
    async with lanes.member(rebuild=True) as member:
        await reached(member, lanes, 0, 9)
        await reached(member, lanes, 1, 4)
        await lanes.announced({0: [], 1: []})
        await lanes.fill({0: 2})
        await reached(member, lanes, 0, 11)
    assert lanes.shelves.applied[0] == list(range(11))
    await lanes.announced({0: [9, 10], 1: []})


async def test_a_rebuild_leaves_a_store_that_has_a_checkpoint_as_it_is(lanes: LaneLog) -> None:
    await lanes.fill({0: 9})
    lanes.shelves.checkpoints[0] = 4
    async with lanes.member(rebuild=True) as member:
        await reached(member, lanes, 0, 9)
    assert lanes.shelves.applied[0] == [4, 5, 6, 7, 8]
    await lanes.announced({0: [4, 5, 6, 7, 8]})


@pytest.mark.parametrize(("committed", "checkpoint", "applied"), [(2, 3, [5, 6, 7]), (6, 3, [5, 6, 7]), (2, 6, [6, 7])])
async def test_a_gap_is_accepted_where_an_operator_says_so(
    lanes: LaneLog, committed: int, checkpoint: int, applied: list[int]
) -> None:
    await lanes.fill({1: 8})
    await lanes.commit(1, committed)
    lanes.shelves.checkpoints[1] = checkpoint
    await lanes.log.cut(1, 5)
    async with lanes.member(ending=LogCut) as member:
        error = await member.ended()
    assert isinstance(error, LogCut)
    assert "--accept-gap" in str(error)
    async with lanes.member(accept_gap=True) as member:
        await reached(member, lanes, 1, 8)
    assert lanes.shelves.applied[1] == applied
    await lanes.announced({1: [offset for offset in (5, 6, 7) if offset >= committed]})


async def test_a_lane_whose_position_was_cut_off_opens_anew_and_another_went_on(lanes: LaneLog) -> None:
    """It stood still while another folded all in, and the log was cut behind that one."""
    await lanes.fill({1: 20})
    gate = Gate()
    lanes.shelves.disturb("write", 1, gate)
    async with lanes.member(patience=PATIENCE) as member:
        await member.until(lambda: gate.reached)
        await lanes.commit(1, 20)
        lanes.shelves.put_back(1, 20)
        await lanes.log.cut(1, 15)
        member.group._consumer.seek(1, 2)
        await member.until(lambda: member.group._keepers[1].queue._failure is not None)
        gate.open()
        await member.until(lambda: (1, 20, 20) in member.told.openings)
        await lanes.fill({1: 3})
        await reached(member, lanes, 1, 23)
    assert lanes.shelves.applied[1][-3:] == [20, 21, 22]


async def test_more_records_are_waited_for_where_that_is_set(lanes: LaneLog) -> None:
    """A batch is taken once the wait is over, with all that came meanwhile."""
    async with lanes.member(wait=0.5) as member:
        await member.until(lambda: 0 in member.group.taking)
        await asyncio.gather(*(lanes.fill({0: 1}) for _ in range(3)))
        await reached(member, lanes, 0, 3)
    assert [batch.next for batch in member.told.batches[0]] == [3]


def test_the_bounds_are_what_the_docs_say() -> None:
    assert Bounds() == Bounds(attempts=5, in_a_row=3)
    assert (SUSPECT_OPENINGS, DEATHS) == (3, 3)
