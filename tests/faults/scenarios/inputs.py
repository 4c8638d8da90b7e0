"""What producers do: everything twice, other content under known keys, records that are none."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from faults.registry import scenario
from faults.world import World
from support.load import LoadPublisher


@scenario("two-producers")
async def two_producers(world: World) -> None:
    """Two producers publish the same turns and commands side by side; the recorder is killed meanwhile."""
    await _killed_once(world, asyncio.create_task(_twin(world)))


@scenario("other-contents")
async def other_contents(world: World) -> None:
    """Every turn comes again, and its key with other content."""
    world.load = replace(world.load, again=1)
    await _killed_once(world)


@scenario("poison-everywhere")
async def poison_everywhere(world: World) -> None:
    """With every turn a record that can't be decoded, and one under another tenant's key."""
    world.load = replace(world.load, poison=1)
    await _killed_once(world)


async def _killed_once(world: World, beside: asyncio.Task[None] | None = None) -> None:
    recorder = await world.recorder()
    world.begin()
    await world.at(world.rng.uniform(0.2, 0.8))
    await world.again(recorder)
    if beside is not None:
        await asyncio.wait_for(beside, world.form.patience)
    await world.finish()


async def _twin(world: World) -> None:
    async with LoadPublisher(world.client, world.service.topics) as publisher:
        for entry in world.load.entries():
            await publisher.publish(entry)
            await asyncio.sleep(0)
