"""Step 2 of the write path: read what a batch folds over, and prove that nobody else is writing.

A read is good when the checkpoint is what this lane last wrote and no point of the batch's tenants has a rev at or
beyond the batch's first. Anything else is another owner's write landing (wait for it, then look again), or what an
interrupted command of ours left behind.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.recorder.turns import count_parts
from afterturn.consumers.recorder.view import Snapshot
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.ids import tenant_id, thread_id
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint, TenantState
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import ForeignWrite, Stop


class Reads(Protocol):
    """What of the store a read needs."""

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Those of these points that exist."""
        ...

    async def tails(self, wanted: Mapping[str, int], first_rev: int) -> dict[str, dict[str, Memory]]:
        """Each tenant's lowest-ranked memories, lowest first."""
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
    tenants = {command.tenant for command in commands}
    seen: set[tuple[str, int]] | None = None
    strays: dict[str, StoredPoint] = {}
    while True:
        points = await store.points(ids_of(commands)) if commands else {}
        wanted = tail_sizes(points, commands, fold, strays)
        tails = await store.tails(wanted, first) if wanted else {}
        checkpoint, strays = await store.landing(partition, tenants, first)
        await _check(store, partition, checkpoint, at)
        now = {(id_, point.rev) for id_, point in strays.items()}
        if not now or (seen is not None and now <= seen):
            return snapshot(points, tails, strays, first)
        seen = now
        await store.settle(partition)


def ids_of(batch: Sequence[Arrival]) -> set[str]:
    """The points a batch names: receipts, and the states of its tenants and threads."""
    ids: set[str] = set()
    for arrival in batch:
        ids.add(arrival.receipt)
        ids.add(tenant_id(arrival.tenant))
        if isinstance(arrival.command, TurnCompleted):
            ids.add(thread_id(arrival.tenant, arrival.command.scope, arrival.command.thread))
    return ids


def tail_sizes(
    points: Mapping[str, StoredPoint],
    batch: Sequence[Arrival],
    fold: FoldSettings,
    strays: Mapping[str, StoredPoint],
) -> dict[str, int]:
    """How many eviction candidates to read of each tenant that the batch may bring beyond its bound.

    As many as the batch adds, and one more for each stray, since a stray may take a candidate's place in the read.
    """
    added: Counter[str] = Counter()
    for arrival in batch:
        if isinstance(arrival.command, TurnCompleted):
            state = points.get(tenant_id(arrival.tenant))
            recording = state.settings.recording if isinstance(state, TenantState) else None
            added[arrival.tenant] += count_parts(arrival.command, recording or fold.recording)
    stray = Counter(point.tenant for point in strays.values())
    sizes: dict[str, int] = {}
    for tenant, count in added.items():
        state = points.get(tenant_id(tenant))
        if isinstance(state, TenantState):
            bound = (state.settings.bounds or fold.bounds).max_memories
            if state.live + count > bound:
                sizes[tenant] = max(count, state.live + count - bound) + stray[tenant]
    return sizes


def snapshot(
    points: Mapping[str, StoredPoint],
    tails: Mapping[str, Mapping[str, Memory]],
    strays: Mapping[str, StoredPoint],
    first: int,
) -> Snapshot:
    """The state at the checkpoint: what an interrupted command left is read as if it had not begun.

    Raises:
        Stop: a point stands at or beyond the batch that the batch's first command does not leave.
    """
    merged: dict[str, StoredPoint] = dict(points)
    for tail in tails.values():
        merged.update(tail)
    merged.update(strays)
    for id_, point in list(merged.items()):
        if point.rev >= first:
            before = before_interruption(point, first)
            if before is None:
                del merged[id_]
            else:
                merged[id_] = before
    kept = {tenant: [id_ for id_ in tail if id_ in merged] for tenant, tail in tails.items()}
    return Snapshot(merged, kept)


def before_interruption(point: StoredPoint, first: int) -> StoredPoint | None:
    """What a point was before the interrupted command at ``first``: None where that command inserted it.

    Raises:
        Stop: where no interrupted command leaves such a point.
    """
    if point.born == first == point.rev:
        return None
    if isinstance(point, Memory) and point.rev == first and point.status == "evicted" and point.evict_key is not None:
        return point.model_copy(update={"status": "active", "rev": point.born})
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
