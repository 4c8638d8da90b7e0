"""How a selecting command goes over the store: page by page, each page one write with the command's rev.

Interrupted, it starts again: what it has changed already has its rev, and is not selected a second time.
"""

# ruff: noqa: D102 - the calls of a seam are described where they are made

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Protocol

from afterturn.consumers.recorder.fold.removal import erased, tombstone
from afterturn.consumers.recorder.fold.sweeps import Sweep, Swept, to_evict, too_much
from afterturn.consumers.recorder.fold.view import is_live, sources_of
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.commands import Collect, Configure, Erase, Forget
from afterturn.schemas.ids import MAX_REV
from afterturn.schemas.parts import Filter
from afterturn.schemas.points import KeyState, Memory, StoredPoint, ThreadState
from afterturn.streams.errors import Retry

Put = Callable[[Sequence[PointWrite]], Awaitable[None]]


class Selections(Protocol):
    """What of the store a sweep selects by; see ``SelectStore``."""

    async def matching(self, tenant: str, chosen: Filter | None, below: int, limit: int) -> dict[str, Memory]: ...
    async def everything(self, tenant: str, below: int, limit: int) -> dict[str, StoredPoint]: ...
    def changed_at(self, tenant: str, rev: int, limit: int) -> AsyncIterator[dict[str, Memory]]: ...
    async def count(self, tenant: str, chosen: Filter | None, below: int) -> int: ...
    async def count_everything(self, tenant: str, below: int) -> int: ...
    def collectable(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]: ...
    def threads(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]: ...
    def keys(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]: ...
    async def with_siblings(self, tombstones: dict[str, Memory], below: int) -> set[str]: ...
    async def in_use(self, threads: dict[str, ThreadState]) -> set[str]: ...
    async def held(self, keys: dict[str, KeyState]) -> set[str]: ...
    async def remove(self, ids: Iterable[str], below: int) -> None: ...


class Sweepable(Protocol):
    """What of the store a sweep needs."""

    @property
    def selections(self) -> Selections:
        """Whole selections."""
        ...

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Those of these points that exist."""
        ...

    async def derived(self, tenant: str, ids: Iterable[str], first_rev: int) -> dict[str, Memory]:
        """A tenant's live memories made from any of these."""
        ...

    async def tails(
        self, wanted: Mapping[str, int], first_rev: int, *, episodes: bool = False, above: int | None = None
    ) -> dict[str, dict[str, Memory]]:
        """Each tenant's lowest-ranked memories, or episodes, lowest first."""
        ...


class Unconfirmed(Exception):  # noqa: N818 - what happened, not an error
    """The command would remove more than it confirms; nothing was changed."""


class StillThere(Retry):
    """The store says that something is left which an erasure has not reached: it goes over it again."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} points of an erased tenant are still there; erasing again.")


async def sweep(store: Sweepable, wanted: Sweep, put: Put, still_ours: Callable[[], None], page: int = 400) -> Swept:
    """Change all that a command selects, ``page`` points at a time; what it has removed in all.

    Raises:
        Unconfirmed: it would remove more than half of the tenant, and doesn't say that this is meant.
    """
    match wanted.command:
        case Forget() as command:
            return await _forget(store, wanted, command, put, page)
        case Configure():
            return await _evict(store, wanted, put, page)
        case Erase():
            return await _erase(store, wanted, put, page)
        case Collect() as command:
            epoch_start = wanted.arrival.rev - wanted.arrival.record.offset
            await _collect(store.selections, command, epoch_start + command.below, still_ours, page)
            return Swept()


async def _forget(store: Sweepable, wanted: Sweep, command: Forget, put: Put, size: int) -> Swept:
    tenant, rev, select = wanted.arrival.tenant, wanted.arrival.rev, store.selections
    begun = await _swept(select, tenant, rev, size)
    if begun == Swept() and too_much(wanted, await select.count(tenant, command.filter, rev)):
        raise Unconfirmed
    while page := await select.matching(tenant, command.filter, rev, size):
        await put([PointWrite(id_, tombstone(memory, rev, "deleted")) for id_, memory in page.items()])
    while await _cascade(store, tenant, rev, put, size):
        pass
    return await _swept(select, tenant, rev, size)


async def _cascade(store: Sweepable, tenant: str, rev: int, put: Put, size: int) -> int:
    """Remove what was made from removed memories alone; how many that were. What was made from those is next."""
    count = 0
    async for removed in store.selections.changed_at(tenant, rev, size):
        made = await store.derived(tenant, removed, MAX_REV)
        sources = await store.points({source for memory in made.values() for source in sources_of(memory)})
        there = {id_ for id_, point in sources.items() if isinstance(point, Memory) and is_live(point)}
        orphans = {id_: memory for id_, memory in made.items() if there.isdisjoint(sources_of(memory))}
        writes = [PointWrite(id_, tombstone(each, rev, "deleted", cascade=True)) for id_, each in orphans.items()]
        for start in range(0, len(writes), size):
            await put(writes[start : start + size])
        count += len(writes)
    return count


async def _evict(store: Sweepable, wanted: Sweep, put: Put, size: int) -> Swept:
    episodes, memories = to_evict(wanted)
    last = await _evict_lowest(store, wanted, put, size, episodes, last_episode=None)
    await _evict_lowest(store, wanted, put, size, memories, last_episode=last)
    return await _swept(store.selections, wanted.arrival.tenant, wanted.arrival.rev, size)


async def _evict_lowest(
    store: Sweepable, wanted: Sweep, put: Put, size: int, count: int, *, last_episode: int | None
) -> int:
    """Evict so many episodes, or after the ``last_episode`` so many memories; the highest rank that left.

    Which those are is read from their ranks alone, with what has left already in its old place: an interrupted sweep,
    and another owner's of the same command, choose the same.
    """
    tenant, rev, above = wanted.arrival.tenant, wanted.arrival.rev, -1
    while count > 0:
        asked = {tenant: size if last_episode is not None else min(size, count)}
        tail = (await store.tails(asked, rev, episodes=last_episode is None, above=above))[tenant]
        if not tail:
            break
        above = max(memory.evict_key or 0 for memory in tail.values())
        left = {i: m for i, m in tail.items() if not _left_before(m, last_episode)}
        chosen = dict(list(left.items())[:count])
        count -= len(chosen)
        writes = [PointWrite(i, tombstone(memory, rev, "evicted")) for i, memory in chosen.items() if memory.rev < rev]
        if writes:
            await put(writes)
    return above


def _left_before(memory: Memory, last_episode: int | None) -> bool:
    return last_episode is not None and memory.kind == "episodic" and (memory.evict_key or 0) <= last_episode


async def _erase(store: Sweepable, wanted: Sweep, put: Put, size: int) -> Swept:
    tenant, rev = wanted.arrival.tenant, wanted.arrival.rev
    while page := await store.selections.everything(tenant, rev, size):
        await put([PointWrite(id_, erased(point, rev)) for id_, point in page.items()])
    if left := await store.selections.count_everything(tenant, rev):
        raise StillThere(left)
    return Swept(removed=wanted.tenant.live)


async def _swept(select: Selections, tenant: str, rev: int, size: int) -> Swept:
    removed = derived = pinned = episodes = 0
    async for page in select.changed_at(tenant, rev, size):
        for memory in page.values():
            removed += not memory.cascade
            derived += memory.cascade
            pinned += memory.pinned
            episodes += memory.kind == "episodic"
    return Swept(removed, derived, pinned, episodes)


async def _collect(select: Selections, command: Collect, below: int, still_ours: Callable[[], None], size: int) -> None:
    """Delete what the log can no longer ask for: tombstones and receipts, then states that nothing stands behind."""

    async def remove(ids: Iterable[str]) -> None:
        if gone := list(ids):
            still_ours()
            await select.remove(gone, below)

    async for page in select.collectable(command.partition, below, size):
        # A receipt goes with its command's last memory: until then it keeps the others from being made again.
        first = {id_: p for id_, p in page.items() if isinstance(p, Memory) and p.ordinal == 0}
        kept = await select.with_siblings(first, below)
        await remove(id_ for id_ in page if id_ not in kept)
    async for page in select.threads(command.partition, below, size):
        threads = {id_: state for id_, state in page.items() if isinstance(state, ThreadState)}
        used = await select.in_use({id_: state for id_, state in threads.items() if state.thread is not None})
        await remove(id_ for id_ in threads if id_ not in used)
    async for page in select.keys(command.partition, below, size):
        keys = {id_: state for id_, state in page.items() if isinstance(state, KeyState)}
        held = await select.held(keys)
        await remove(id_ for id_ in keys if id_ not in held)
