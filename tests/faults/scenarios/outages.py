"""Store and broker killed, away for a while, out of space, and calls that are held up or lost."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from faults.registry import scenario
from faults.store_proxy import Call, Fate, Meddling
from faults.world import World

_TIMEOUT = 0.6


@scenario("store-killed")
async def store_killed(world: World) -> None:
    """Kill -9 of the store three times; it comes back at once with its folder."""
    shares = sorted(world.rng.uniform(0.1, 1.0) for _ in range(3))
    await _killed(world, shares, world.store.kill, world.store.start)


@scenario("store-away", seconds=28)
async def store_away(world: World) -> None:
    """The store is gone for a while, and turns go on."""
    await _killed(world, [world.rng.uniform(0.1, 0.4)], world.store.kill, world.store.start, away=world.form.away)


@scenario("broker-killed", broker="own", seconds=35)
async def broker_killed(world: World) -> None:
    """Kill -9 of the broker twice; what it acknowledged is there when it is back."""
    shares = [world.rng.uniform(0.1, 0.4), world.rng.uniform(0.5, 0.9)]
    await _killed(world, shares, world.kafka.kill, world.kafka.restart)


@scenario("broker-away", broker="own", seconds=40)
async def broker_away(world: World) -> None:
    """The broker is gone for a while."""
    await _killed(world, [world.rng.uniform(0.1, 0.4)], world.kafka.kill, world.kafka.restart, away=world.form.away)


@scenario("answers-lost")
async def answers_lost(world: World) -> None:
    """Half of the store's calls are applied and their answers lost (I-65)."""
    await _meddled(world, lambda _: Fate(answer=False) if world.rng.random() < 0.5 else None)


@scenario("calls-late", seconds=25)
async def calls_late(world: World) -> None:
    """Writes reach the store after the recorder has given them up and gone on; others are lost, or slow."""

    def fate(call: Call) -> Fate | None:
        chance = world.rng.random()
        if call.kind == "upsert" and chance < 0.4:
            return Fate(before=_TIMEOUT + world.rng.uniform(0.1, 1.5))
        if chance < 0.1:
            return Fate(reach=False)
        return Fate(before=world.rng.uniform(0.0, 0.1)) if chance < 0.5 else None

    await _meddled(world, fate)
    assert world.proxy.late > 0


@scenario("no-space-told")
async def no_space_told(world: World) -> None:
    """The store says that it has no space, as Qdrant does; then it has some again."""
    await _no_space(world, _refusing)


@scenario("no-space")
async def no_space(world: World) -> None:
    """The store's process can't make a file longer; then it can again."""
    await _no_space(world, _limited)


async def _meddled(world: World, fate: Meddling) -> None:
    await world.recorder({"QDRANT_TIMEOUT": str(_TIMEOUT)})
    world.begin()
    await world.at(0.1)
    world.proxy.meddling = fate
    await world.at(0.8)
    world.proxy.meddling = None
    await world.finish()
    assert world.proxy.troubled.total() > 10, "the proxy had something to do"


async def _no_space(world: World, without: Callable[[World], Awaitable[None]]) -> None:
    await world.recorder()
    world.begin()
    await world.at(0.2)
    await without(world)
    await world.finish()


async def _refusing(world: World) -> None:
    def full(call: Call) -> Fate | None:
        return Fate(status=world.rng.choice((500, 507))) if call.kind in ("upsert", "opening") else None

    world.proxy.meddling = full
    await asyncio.sleep(world.form.away / 2)
    assert world.proxy.troubled["upsert"] > 1
    world.proxy.meddling = None


async def _limited(world: World) -> None:
    """Nothing of the store's process can grow; it may end over that, and is started again once there is space."""
    pid = world.store.pid
    assert pid is not None
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    await asyncio.sleep(world.form.away)
    with suppress(ProcessLookupError):
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    await asyncio.to_thread(world.store.start)


async def _killed(
    world: World, shares: Sequence[float], kill: Callable[[], None], start: Callable[[], None], *, away: float = 0.0
) -> None:
    """Kill it whenever so much of the load is published, and start it again once it was away for so long."""
    await world.recorder()
    world.begin()
    for share in shares:
        await world.at(share)
        kill()
        await asyncio.sleep(away)
        await asyncio.to_thread(start)
    await world.finish()
