"""The world of a simulation: lanes that run the project's own writer, the log's side of it, and what must hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from support.memory_store import MemoryStore, pause
from support.naive_model import naive_fold
from support.turn_logs import PARTITION, SETTINGS, Mix
from support.whole_log import WholeLog

from afterturn.consumers.recorder.announcing import Announcer, Finished
from afterturn.consumers.recorder.cutting import BatchLimits
from afterturn.consumers.recorder.decoding import decode
from afterturn.consumers.recorder.writer import PartitionWriter
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedded
from afterturn.schemas.points import Memory, StoredPoint, TenantState
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Buried, Reopen, Retry
from afterturn.streams.records import OutRecord, Record
from afterturn.streams.topics import TopicNames

LIMITS = BatchLimits(points=7)
MIX = Mix(repeated=15, conflicting=4, poison=5, misrouted=3, long=20, replayed=0)
"""No replays: one stands in a log only after its dead letter was committed, which logs made beforehand can't heed."""
Points = dict[str, StoredPoint]


class Flat:
    """An embedder that finds all texts alike."""

    name = slug = "none"
    dimension = 1

    async def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded([[1.0] for _ in texts], 0, 1)

    async def embed_query(self, text: str) -> list[float]:
        raise NotImplementedError(f"a writer asks nothing: {len(text)} characters")

    async def close(self) -> None:
        """Nothing is open."""


ZOMBIE_BOUND = 40
"""Steps of a run after which a lane that was paused reopens before it writes; a write travels no longer."""


class Stale(Reopen):
    """The lane was paused for longer than the zombie bound."""


@dataclass
class Kafka:
    """What the log's side knows: who may commit, how far it is, what was published, and what was given up."""

    owner: int = -1
    committed: int = 0
    published: list[tuple[int, OutRecord]] = field(default_factory=list)
    dead: set[int] = field(default_factory=set)


@dataclass
class World:
    """One run: the log, the store, the lanes, and what the fold of every prefix of the log is.

    ``doomed`` are the offsets of records that some lanes find refused; ``now`` counts steps.
    """

    rng: Random
    log: list[Record]
    store: MemoryStore
    states: list[Points]
    announced: list[tuple[int, OutRecord]]
    kafka: Kafka = field(default_factory=Kafka)
    doomed: frozenset[int] = frozenset()
    heeds_zombies: bool = True
    now: int = 0
    reopened: int = 0
    checked: int = -1

    @property
    def end(self) -> int:
        return self.log[-1].offset + 1

    def writer(self) -> PartitionWriter:
        announcer = Announcer(TopicNames(), SETTINGS)
        return PartitionWriter(PARTITION, cast("WriteStore", self.store), Flat(), SETTINGS, announcer, LIMITS)

    def give_up(self, offset: int, outgoing: Sequence[OutRecord]) -> None:
        """Commit a record as a dead letter: from here on the log folds to something else."""
        self.kafka.dead.add(offset)
        self.kafka.published += [(offset, out) for out in outgoing]
        self.kafka.committed = max(self.kafka.committed, offset + 1)
        self.states, self.announced = folded(self.log, dead=frozenset(self.kafka.dead))
        self.checked = -1


# The lanes


class _Beat:
    """When a lane last polled, as it believes: it polls whenever it goes on."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._last = self.opened = world.now
        self._stale = False

    def polls(self) -> None:
        self._stale = self._stale or self._world.now - self._last > ZOMBIE_BOUND
        self._last = self._world.now

    def still_ours(self) -> None:
        self.polls()
        if self._stale and self._world.heeds_zombies:
            raise Stale


async def lane(world: World, name: int) -> None:
    """A lane, from its first opening until another owner has fenced it."""
    while True:
        world.kafka.owner = name
        await pause()
        writer, beat = world.writer(), _Beat(world)
        try:
            at = (await writer.open()).next
            await pause()
            await _work(world, name, writer, at, beat)
        except Retry:
            await pause()
        except Reopen:
            world.reopened += 1
            await pause()
        else:
            return


async def _work(world: World, name: int, writer: PartitionWriter, at: int, beat: _Beat) -> None:
    committed = world.kafka.committed
    writer.heed(frozenset(world.kafka.dead.intersection(range(at, committed))))
    # Each lane finds for itself which records are refused: that is no function of the record.
    refused = {offset for offset in world.doomed if world.rng.random() < 0.6} - world.kafka.dead
    position = min(committed, at)
    while True:
        beat.polls()
        records = [r for r in world.log if r.offset >= position][: world.rng.randint(1, 3)]
        if not records:
            await pause()
            continue
        if records[0].offset in refused and records[0].offset >= max(at, committed):
            await _give_up(world, name, writer, records[0], beat)
            continue
        records = records[: next((n for n, r in enumerate(records) if n and r.offset in refused), len(records))]
        try:
            applied = await writer.apply(records, beat.still_ours)
        except Retry:
            await pause()
            continue
        await pause()
        if world.kafka.owner != name:
            return
        world.kafka.published += [(o, out) for o, out in applied.outgoing if o >= committed]
        world.kafka.committed = max(world.kafka.committed, applied.next)
        position = applied.next


async def _give_up(world: World, name: int, writer: PartitionWriter, record: Record, beat: _Beat) -> None:
    """Wait until no earlier owner can be writing, then give the record up; return where that can't be done."""
    while world.heeds_zombies and world.now - beat.opened <= 2 * ZOMBIE_BOUND:
        await pause()
        beat.polls()
    outgoing = await writer.bury(record, "refused", "ContractError", 1)
    await pause()
    beat.still_ours()
    if world.kafka.owner != name:
        raise Stale
    if outgoing and record.offset >= world.kafka.committed:
        world.give_up(record.offset, outgoing)
        raise Buried(record.partition, record.offset, "refused")
    world.doomed -= {record.offset}
    raise Stale


# What must hold


def folded(
    log: Sequence[Record], fold: FoldSettings = SETTINGS, dead: frozenset[int] = frozenset()
) -> tuple[list[Points], list[tuple[int, OutRecord]]]:
    """The fold of every prefix of a log, and what a lane that meets no trouble announces."""
    states: list[Points] = [{}]
    announced: list[tuple[int, OutRecord]] = []
    announcer = Announcer(TopicNames(), fold)
    whole = WholeLog(fold)
    for record in log:
        item = decode(record, fold)
        told = len(whole.decisions)
        states.append(dict(whole.take([item], dead).points))
        announced += announcer.announce([item], Finished(tuple(whole.decisions[told:])), {}).outgoing
    return states, announced


def check(world: World) -> None:
    """Where no write is landing, the store is the fold up to its checkpoint.

    Only the chunks of one interrupted command may stand beyond it: what it inserted, and what it has changed or removed
    already, each as the command leaves it.
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
            assert not isinstance(point, TenantState), "a tenant's state beyond the checkpoint"
            left = world.states[done + 1][id_].payload()
            assert point.payload() == left or (isinstance(point, Memory) and point.outcome is None)
            if point.born == point.rev:
                del found[id_]
            else:
                found[id_] = expected[id_]
    for id_ in expected.keys() - found.keys():
        assert done < len(world.log), "removed, and there is no next command"
        assert id_ not in world.states[done + 1], "removed, and not by the next command"
        found[id_] = expected[id_]
    assert found == expected, f"the store is not the fold up to {following}"
    assert not store.spoilt, "marked as spoilt"


def check_end(world: World) -> None:
    """Everything was folded, as the naive model folds it, and announced exactly once."""
    assert world.kafka.committed == world.end, "not drained"
    check(world)
    naive = naive_fold(world.log, SETTINGS, dead=dict.fromkeys(world.kafka.dead, "refused")).points
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
        told = {
            "afterturn_reason",
            "afterturn_place",
            "afterturn_problem",
        }  # at run time less is known than in the fold
        return offset, out.topic, str([each for each in out.headers if each[0] not in told])
    said = json.loads(out.value or b"{}")
    return offset, out.topic, str([said | {"ms": 0, "usage": None, "unembedded": 0}, dict(out.headers)["ce_id"]])
