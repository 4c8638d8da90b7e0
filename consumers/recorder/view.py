"""What the fold sees of a partition: the points read before the batch, and over them what the batch has changed."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from afterturn.schemas.ids import tenant_id, thread_id
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Memory, StoredPoint, TenantState, ThreadState
from afterturn.schemas.scope import Scope


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read before a batch.

    Attributes:
        points: by id; ids that were asked for and are not here do not exist.
        tails: for tenants at their cap, the ids of their lowest-ranked live memories that are not pinned, lowest
            first, at least as many as the batch may evict; all of them are among ``points``.
    """

    points: Mapping[str, StoredPoint] = field(default_factory=dict)
    tails: Mapping[str, Sequence[str]] = field(default_factory=dict)


class TailTooShortError(RuntimeError):
    """The fold had to evict more than was read: a fault of the read, never of a command."""


class View:
    """A snapshot with a batch's changes over it."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._base = snapshot.points
        self._tails = snapshot.tails
        self._heaps: dict[str, list[tuple[int, str]]] = {}
        self.changed: dict[str, StoredPoint] = {}

    def get(self, id_: str) -> StoredPoint | None:
        """The point as the batch has left it so far."""
        return self.changed.get(id_) or self._base.get(id_)

    def put(self, id_: str, point: StoredPoint) -> None:
        """Change or add a point."""
        self.changed[id_] = point
        if isinstance(point, Memory) and point.evict_key is not None and point.status in LIVE and not point.pinned:
            heapq.heappush(self._heap(point.tenant), (point.evict_key, id_))

    def memory(self, id_: str) -> Memory | None:
        """The memory or tombstone of this id."""
        point = self.get(id_)
        return point if isinstance(point, Memory) else None

    def tenant(self, tenant: str) -> TenantState | None:
        """A tenant's state, if it has one."""
        point = self.get(tenant_id(tenant))
        return point if isinstance(point, TenantState) else None

    def thread(self, tenant: str, scope: Scope, thread: str) -> ThreadState | None:
        """A thread's state, if it has one."""
        point = self.get(thread_id(tenant, scope, thread))
        return point if isinstance(point, ThreadState) else None

    def lowest(self, tenant: str) -> tuple[str, Memory]:
        """The live, unpinned memory of a tenant that leaves first.

        Raises:
            TailTooShortError: where the snapshot's tail is used up.
        """
        heap = self._heap(tenant)
        while heap:
            key, id_ = heap[0]
            memory = self.memory(id_)
            if memory and memory.evict_key == key and memory.status in LIVE and not memory.pinned:
                return id_, memory
            heapq.heappop(heap)
        raise TailTooShortError(tenant_id(tenant))

    def _heap(self, tenant: str) -> list[tuple[int, str]]:
        heap = self._heaps.get(tenant)
        if heap is None:
            heap = self._heaps[tenant] = list(self._tail(tenant))
            heapq.heapify(heap)
        return heap

    def _tail(self, tenant: str) -> Iterator[tuple[int, str]]:
        for id_ in self._tails.get(tenant, ()):
            point = self._base.get(id_)
            if isinstance(point, Memory) and point.evict_key is not None:
                yield point.evict_key, id_
