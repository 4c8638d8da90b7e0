"""The recorder killed: at random, and at each numbered step of the write path."""

from __future__ import annotations

import asyncio
from typing import Literal

from aiokafka import AIOKafkaConsumer
from faults.recorder import Recorder
from faults.registry import scenario
from faults.store_proxy import Call, Kind, Trap
from faults.world import World

When = Literal["before", "after"]
_EITHER: tuple[When, When] = ("before", "after")
_READS: tuple[tuple[float, Kind], ...] = ((0.1, "read"), (0.3, "landing"), (0.5, "tails"))
_WRITES: tuple[tuple[float, When], ...] = ((0.1, "after"), (0.35, "before"), (0.6, "after"))


@scenario("kills-at-random")
async def at_random(world: World) -> None:
    """Kill -9 three times."""
    recorder = await world.recorder()
    world.begin()
    for share in sorted(world.rng.uniform(0.05, 1.0) for _ in range(3)):
        await world.at(share)
        await world.again(recorder)
    await world.finish()


@scenario("kills-while-reading")
async def while_reading(world: World) -> None:
    """Step 2: at the receipts, at the lowest-ranked memories, at what has landed."""
    recorder = await world.recorder()
    world.begin()
    for share, kind in _READS:
        await world.at(share)
        await _killed_at(world, recorder, kind, world.rng.choice(_EITHER))
    await world.finish()


@scenario("kills-while-writing")
async def while_writing(world: World) -> None:
    """Step 5: before the upsert reaches the store, and once it was applied but not told."""
    recorder = await world.recorder()
    world.begin()
    for share, when in _WRITES:
        await world.at(share)
        await _killed_at(world, recorder, "upsert", when)
    await world.finish()


@scenario("kills-while-planning")
async def while_planning(world: World) -> None:
    """Steps 3 and 4: between the last read and the upsert, some milliseconds after the one."""
    recorder = await world.recorder()
    world.begin()
    for share in (0.1, 0.35, 0.6):
        await world.at(share)
        await _killed_after_reading(world, recorder, world.rng.uniform(0.001, 0.012))
    await world.finish()


@scenario("kills-while-committing")
async def while_committing(world: World) -> None:
    """Step 6: as soon as an outcome event is on its topic, committed or not yet."""
    recorder = await world.recorder()
    world.begin()
    for share, isolation in ((0.1, "read_uncommitted"), (0.35, "read_committed"), (0.6, "read_uncommitted")):
        await world.at(share)
        await _killed_at_an_event(world, recorder, isolation)
    await world.finish()


@scenario("kills-while-opening")
async def while_opening(world: World) -> None:
    """A lane that opens: before and after its own small write, and then at a write again."""
    recorder = await world.recorder()
    world.begin()
    await world.at(0.2)
    await _killed_at(world, recorder, "upsert", "after", then_start=False)
    for when in _EITHER:
        trap = _trap(world, recorder, "opening", world.rng.randint(1, 3), when)
        recorder.start(wait=False)  # it may be killed before it answers
        await world.working(trap.sprung.is_set)
    await asyncio.to_thread(recorder.start)
    await world.finish()


def _trap(world: World, recorder: Recorder, kind: Kind, nth: int, when: When) -> Trap:
    async def kill() -> None:
        recorder.kill()

    return world.proxy.trap(Trap(kind, nth, when, kill))


async def _killed_at(world: World, recorder: Recorder, kind: Kind, when: When, *, then_start: bool = True) -> None:
    trap = _trap(world, recorder, kind, world.rng.randint(1, 4), when)
    await world.working(trap.sprung.is_set)
    if then_start:
        await asyncio.to_thread(recorder.start)


async def _killed_after_reading(world: World, recorder: Recorder, seconds: float) -> None:
    killed = asyncio.Event()

    def kill() -> None:
        recorder.kill()
        killed.set()

    def read(call: Call) -> None:
        if call.kind == "landing" and not killed.is_set():
            world.proxy.meddling = None
            asyncio.get_running_loop().call_later(seconds, kill)

    world.proxy.meddling = read
    await world.working(killed.is_set)
    await asyncio.to_thread(recorder.start)


async def _killed_at_an_event(world: World, recorder: Recorder, isolation: str) -> None:
    events = AIOKafkaConsumer(
        world.service.topics.memory_events,
        bootstrap_servers=world.kafka.bootstrap,
        isolation_level=isolation,
        auto_offset_reset="latest",
        fetch_max_wait_ms=100,
    )
    await events.start()
    try:
        event = asyncio.ensure_future(events.getone())
        event.add_done_callback(lambda _: recorder.kill())
        await world.working(event.done)
    finally:
        await events.stop()
    await asyncio.to_thread(recorder.start)
