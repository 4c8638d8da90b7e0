"""Lanes of one partition, interleaved at random: the write path's own parts over a store in memory.

Each lane is a coroutine that runs the project's own writer, from opening to the plan's chunks. At every point where it
would wait for something, another lane, a zombie or the store's queue may go on; lanes die, pause for long, give up
waiting, and copies of the store are put back. Whenever no write is landing, the store must hold exactly the fold of
the log up to the checkpoint; at the end every command has had its outcome event once.

    PYTHONPATH=tests python -m simulation.lanes_simulation --seeds 1000 [--without barrier|strays|conditional|states_last]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field, fields, replace
from random import Random
from typing import Any, cast
from unittest.mock import patch

from pydantic import ValidationError
from support.memory_store import ALL_RULES, MemoryStore, Rules, pause
from support.naive_model import naive_fold
from support.turn_logs import PARTITION, SETTINGS, Mix, draw_log

from afterturn.consumers.recorder import writer as writer_module
from afterturn.consumers.recorder.announcing import Announcer, Finished
from afterturn.consumers.recorder.cutting import BatchLimits, chunks
from afterturn.consumers.recorder.decoding import decode
from afterturn.consumers.recorder.plan import Plan, plan
from afterturn.consumers.recorder.view import Snapshot, TailTooShortError
from afterturn.consumers.recorder.writer import PartitionWriter
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedded
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Memory, StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Reopen, Retry, Stop
from afterturn.streams.records import OutRecord, Record
from afterturn.streams.topics import TopicNames

LIMITS = BatchLimits(points=7)
MIX = Mix(repeated=15, conflicting=4, poison=5, misrouted=3, long=20, replayed=0)
"""No replays: one stands in a log only after its dead letter was committed, which logs made beforehand can't heed."""
_BROKEN = (AssertionError, KeyError, Stop, TailTooShortError, ValidationError)
"""What a run comes to where a rule is off: a writer that meets what it cannot explain."""
Points = dict[str, StoredPoint]


class Flat:
    """An embedder that finds all texts alike."""

    name = slug = "none"
    dimension = 1

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded([[1.0] for _ in texts], 0, 1)


@dataclass
class Kafka:
    """What the log's side knows: who may commit, how far it is, and what was published."""

    owner: int = -1
    committed: int = 0
    published: list[tuple[int, OutRecord]] = field(default_factory=list)


@dataclass
class World:
    """One run: the log, the store, the lanes, and what the fold of every prefix of the log is."""

    rng: Random
    log: list[Record]
    store: MemoryStore
    states: list[Points]
    announced: list[tuple[int, OutRecord]]
    kafka: Kafka = field(default_factory=Kafka)
    reopened: int = 0
    checked: int = -1

    @property
    def end(self) -> int:
        return self.log[-1].offset + 1

    def writer(self) -> PartitionWriter:
        announcer = Announcer(TopicNames(), SETTINGS)
        return PartitionWriter(PARTITION, cast(WriteStore, self.store), Flat(), SETTINGS, announcer, LIMITS)


# The lanes


async def lane(world: World, name: int) -> None:
    """A lane, from its first opening until another owner has fenced it."""
    while True:
        world.kafka.owner = name
        await pause()
        writer = world.writer()
        try:
            at = await writer.open()
            await pause()
            await _work(world, name, writer, at)
        except Retry:
            await pause()
        except Reopen:
            world.reopened += 1
            await pause()
        else:
            return


async def _work(world: World, name: int, writer: PartitionWriter, at: int) -> None:
    committed = world.kafka.committed
    position = min(committed, at)
    while True:
        records = [r for r in world.log if r.offset >= position][: world.rng.randint(1, 3)]
        if not records:
            await pause()
            continue
        try:
            applied = await writer.apply(records, lambda: None)
        except Retry:
            await pause()
            continue
        await pause()
        if world.kafka.owner != name:
            return
        world.kafka.published += [(o, out) for o, out in applied.outgoing if o >= committed]
        world.kafka.committed = max(world.kafka.committed, applied.next)
        position = applied.next


# What must hold


def folded(log: Sequence[Record], fold: FoldSettings = SETTINGS) -> tuple[list[Points], list[tuple[int, OutRecord]]]:
    """The fold of every prefix of a log, and what a lane that meets no trouble announces."""
    states: list[Points] = [{}]
    announced: list[tuple[int, OutRecord]] = []
    announcer = Announcer(TopicNames(), fold)
    for record in log:
        item = decode(record, fold)
        step: Plan = plan(_whole(states[-1]), [item], fold)
        states.append({**states[-1], **step.points})
        announced += announcer.announce([item], Finished(step.decisions), 0).outgoing
    return states, announced


def _whole(points: Points) -> Snapshot:
    tails: dict[str, list[tuple[int, str]]] = {}
    for id_, point in points.items():
        if isinstance(point, Memory) and point.status in LIVE and point.evict_key is not None:
            tails.setdefault(point.tenant, []).append((point.evict_key, id_))
    return Snapshot(points, {tenant: [id_ for _, id_ in sorted(tail)] for tenant, tail in tails.items()})


def check(world: World) -> None:
    """Where no write is landing, the store is the fold up to its checkpoint.

    Only the chunks of one interrupted command may stand beyond it: what it inserted, and tombstones of what it evicts.
    """
    store = world.store
    if not store.quiet or world.checked == store.version:
        return
    world.checked = store.version
    checkpoint = store.checkpoints.get(PARTITION)
    following = checkpoint.next if checkpoint else 0
    done = sum(record.offset < following for record in world.log)
    expected = world.states[done]
    found = dict(store.content)
    for id_, point in store.content.items():
        if point.rev >= following:
            assert point.rev == world.log[done].offset, "a point of a command that is not the next"
            assert isinstance(point, Memory), "a state or a receipt beyond the checkpoint"
            assert point.payload() == world.states[done + 1][id_].payload() or point.outcome is None
            if point.born == point.rev:
                del found[id_]
            else:
                found[id_] = expected[id_]
    assert found == expected, f"the store is not the fold up to {following}"
    assert not store.spoilt, "marked as spoilt"


def check_end(world: World) -> None:
    """Everything was folded, as the naive model folds it, and announced exactly once."""
    assert world.kafka.committed == world.end, "not drained"
    check(world)
    naive = naive_fold(world.log, SETTINGS).points
    assert {i: _digestless(p.payload()) for i, p in world.store.content.items()} == {
        i: _digestless(p) for i, p in naive.items()
    }
    published = [_said(offset, out) for offset, out in world.kafka.published]
    assert sorted(published) == sorted(_said(offset, out) for offset, out in world.announced)


def _digestless(payload: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in payload.items() if name != "digest"}


def _said(offset: int, out: OutRecord) -> tuple[int, str, str]:
    """An event without what embedding and waiting came to, or a dead letter's headers."""
    if out.topic == TopicNames().dead_letter:
        return offset, out.topic, str(out.headers)
    said = json.loads(out.value or b"{}")
    return offset, out.topic, str([said | {"ms": 0, "usage": None, "unembedded": 0}, dict(out.headers)["ce_id"]])


# The runs


@dataclass
class _Actor:
    lane: Coroutine[Any, Any, None]
    paused: int = 0


def make_world(seed: int, rules: Rules = ALL_RULES) -> World:
    rng = Random(seed)
    log = draw_log(rng, rng.randint(6, 18), MIX, first=0)
    store = MemoryStore(rng=rng, rules=rules, scheduled=True, trouble=rng.choice((0, 0, 5, 30)))
    return World(rng, log, store, *folded(log))


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
    rng, actors, names = world.rng, list[_Actor](), 0
    copy = None
    together, speed, restless = rng.randint(1, 3), rng.choice((0.1, 0.3, 0.5)), rng.choice((0.01, 0.03, 0.06))
    for step in range(steps):
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
            if copy is None and rng.random() < 0.02:
                copy = (dict(world.store.content), dict(world.store.checkpoints))
            elif copy is not None and rng.random() < 0.01:
                for actor in actors:
                    actor.lane.close()
                actors.clear()
                world.store.content, world.store.checkpoints = copy
                world.store.version += 1
                copy = None
        if world.kafka.committed >= world.end and step > steps // 3:
            break
    for actor in actors:
        actor.lane.close()


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
    for _ in range(3_000):
        world.store.step()
        check(world)
        last.send(None)
        checkpoint = world.store.checkpoints.get(PARTITION)
        if checkpoint and checkpoint.next >= world.end <= world.kafka.committed and world.store.quiet:
            break
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
