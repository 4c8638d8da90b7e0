"""The store put back from an older copy: with the recorders stopped it heals, under a running one it stops it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from faults.registry import scenario
from faults.world import World


@scenario("copy-restored", seconds=25)
async def copy_restored(world: World) -> None:
    """The recorders stopped, an older copy put back: the store heals from the log, and nothing is told twice."""
    recorder = await world.recorder()
    world.begin()
    copy = await _copied(world, 0.4)
    await world.at(0.7)
    await asyncio.to_thread(recorder.finish)
    await _restored(world, copy)
    await asyncio.to_thread(recorder.start)
    await world.finish()


@scenario("copy-under-a-running-recorder", seconds=32)
async def copy_under_a_running_recorder(world: World) -> None:
    """It stops and says so; started again it stops again, until the copy is put back with the recorders stopped."""
    recorder = await world.recorder()
    world.begin()
    copy = await _copied(world, 0.3)
    await _restored(world, copy)
    said = await world.ended(recorder)
    assert "under a running recorder" in said
    recorder.start(wait=False)
    said = await world.ended(recorder)
    assert "spoilt" in said or "under a running recorder" in said
    await _restored(world, copy)
    await asyncio.to_thread(recorder.start)
    await world.finish()


async def _copied(world: World, share: float) -> Path:
    """A copy of the store's folder as it was about then, older than the store once this returns.

    The store is stopped for it, as an operator would.
    """
    await world.at(share)
    await asyncio.to_thread(world.store.stop)
    copy = world.folder / "copy"
    await asyncio.to_thread(shutil.copytree, world.store.data_dir, copy)
    await asyncio.to_thread(world.store.start)
    await world.advanced(await world.committed())
    return copy


async def _restored(world: World, copy: Path) -> None:
    await asyncio.to_thread(world.store.stop)
    await asyncio.to_thread(shutil.rmtree, world.store.data_dir)
    await asyncio.to_thread(shutil.copytree, copy, world.store.data_dir)
    await asyncio.to_thread(world.store.start)
