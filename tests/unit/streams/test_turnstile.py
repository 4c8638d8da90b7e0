"""The turnstile: side by side or alone, and nobody waits for ever."""

from __future__ import annotations

import asyncio
import random

import pytest

from afterturn.streams.lanes.turnstile import Turnstile


@pytest.mark.parametrize("seed", range(20))
async def test_whoever_is_alone_is_alone_and_all_get_their_turn(seed: int) -> None:
    rng, turnstile = random.Random(seed), Turnstile()
    beside = alone = most = done = 0

    async def work(*, by_itself: bool) -> None:
        nonlocal beside, alone, most, done
        for _ in range(5):
            async with turnstile.alone() if by_itself else turnstile.beside():
                beside, alone = beside + (not by_itself), alone + by_itself
                for _ in range(rng.randint(0, 3)):
                    assert alone <= 1
                    assert not (alone and beside)
                    most = max(most, beside)
                    await asyncio.sleep(0)
                beside, alone = beside - (not by_itself), alone - by_itself
            done += 1
            await asyncio.sleep(0)

    await asyncio.wait_for(asyncio.gather(*(work(by_itself=n < 2) for n in range(6))), 10)
    assert done == 30
    assert most > 1, "the others work side by side"


async def test_who_waits_to_be_alone_goes_before_who_comes_later() -> None:
    turnstile, order = Turnstile(), []

    async def enter(name: str, *, by_itself: bool) -> None:
        async with turnstile.alone() if by_itself else turnstile.beside():
            order.append(name)

    async with turnstile.beside():
        waiting = [asyncio.create_task(enter("alone", by_itself=True))]
        await asyncio.sleep(0)
        waiting.append(asyncio.create_task(enter("late", by_itself=False)))
        await asyncio.sleep(0)
        assert order == []
    await asyncio.wait_for(asyncio.gather(*waiting), 10)
    assert order == ["alone", "late"]


async def test_who_gives_up_waiting_holds_nobody_up() -> None:
    turnstile = Turnstile()
    async with turnstile.beside():
        gives_up = asyncio.create_task(turnstile.alone().__aenter__())
        await asyncio.sleep(0)
        gives_up.cancel()
        await asyncio.wait({gives_up})
        async with asyncio.timeout(5), turnstile.beside():
            pass
