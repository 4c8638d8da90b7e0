"""More than one recorder: zombies that come back, writes that come late, members that come and go."""

from __future__ import annotations

import asyncio

from faults.recorder import Recorder
from faults.registry import scenario
from faults.store_proxy import Call, Fate, StoreProxy
from faults.world import ZOMBIE, World
from support.log import until

from afterturn.schemas.commands import Collect

_GIVES_UP_NOBODY = "it never gives up a member that died"
_COLLECTS = {"AFTERTURN_RECORDER_COLLECT_AFTER": "2"}
_COLLECT = Collect.TYPE.encode()


@scenario("zombie", real=_GIVES_UP_NOBODY, seconds=30)
async def zombie(world: World) -> None:
    """A recorder stopped beyond its session and the zombie bound; another forgets, erases and collects meanwhile."""
    await _stopped_meanwhile(world, cut_behind=False)


@scenario("zombie-behind-the-cut", real=_GIVES_UP_NOBODY, seconds=30)
async def zombie_behind_the_cut(world: World) -> None:
    """The same, with the log cut beyond where the stopped one was."""
    await _stopped_meanwhile(world, cut_behind=True)


@scenario("late-write", real=_GIVES_UP_NOBODY, seconds=30)
async def late_write(world: World) -> None:
    """A recorder's write reaches the store only once another has gone on, forgotten and erased from there."""
    own = await world.another_proxy()
    first = await world.recorder({"QDRANT_URL": own.url}, stays=False)
    world.begin()
    await world.at(world.rng.uniform(0.2, 0.4))
    released = asyncio.Event()
    await _hold_a_write(world, own, first, released)
    await world.recorder(stays=False)
    await world.told()
    await world.drained()
    released.set()

    async def landed() -> bool:
        return own.held == 0

    await until(landed, world.form.patience)
    first.resume()
    await world.more(60)
    await world.finish()


@scenario("one-three-one", real=_GIVES_UP_NOBODY, seconds=30)
async def one_three_one(world: World) -> None:
    """Two more recorders come while the load goes on, and the first two leave in order."""
    first = await world.recorder(stays=False)
    world.begin()
    await world.at(0.15)
    second, _ = await asyncio.gather(world.recorder(stays=False), world.recorder(stays=False))
    await world.at(0.55)
    await asyncio.to_thread(first.finish)
    await world.at(0.75)
    await asyncio.to_thread(second.finish)
    await world.finish()


async def _stopped_meanwhile(world: World, *, cut_behind: bool) -> None:
    first = await world.recorder(_COLLECTS, stays=False)
    world.begin()
    await world.at(world.rng.uniform(0.3, 0.5))
    applied = await world.committed()
    first.stop()
    stopped = asyncio.get_running_loop().time()
    await world.recorder(_COLLECTS, stays=False)
    await world.told()
    await world.drained()
    await world.cut(await world.committed() if cut_behind else applied)
    await _collected(world)
    await asyncio.sleep(max(0.0, stopped + ZOMBIE + 1.0 - asyncio.get_running_loop().time()))
    first.resume()
    await world.more(60)
    await world.finish()


async def _hold_a_write(world: World, proxy: StoreProxy, recorder: Recorder, released: asyncio.Event) -> None:
    """Hold the recorder's next upsert and stop the recorder at it."""
    caught = asyncio.Event()

    def meddle(call: Call) -> Fate | None:
        if call.kind != "upsert" or caught.is_set():
            return None
        caught.set()
        recorder.stop()
        return Fate(held=released)

    proxy.meddling = meddle
    await world.working(caught.is_set)


async def _collected(world: World) -> None:
    """Work on until a collection stands on the log, and is applied."""

    async def so() -> bool:
        await world.more(4)
        log = await world.keeper.catch_up()
        return any(dict(r.headers).get("ce_type") == _COLLECT for records in log.values() for r in records)

    await until(so, world.form.patience)
    await world.drained()
