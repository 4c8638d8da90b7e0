"""Step 2 of the write path: read what a batch folds over, and prove that nobody else is writing.

A read is good when the checkpoint is what this lane last wrote and no point of the batch's tenants has a rev at or
beyond the batch's first. Anything else is another owner's write landing (wait for it, then look again), or what an
interrupted command of ours left behind.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol

from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.recorder.fold.removal import as_it_was
from afterturn.consumers.recorder.fold.sweeps import selects
from afterturn.consumers.recorder.fold.view import Snapshot, sources_of
from afterturn.consumers.recorder.wanted import forgotten_ids, ids_behind, ids_of, tail_sizes
from afterturn.schemas.commands import Command, Pin, Review, Revise
from afterturn.schemas.parts import LIVE, Status
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import ForeignWrite, Stop

_LEFT: tuple[Status, ...] = ("evicted", "deleted", "merged", "superseded")
"""What an interrupted command makes of memories that were there before it."""
_AGAIN = (Pin, Revise)
"""Commands that set what they name, whatever it was: what they have changed, they change again to the same."""


class Reads(Protocol):
    """What of the store a read needs."""

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Those of these points that exist."""
        ...

    async def tails(
        self, wanted: Mapping[str, int], first_rev: int, *, episodes: bool = False
    ) -> dict[str, dict[str, Memory]]:
        """Each tenant's lowest-ranked memories, or episodes, lowest first."""
        ...

    async def derived(self, tenant: str, ids: Iterable[str], first_rev: int) -> dict[str, Memory]:
        """A tenant's live memories made from any of these, and those from ``first_rev`` on whatever their state."""
        ...

    async def landing(
        self, partition: int, tenants: Iterable[str], first_rev: int
    ) -> tuple[Checkpoint | None, dict[str, StoredPoint]]:
        """The checkpoint, and these tenants' points at or beyond a rev."""
        ...

    async def settle(self, partition: int) -> None:
        """Return once every earlier write has landed."""
        ...

    async def mark_spoilt(self, partition: int) -> None:
        """Mark the partition's checkpoint as a copy that was put back under a running recorder."""
        ...


async def read(
    store: Reads, partition: int, batch: Sequence[Arrival | Rejected], fold: FoldSettings, at: int
) -> Snapshot:
    """What the batch folds over; ``at`` is the checkpoint this lane last wrote.

    Raises:
        ForeignWrite: another owner has moved the checkpoint on: reopen.
        Stop: the checkpoint is behind, or points stand beyond it that no command of ours leaves.
    """
    first = batch[0].rev
    commands = [item for item in batch if isinstance(item, Arrival)]
    # A selecting command sweeps over what an interrupted one of its own has left: only what it folds is looked at.
    beyond = first + 1 if commands and selects(commands[0].command) else first
    tenants = {command.tenant for command in commands if command.tenant}
    seen: set[tuple[str, int]] | None = None
    strays: dict[str, StoredPoint] = {}
    while True:
        found = await _read_once(_Own(store, partition), commands, fold, strays, first)
        checkpoint, strays = await store.landing(partition, tenants, beyond)
        await _check(store, partition, checkpoint, at)
        strays |= {id_: point for id_, point in found.points.items() if point.rev >= first}
        now = {(id_, point.rev) for id_, point in strays.items()}
        if not now or (seen is not None and now <= seen):
            return snapshot(found, strays, first, commands[0].command if commands else None)
        seen = now
        await store.settle(partition)


class _Own:
    """The points of one partition: an id that a command names may be another's, whose revs mean nothing here."""

    def __init__(self, store: Reads, partition: int) -> None:
        self._store = store
        self._partition = partition

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        found = await self._store.points(ids)
        return {id_: point for id_, point in found.items() if point.partition == self._partition}

    async def tails(
        self, wanted: Mapping[str, int], first: int, *, episodes: bool = False
    ) -> dict[str, dict[str, Memory]]:
        return await self._store.tails(wanted, first, episodes=episodes) if wanted else {}

    async def derived(self, tenant: str, ids: Collection[str], first: int) -> dict[str, Memory]:
        """What was made from these memories, and from those again."""
        found: dict[str, Memory] = {}
        frontier = ids
        while frontier:
            made = await self._store.derived(tenant, frontier, first)
            frontier = made.keys() - found.keys()
            found |= made
        return found


async def _read_once(
    store: _Own, commands: Sequence[Arrival], fold: FoldSettings, strays: Mapping[str, StoredPoint], first: int
) -> Snapshot:
    if not commands:
        return Snapshot()
    points = await store.points(ids_of(commands))
    asked: set[str] = set()
    while behind := ids_behind(points, commands) - asked:
        points |= await store.points(behind)
        asked |= behind
    derived: dict[str, Memory] = {}
    for tenant, ids in forgotten_ids(commands).items():
        derived |= await store.derived(tenant, ids, first)
    if sources := {id_ for memory in derived.values() for id_ in sources_of(memory)} - points.keys():
        points |= await store.points(sources)
    every, episodes = tail_sizes(points, commands, fold, strays)
    tails = await store.tails(every, first)
    episode_tails = await store.tails(episodes, first, episodes=True)
    merged: dict[str, StoredPoint] = {**points, **derived}
    for tail in (*tails.values(), *episode_tails.values()):
        merged.update(tail)
    return Snapshot(
        merged,
        {tenant: list(tail) for tenant, tail in tails.items()},
        {tenant: list(tail) for tenant, tail in episode_tails.items()},
        list(derived),
    )


def snapshot(
    found: Snapshot, strays: Mapping[str, StoredPoint], first: int, command: Command | None = None
) -> Snapshot:
    """The state at the checkpoint: what an interrupted command left is read as if it had not begun.

    Raises:
        Stop: a point stands at or beyond the batch that the batch's first command does not leave.
    """
    if not strays:
        return found
    merged = {**found.points, **strays}
    for id_, point in list(merged.items()):
        if point.rev >= first:
            before = before_interruption(point, first, command)
            if before is None:
                del merged[id_]
            else:
                merged[id_] = before
    return Snapshot(
        merged,
        {tenant: [id_ for id_ in tail if id_ in merged] for tenant, tail in found.tails.items()},
        {tenant: [id_ for id_ in tail if id_ in merged] for tenant, tail in found.episode_tails.items()},
        [id_ for id_ in found.derived if id_ in merged],
    )


def before_interruption(point: StoredPoint, first: int, command: Command | None = None) -> StoredPoint | None:
    """What a point was before the interrupted ``command`` at ``first``: None where that command inserted it.

    What it was is known as far as the command's outcome depends on it.

    Raises:
        Stop: where no interrupted command leaves such a point.
    """
    if point.born == first == point.rev:
        return None
    if isinstance(point, Memory) and point.rev == first and point.evict_key is not None:
        if isinstance(command, Review) and point.status != "superseded" and not point.cascade:
            return as_it_was(point).model_copy(update={"status": "candidate"})
        if isinstance(command, _AGAIN) and point.status in LIVE:
            return point
        if point.status in _LEFT:
            return as_it_was(point)
    raise Stop(
        f"Partition {point.partition} holds a point of rev {point.rev} beyond its checkpoint {first}: the store was "
        "written by something else, or restored under a running recorder.",
        command_that_helps="afterturn doctor",
    )


async def _check(store: Reads, partition: int, checkpoint: Checkpoint | None, at: int) -> None:
    found = checkpoint.next if checkpoint else None
    if found == at:
        return
    if found is not None and found > at:
        raise ForeignWrite(partition, at, found)
    if checkpoint is not None:
        await store.mark_spoilt(partition)
    raise Stop(
        f"The checkpoint of partition {partition} went back from {at} to {found}: the store was restored or emptied "
        "under a running recorder. Stop all recorders, restore it again, and start them.",
    )
