"""Recorders whose clocks are an hour off, both ways: what they write is the same."""

from __future__ import annotations

from pathlib import Path

from faults.registry import scenario
from faults.world import World

_PLACES = (
    "/usr/lib/*/faketime/libfaketimeMT.so.1",
    "/usr/lib*/faketime/libfaketimeMT.so.1",
    "/usr/local/lib/faketime/libfaketimeMT.so.1",
)

_ONE = {"AFTERTURN_RECORDER_INSTANCE_ID": "the-one"}


def _library() -> Path | None:
    return next((found for place in _PLACES for found in Path("/").glob(place.removeprefix("/"))), None)


@scenario(
    "clocks-an-hour-off", missing=lambda: None if _library() else "there is no libfaketime (apt install libfaketime)"
)
async def clocks_an_hour_off(world: World) -> None:
    """A recorder an hour ahead is killed, one an hour behind goes on, then one an hour ahead again."""
    library = _library()
    assert library is not None
    ahead, behind = (
        {"LD_PRELOAD": str(library), "FAKETIME": by, "FAKETIME_DONT_FAKE_MONOTONIC": "1"} for by in ("+1h", "-1h")
    )
    world.begin()
    for share, clock in ((0.3, ahead), (0.6, behind), (0.8, ahead)):
        recorder = await world.recorder(_ONE | clock)
        await world.at(share)
        recorder.kill()
    await world.recorder(_ONE | behind)
    await world.finish()
