"""What selecting commands ask of the store, over points in memory: the plainest predicates, none of the filters."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, MutableMapping, Sequence
from dataclasses import dataclass

from afterturn.schemas.parts import LIVE, Filter
from afterturn.schemas.points import KeyState, Memory, Receipt, StoredPoint, TenantState, ThreadState

Test = Callable[[StoredPoint], bool]


def live(point: StoredPoint | None) -> bool:
    """Whether it is a memory that is there."""
    return isinstance(point, Memory) and point.status in LIVE


def selected(memory: Memory, chosen: Filter | None) -> bool:
    """Whether a command's filter selects a memory."""
    if chosen is None:
        return True
    scope = dict(chosen.scope.pairs()) if chosen.scope else {}
    at = memory.occurred_at
    return (
        all(dict(memory.scope.pairs()).get(name) == value for name, value in scope.items())
        and (chosen.threads is None or memory.thread in chosen.threads)
        and (chosen.tags_any is None or not set(chosen.tags_any).isdisjoint(memory.tags))
        and (chosen.kinds is None or memory.kind in chosen.kinds)
        and (chosen.authors is None or memory.author in chosen.authors)
        and (chosen.since is None or (at is not None and at >= chosen.since))
        and (chosen.until is None or (at is not None and at < chosen.until))
    )


def collectable(point: StoredPoint, below: int) -> bool:
    """Whether it is a receipt or a tombstone from before a rev."""
    gone = isinstance(point, Receipt) or (isinstance(point, Memory) and not live(point))
    return gone and point.born < below and point.rev < below


@dataclass
class MemorySelections:
    """Selections over ``content``; ``wait`` is awaited before each read, ``removing`` removes where given."""

    content: MutableMapping[str, StoredPoint]
    wait: Callable[[], Awaitable[None]] | None = None
    removing: Callable[[Sequence[str], int], Awaitable[None]] | None = None

    async def _pause(self) -> None:
        if self.wait is not None:
            await self.wait()

    def _those(self, test: Test, limit: int | None = None) -> dict[str, StoredPoint]:
        found = {id_: point for id_, point in sorted(self.content.items()) if test(point)}
        return dict(list(found.items())[:limit])

    async def matching(self, tenant: str, chosen: Filter | None, below: int, limit: int) -> dict[str, Memory]:
        await self._pause()
        return self._matching(tenant, chosen, below, limit)

    def _matching(self, tenant: str, chosen: Filter | None, below: int, limit: int | None) -> dict[str, Memory]:
        found = {
            id_: point
            for id_, point in self._those(live).items()
            if isinstance(point, Memory) and point.tenant == tenant and point.rev < below and selected(point, chosen)
        }
        return dict(list(found.items())[:limit])

    async def everything(self, tenant: str, below: int, limit: int) -> dict[str, StoredPoint]:
        await self._pause()
        return self._those(lambda p: _of(p, tenant) and p.rev < below, limit)

    async def changed_at(self, tenant: str, rev: int, limit: int) -> AsyncIterator[dict[str, Memory]]:
        await self._pause()
        changed = self._those(lambda p: p.tenant == tenant and p.rev == rev)
        async for page in _pages(changed, limit):
            yield {id_: point for id_, point in page.items() if isinstance(point, Memory)}

    async def count(self, tenant: str, chosen: Filter | None, below: int) -> int:
        await self._pause()
        return len(self._matching(tenant, chosen, below, None))

    async def count_everything(self, tenant: str, below: int) -> int:
        await self._pause()
        return len(self._those(lambda p: _of(p, tenant) and p.rev < below))

    async def collectable(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        await self._pause()
        found = self._those(lambda p: p.partition == partition and collectable(p, below))
        async for page in _pages(found, limit):
            yield page

    async def threads(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        await self._pause()
        found = self._those(lambda p: isinstance(p, ThreadState) and p.partition == partition and p.rev < below)
        async for page in _pages(found, limit):
            yield page

    async def keys(self, partition: int, below: int, limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
        await self._pause()
        found = self._those(lambda p: isinstance(p, KeyState) and p.partition == partition and p.rev < below)
        async for page in _pages(found, limit):
            yield page

    async def with_siblings(self, tombstones: dict[str, Memory], below: int) -> set[str]:
        await self._pause()
        kept = {
            (p.tenant, p.born) for p in self.content.values() if isinstance(p, Memory) and not collectable(p, below)
        }
        return {id_ for id_, memory in tombstones.items() if (memory.tenant, memory.born) in kept}

    async def in_use(self, threads: dict[str, ThreadState]) -> set[str]:
        await self._pause()
        places = {(p.tenant, p.scope, p.thread) for p in self.content.values() if isinstance(p, Memory)}
        return {id_ for id_, state in threads.items() if (state.tenant, state.scope, state.thread) in places}

    async def held(self, keys: dict[str, KeyState]) -> set[str]:
        await self._pause()
        return {id_ for id_, state in keys.items() if state.current in self.content}

    async def remove(self, ids: Iterable[str], below: int) -> None:
        if self.removing is not None:
            await self.removing(list(ids), below)
            return
        for id_ in ids:
            if id_ in self.content and self.content[id_].rev < below:
                del self.content[id_]


def _of(point: StoredPoint, tenant: str) -> bool:
    return point.tenant == tenant and not isinstance(point, TenantState)


async def _pages(found: dict[str, StoredPoint], limit: int) -> AsyncIterator[dict[str, StoredPoint]]:
    items = list(found.items())
    for start in range(0, len(items), limit):
        yield dict(items[start : start + limit])
