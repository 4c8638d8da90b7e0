"""Lanes of one partition, interleaved at random: the write path's own parts over a store in memory.

Each lane is a coroutine that runs the project's own writer, from opening to the plan's chunks. At every point where it
would wait for something, another lane, a zombie or the store's queue may go on; lanes die, pause for long, give up
waiting, and copies of the store are put back. Whenever no write is landing, the store must hold exactly the fold of
the log up to the checkpoint; at the end every command has had its outcome event once.

    PYTHONPATH=tests python -m simulation.lanes_simulation --seeds 1000 --restore
    PYTHONPATH=tests python -m simulation.lanes_simulation --without barrier
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, fields, replace
from random import Random
from typing import Any
from unittest.mock import patch

from pydantic import ValidationError
from simulation.simulated_world import LIMITS, MIX, ZOMBIE_BOUND, Points, World, check, check_end, folded, lane
from support.memory_store import ALL_RULES, MemoryStore, Rules
from support.turn_logs import PARTITION, draw_log

from afterturn.consumers.recorder import writer as writer_module
from afterturn.consumers.recorder.cutting import BatchLimits, chunks
from afterturn.consumers.recorder.fold.view import TailTooShortError
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Stop

_BROKEN = (AssertionError, KeyError, Stop, TailTooShortError, ValidationError)
"""What a run comes to where a rule is off: a writer that meets what it cannot explain."""
_Copy = tuple[Points, dict[int, Checkpoint]]


@dataclass
class _Actor:
    lane: Coroutine[Any, Any, None]
    paused: int = 0


def make_world(seed: int, rules: Rules = ALL_RULES) -> World:
    rng = Random(seed)
    log = draw_log(rng, rng.randint(6, 18), MIX, first=0)
    store = MemoryStore(rng=rng, rules=rules, scheduled=True, trouble=rng.choice((0, 0, 5, 30)))
    flaky = rng.choice((0, 0.1, 0.3))
    doomed = frozenset(record.offset for record in log if rng.random() < flaky)
    return World(rng, log, store, *folded(log), doomed=doomed, heeds_zombies=rules.zombie_bound)


def run(seed: int, rules: Rules = ALL_RULES, *, restore: bool = False, steps: int = 2_500) -> World:
    """One run.

    Raises:
        AssertionError, KeyError, Stop, TailTooShortError, ValidationError: the write path did not hold.
    """
    world = make_world(seed, rules)
    with patch.object(writer_module, "chunks", chunks if rules.states_last else _states_first):
        _interleave(world, steps, restore=restore)
        _drain(world)
    check_end(world)
    return world


def _interleave(world: World, steps: int, *, restore: bool) -> None:
    """Let lanes, store and accidents go on in any order, until all is committed and a while has passed."""
    rng, actors, names = world.rng, list[_Actor](), 0
    together, speed, restless = rng.randint(1, 3), rng.choice((0.1, 0.3, 0.5)), rng.choice((0.01, 0.03, 0.06))
    copy: _Copy | None = None
    try:
        for step in range(steps):
            world.now += 1
            world.store.arrive(world.now, ZOMBIE_BOUND)
            if not actors or names < together or rng.random() < restless:
                actors.append(_Actor(lane(world, names)))
                names += 1
            if len(actors) > 3:
                actors.pop(0).lane.close()
            if rng.random() < speed:
                world.store.step()
                check(world)
            _advance(rng.choice(actors), actors, restless, rng)
            if restore and world.store.quiet:
                copy = _copied(world, actors, copy)
            if world.kafka.committed >= world.end and step > steps // 3:
                break
    finally:
        _stop(actors)


def _copied(world: World, actors: list[_Actor], copy: _Copy | None) -> _Copy | None:
    """Now and then take a copy of the store, or stop all lanes and put it back."""
    if copy is None:
        taken = world.rng.random() < 0.02
        return (dict(world.store.content), dict(world.store.checkpoints)) if taken else None
    if world.rng.random() >= 0.01:
        return copy
    _stop(actors)
    world.store.put_back(copy)
    return None


def _stop(actors: list[_Actor]) -> None:
    for actor in actors:
        actor.lane.close()
    actors.clear()


def _advance(actor: _Actor, actors: list[_Actor], restless: float, rng: Random) -> None:
    dice = rng.random()
    if dice < restless:
        actor.paused = rng.randint(10, 100)
    elif dice < 1.3 * restless:
        actor.lane.close()
        actors.remove(actor)
        return
    if actor.paused:
        actor.paused -= 1
        return
    try:
        actor.lane.send(None)
    except StopIteration:
        actors.remove(actor)


def _drain(world: World) -> None:
    """One lane alone, until all is committed."""
    world.store.trouble = 0
    last = lane(world, sys.maxsize)
    try:
        for _ in range(3_000):
            world.now += 1
            world.store.step()
            check(world)
            last.send(None)
            checkpoint = world.store.checkpoints.get(PARTITION)
            if checkpoint and checkpoint.next >= world.end <= world.kafka.committed and world.store.quiet:
                break
    finally:
        last.close()


def _states_first(
    writes: Sequence[PointWrite], receipt: str, fold: FoldSettings, limits: BatchLimits = LIMITS
) -> list[Sequence[PointWrite]]:
    *memories, last = chunks(writes, receipt, fold, limits)
    return [last, *memories] if memories else [last]


@dataclass(frozen=True)
class Tally:
    """How many of so many seeds failed, the first of them and its reason, and how often a lane opened anew."""

    seeds: int
    failed: int
    first: str | None
    reopened: int


def tally(seeds: Sequence[int], rules: Rules, *, restore: bool = False, stop: Callable[[int], bool] = bool) -> Tally:
    """Run seeds until ``stop`` says that so many have failed."""
    counts: Counter[str] = Counter()
    first = None
    for seed in seeds:
        counts["seeds"] += 1
        try:
            counts["reopened"] += run(seed, rules, restore=restore).reopened
        except _BROKEN as error:
            counts["failed"] += 1
            first = first or f"seed {seed}: {type(error).__name__}: {str(error)[:200]}"
            if stop(counts["failed"]):
                break
    return Tally(counts["seeds"], counts["failed"], first, counts["reopened"])


def main() -> None:
    """Run from the command line."""
    names = [f.name for f in fields(Rules)]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--without", choices=names)
    parser.add_argument("--restore", action="store_true")
    chosen = parser.parse_args()
    rules = replace(ALL_RULES, **{chosen.without: False}) if chosen.without else ALL_RULES
    seeds = range(chosen.first, chosen.first + chosen.seeds)
    found = tally(seeds, rules, restore=chosen.restore, stop=lambda _: False)
    print(found)
    sys.exit(bool(found.failed))


if __name__ == "__main__":
    main()
