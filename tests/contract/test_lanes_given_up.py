"""What lanes do about records that the store refuses: who is given up, who is not, and when a lane waits instead."""

from __future__ import annotations

from support.lane_checks import PATIENCE, SOON, Refusal, buried, reached
from support.lanes import LaneLog

from afterturn.streams.errors import Buried, Retry


async def test_a_refused_record_becomes_a_dead_letter_alone_and_the_others_are_applied(lanes: LaneLog) -> None:
    """I-14: out of tries it is at an end, and the lag drops."""
    await lanes.fill({0: 30, 1: 30})
    lanes.shelves.poison[9] = Refusal()
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 30)
        await reached(member, lanes, 1, 30)
    assert await buried(lanes, 0) == [(9, "refused", PATIENCE.bounds.attempts)]
    assert await buried(lanes, 1) == [(9, "refused", PATIENCE.bounds.attempts)]
    others = [offset for offset in range(30) if offset != 9]
    assert lanes.shelves.applied[0] == lanes.shelves.applied[1] == others
    await lanes.announced({0: others, 1: others})
    assert [type(error) for _, error in member.told.reopenings] == [Buried, Buried]
    assert (0, frozenset({9})) in lanes.shelves.heeded, "the next opening heals over it"


async def test_nothing_is_given_up_while_an_earlier_owner_may_be_writing_it(lanes: LaneLog) -> None:
    await lanes.fill({0: 5})
    lanes.shelves.poison[2] = Refusal()
    async with lanes.member(zombie_bound=3_600.0, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) == 3 * PATIENCE.bounds.attempts)
        assert not await buried(lanes, 0)
        lanes.shelves.poison.clear()
        await reached(member, lanes, 0, 5)


async def test_the_first_record_and_two_in_a_row_become_dead_letters(lanes: LaneLog) -> None:
    await lanes.fill({0: 12})
    lanes.shelves.poison |= {0: Refusal(), 5: Refusal(), 6: Refusal()}
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 12)
    assert [offset for offset, *_ in await buried(lanes, 0)] == [0, 5, 6]
    assert lanes.shelves.applied[0] == [1, 2, 3, 4, 7, 8, 9, 10, 11]


async def test_what_is_refused_while_nothing_is_well_is_never_given_up(lanes: LaneLog) -> None:
    """The store refuses the smallest write, too: that says nothing of the record."""
    await lanes.fill({0: 5})
    lanes.shelves.poison[2] = Refusal()
    lanes.shelves.disturb("count", 0, *[Retry("no space") for _ in range(30)])
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) == 30)
        assert not await buried(lanes, 0)
        lanes.shelves.poison.clear()
        await reached(member, lanes, 0, 5)
    assert lanes.shelves.applied[0] == [0, 1, 2, 3, 4]


async def test_a_store_that_is_away_is_waited_for_and_no_record_is_blamed(lanes: LaneLog) -> None:
    await lanes.fill({0: 5})
    lanes.shelves.poison[2] = Retry("away", dependency="store")
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) == 4 * PATIENCE.bounds.attempts)
        assert not await buried(lanes, 0)
        lanes.shelves.poison.clear()
        await reached(member, lanes, 0, 5)


async def test_a_lane_waits_where_record_after_record_is_refused(lanes: LaneLog) -> None:
    """Three records in a row are no publisher's fault: nothing more becomes a dead letter, until one is taken again."""
    await lanes.fill({0: 10})
    lanes.shelves.poison |= {offset: Refusal() for offset in range(2, 8)}
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.waitings) >= 2)
        given_up = [offset for offset, *_ in await buried(lanes, 0)]
        assert given_up == [2, 3, 4]
        lanes.shelves.poison.clear()
        lanes.shelves.poison |= {offset: Refusal() for offset in given_up}
        await reached(member, lanes, 0, 10)
    assert lanes.shelves.applied[0] == [0, 1, 5, 6, 7, 8, 9]
    assert len(await buried(lanes, 0)) == 3
    assert {partition for partition, _ in member.told.waitings} == {0}


async def test_a_record_whose_parts_have_landed_is_never_given_up(lanes: LaneLog) -> None:
    await lanes.fill({0: 5})
    lanes.shelves.poison[2] = Refusal()
    lanes.shelves.kept.add(2)
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) == 3 * PATIENCE.bounds.attempts)
        lanes.shelves.poison.clear()
        await reached(member, lanes, 0, 5)
    assert not await buried(lanes, 0)
    assert lanes.shelves.applied[0] == [0, 1, 2, 3, 4]


async def test_what_was_announced_before_is_never_given_up(lanes: LaneLog) -> None:
    """A store put back from a copy refuses what it once took: its outcome is told already."""
    await lanes.fill({0: 5})
    await lanes.commit(0, 4)
    lanes.shelves.poison[2] = Refusal()
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await member.until(lambda: len(member.told.retries) == 3 * PATIENCE.bounds.attempts)
        lanes.shelves.poison.clear()
        await reached(member, lanes, 0, 5)
    assert not await buried(lanes, 0)
    await lanes.announced({0: [4]})


async def test_a_store_put_back_heals_over_what_was_given_up(lanes: LaneLog) -> None:
    await lanes.fill({0: 8})
    lanes.shelves.poison[3] = Refusal()
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 8)
    lanes.shelves.put_back(0, 2)
    lanes.shelves.poison.clear()
    async with lanes.member(zombie_bound=SOON, patience=PATIENCE) as member:
        await reached(member, lanes, 0, 8)
    assert lanes.shelves.applied[0] == [0, 1, 2, 4, 5, 6, 7], "given up is given up, though it would be taken now"
    assert [offset for offset, *_ in await buried(lanes, 0)] == [3]
    await lanes.announced({0: [0, 1, 2, 4, 5, 6, 7]})
