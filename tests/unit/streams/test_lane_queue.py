"""A lane's queue: in offset order, never emptied of what was not committed, and full before it is large."""

from __future__ import annotations

import asyncio

from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.lanes.queue import LaneQueue, QueueLimits
from afterturn.streams.records import Record

LIMITS = QueueLimits(records=10, bytes=4_000)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("offer"), st.lists(st.integers(0, 900), max_size=8)),
        st.tuples(st.just("drop"), st.integers(0, 12)),
        st.tuples(st.just("clear"), st.just(0)),
    ),
    max_size=20,
)


def record(offset: int, size: int = 0) -> Record:
    return Record("t", 0, offset, 0, b"key", b"v" * size)


@given(STEPS)
async def test_it_holds_what_was_offered_and_not_dropped_and_knows_how_much_that_is(
    steps: list[tuple[str, list[int] | int]],
) -> None:
    queue, held, next_offset = LaneQueue(LIMITS), list[Record](), 0
    for step, value in steps:
        if isinstance(value, list):
            new = [record(next_offset + at, size) for at, size in enumerate(value)]
            next_offset += len(new)
            queue.offer(new)
            held += new
        elif step == "drop":
            below = (held[0].offset if held else 0) + value
            queue.drop_below(below)
            held = [each for each in held if each.offset >= below]
        else:
            queue.clear()
            held = []
        assert len(queue) == len(held)
        size = sum(len(each.value or b"") + len(each.key or b"") + 100 for each in held)
        assert queue.full == (len(held) >= LIMITS.records or size >= LIMITS.bytes)
        assert queue.low == (len(held) < LIMITS.records / 2 and size < LIMITS.bytes / 2)
        assert not (queue.full and queue.low)
        if held:
            assert await queue.head(3) == held[:3]
            assert await queue.head(1_000) == held, "looking takes nothing away"


async def test_the_head_of_an_empty_queue_waits_for_a_record() -> None:
    queue = LaneQueue(LIMITS)
    waiting = asyncio.create_task(queue.head(5))
    queue.offer([])
    queue.drop_below(7)
    queue.clear()
    await asyncio.wait({waiting}, timeout=0)
    assert not waiting.done()
    queue.offer([record(7), record(8)])
    assert [each.offset for each in await waiting] == [7, 8]
    queue.drop_below(9)
    again = asyncio.create_task(queue.head(5))
    await asyncio.wait({again}, timeout=0)
    assert not again.done()
    again.cancel()


def test_a_single_record_can_fill_a_queue() -> None:
    queue = LaneQueue(LIMITS)
    queue.offer([record(0, LIMITS.bytes)])
    assert queue.full
    queue.drop_below(1)
    assert queue.low
