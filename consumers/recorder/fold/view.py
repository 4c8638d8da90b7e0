"""What the fold sees of a partition: the points read before the batch, and over them what the batch has changed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from afterturn.schemas.ids import key_id, tenant_id, thread_id
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import KeyState, Memory, StoredPoint, TenantState, ThreadState
from afterturn.schemas.scope import Scope


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read before a batch.

    Attributes:
        points: by id; ids that were asked for and are not here do not exist.
        tails: for tenants at their cap, the ids of their lowest-ranked live memories that are not pinned, lowest
            first, at least as many as the batch may evict; all of them are among ``points``.
        episode_tails: the same of episodes alone, for tenants at their cap of episodes.
        derived: the ids of memories made from what the batch forgets, and from those again.
    """

    points: Mapping[str, StoredPoint] = field(default_factory=dict)
    tails: Mapping[str, Sequence[str]] = field(default_factory=dict)
    episode_tails: Mapping[str, Sequence[str]] = field(default_factory=dict)
    derived: Sequence[str] = ()


class TailTooShortError(RuntimeError):
    """The fold had to evict more than was read: a fault of the read, never of a command."""


class View:
    """A snapshot with a batch's changes over it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._base = snapshot.points
        self._tails = {False: snapshot.tails, True: snapshot.episode_tails}
        self._heaps: dict[tuple[str, bool], list[tuple[int, str]]] = {}
        self._derived = dict.fromkeys(snapshot.derived)
        self.changed: dict[str, StoredPoint] = {}

    def get(self, id_: str) -> StoredPoint | None:
        """The point as the batch has left it so far."""
        return self.changed.get(id_) or self._base.get(id_)

    def put(self, id_: str, point: StoredPoint) -> None:
        """Change or add a point."""
        self.changed[id_] = point
        if not isinstance(point, Memory):
            return
        if sources_of(point):
            self._derived[id_] = None
        if point.evict_key is not None and is_live(point) and not point.pinned:
            heapq.heappush(self._heap(point.tenant, episodes=False), (point.evict_key, id_))
            if point.kind == "episodic":
                heapq.heappush(self._heap(point.tenant, episodes=True), (point.evict_key, id_))

    def memory(self, id_: str) -> Memory | None:
        """The memory or tombstone of this id."""
        point = self.get(id_)
        return point if isinstance(point, Memory) else None

    def live(self, tenant: str, id_: str) -> Memory | None:
        """A tenant's live memory of this id; another tenant's is as if it were not there."""
        memory = self.memory(id_)
        return memory if memory is not None and memory.tenant == tenant and is_live(memory) else None

    def tenant(self, tenant: str) -> TenantState | None:
        """A tenant's state, if it has one."""
        point = self.get(tenant_id(tenant))
        return point if isinstance(point, TenantState) else None

    def thread(self, tenant: str, scope: Scope, thread: str) -> ThreadState | None:
        """A thread's state, if it has one."""
        point = self.get(thread_id(tenant, scope, thread))
        return point if isinstance(point, ThreadState) else None

    def key(self, tenant: str, scope: Scope, key: str) -> KeyState | None:
        """The state of a publisher's key, if it has one."""
        point = self.get(key_id(tenant, scope, key))
        return point if isinstance(point, KeyState) else None

    def orphans(self, tenant: str, removed: AbstractSet[str]) -> dict[str, Memory]:
        """The tenant's live memories that were made from some of the removed, and none of whose sources is left."""
        found: dict[str, Memory] = {}
        for id_ in self._derived:
            memory = self.live(tenant, id_)
            if memory is None or not removed & set(sources := sources_of(memory)):
                continue
            if not any(self.live(tenant, source) for source in sources):
                found[id_] = memory
        return found

    def lowest(self, tenant: str, *, episodes: bool = False) -> tuple[str, Memory]:
        """The live, unpinned memory (or episode) of a tenant that leaves first.

        Raises:
            TailTooShortError: where the snapshot's tail is used up.
        """
        heap = self._heap(tenant, episodes=episodes)
        while heap:
            key, id_ = heap[0]
            memory = self.memory(id_)
            if memory and memory.evict_key == key and is_live(memory) and not memory.pinned:
                return id_, memory
            heapq.heappop(heap)
        raise TailTooShortError(tenant_id(tenant))

    def _heap(self, tenant: str, *, episodes: bool) -> list[tuple[int, str]]:
        heap = self._heaps.get((tenant, episodes))
        if heap is None:
            heap = self._heaps[tenant, episodes] = list(self._tail(self._tails[episodes].get(tenant, ())))
            heapq.heapify(heap)
        return heap

    def _tail(self, ids: Sequence[str]) -> Iterator[tuple[int, str]]:
        for id_ in ids:
            point = self._base.get(id_)
            if isinstance(point, Memory) and point.evict_key is not None:
                yield point.evict_key, id_


def is_live(memory: Memory) -> bool:
    """Whether a memory is there: candidate, active or superseded."""
    return memory.status in LIVE


def sources_of(memory: Memory) -> tuple[str, ...]:
    """What a memory was made from."""
    return (*memory.source_ids, *memory.derived_from)
