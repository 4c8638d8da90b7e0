"""What must hold of lanes, whatever happened."""

from __future__ import annotations

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import Refused
from afterturn.streams.kafka import LogReader, Record
from afterturn.streams.lanes.keeper import Patience
from support.lanes import LaneLog, Member


async def all_applied(lanes: LaneLog, counts: dict[int, int]) -> None:
    """Every record up to these ends was applied in order, is committed, and was announced once."""
    assert {p: lanes.shelves.applied[p] for p in counts} == {p: list(range(n)) for p, n in counts.items()}
    await lanes.committed_is(counts)
    await lanes.announced({p: range(n) for p, n in counts.items()})


QUICK = Backoff(first=0.01, cap=0.05)
SOON = 1.5
"""A short zombie bound: nothing is given up before twice as much has passed since the opening."""
PATIENCE = Patience(retry=QUICK, refused=QUICK, reopen=QUICK, own_fault=0.3)


class Refusal(Refused):
    """What a store says that takes this record never."""

    def __init__(self) -> None:
        super().__init__("it is refused", dependency="store")


async def letters(lanes: LaneLog, partition: int) -> list[Record]:
    """The dead letters of a partition."""
    found: list[Record] = []
    async with LogReader(lanes.log.settings, lanes.shelves.letters) as reader:
        end = (await reader.end_offsets([partition]))[partition]
        await reader.assign({partition: 0})
        while await reader.position(partition) < end:
            found += (await reader.getmany(timeout=0.1)).get(partition, [])
    return found


async def buried(lanes: LaneLog, partition: int) -> list[tuple[int, str, int]]:
    """Of each dead letter: the offset of its record, the reason, the attempts."""
    said = [{name: value.decode() for name, value in letter.headers} for letter in await letters(lanes, partition)]
    return [(int(s["afterturn_offset"]), s["afterturn_reason"], int(s["afterturn_attempts"])) for s in said]


async def reached(member: Member, lanes: LaneLog, partition: int, end: int) -> None:
    await member.until(lanes.shelves.reach({partition: end}))
    await lanes.committed_is({partition: end})
