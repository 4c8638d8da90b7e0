"""A record that the store never takes, and one that kills the recorder each time: it is given up, and all goes on."""

from __future__ import annotations

import asyncio

from faults.recorder import Recorder
from faults.registry import scenario
from faults.store_proxy import Call, Fate
from faults.world import World
from support.load import LoadPublisher, Said
from support.log import until
from support.observing import read_log

from afterturn.schemas.commands import TurnCompleted

_WORDS = "what the store can never take"
_SOON = {"AFTERTURN_RECORDER_DRAIN": "3"}
"""Nothing is given up before twice as long as an earlier owner may take to end."""


@scenario("refused-for-ever", seconds=40)
async def refused_for_ever(world: World) -> None:
    """The store refuses whatever holds one turn: it becomes a dead letter, the rest is applied."""

    def refuse(call: Call) -> Fate | None:
        hopeless = call.kind == "upsert" and _WORDS.encode() in call.body
        return Fate(status=400, why="this can't be") if hopeless else None

    world.proxy.meddling = refuse
    await world.recorder(_SOON)
    await _given_up(world, "refused")


@scenario("deadly-record", seconds=100)
async def deadly_record(world: World) -> None:
    """The recorder dies whenever it comes to one turn, and is started again: after some deaths it is given up."""
    recorder = await world.recorder(_SOON)

    def die(call: Call) -> Fate | None:
        if call.kind != "upsert" or _WORDS.encode() not in call.body:
            return None
        recorder.kill()
        return Fate(reach=False)

    world.proxy.meddling = die
    supervising = asyncio.create_task(_supervised(recorder))
    try:
        await _given_up(world, "crash")
    finally:
        supervising.cancel()
        await asyncio.wait({supervising})


async def _given_up(world: World, reason: str) -> None:
    world.begin()
    await world.at(0.2)
    await _publish_hopeless(world)
    await _buried(world)
    promises = await world.finish()
    found = [why for partition in promises.seen.log for why in promises.seen.given_up(partition).values()]
    assert found == [reason]


async def _publish_hopeless(world: World) -> None:
    message = {"role": "user", "content": _WORDS}
    fields = {"tenant": "tenant-1", "thread": "t", "turn_id": "hopeless", "occurred_at": "2026-01-01T00:00:00Z"}
    async with LoadPublisher(world.client, world.service.topics) as publisher:
        await publisher.publish(Said(TurnCompleted.model_validate({**fields, "messages": [message]})))


async def _buried(world: World) -> None:
    async def so() -> bool:
        letters = await read_log(world.client, world.service.topics.dead_letter)
        reasons = {dict(each.headers)["afterturn_reason"] for found in letters.values() for each in found}
        return bool(reasons & {b"refused", b"crash"})

    await until(so, world.form.patience, tick=0.5)


async def _supervised(recorder: Recorder) -> None:
    """Start it again whenever it has died, as a supervisor does."""
    while True:
        if recorder.exit_code == -9:
            recorder.start(wait=False)
        await asyncio.sleep(0.1)
