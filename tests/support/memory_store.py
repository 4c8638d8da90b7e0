"""The recorder's store in memory, as exact as the write path needs it, and as unkind as the real one may be.

Writes travel for a while, then stand in one queue. Each is resolved when its turn comes (missing ids are inserted,
others changed only where the condition holds), and becomes visible piece by piece: what was there first, then what is
new, in any order. A client may die or give up while its write travels or stands there: it lands nevertheless. Without
a scheduler the store works on the queue while a client waits for it; in a simulation the scheduler does, by ``step``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import coroutine
from typing import Any, TypeVar, cast

from afterturn.consumers.store.errors import StoreAway
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.wire import Still
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint
from support.memory_selections import MemorySelections


@dataclass(frozen=True)
class Rules:
    """The rules of the write path that a simulation can switch off, to see that each is needed."""

    barrier: bool = True
    strays: bool = True
    conditional: bool = True
    states_last: bool = True
    zombie_bound: bool = True


ALL_RULES = Rules()
_Piece = Callable[[], None]
T = TypeVar("T")


@dataclass
class _Write:
    """One write in the queue; ``resolve`` gives its pieces: those that change what is there, those that are new."""

    resolve: Callable[[], tuple[list[_Piece], list[_Piece]]]
    sent: int = 0
    pieces: list[_Piece] | None = None
    done: bool = False


@coroutine
def pause() -> Generator[None, None, None]:
    """Let others go on: the interleaving points of a simulation."""
    yield


@dataclass
class MemoryStore:
    """A collection of one partition.

    ``trouble`` is how often, of a thousand times a client waits for its write, it gives up as if the store were away.
    """

    rng: Random = field(default_factory=lambda: Random(0))
    rules: Rules = ALL_RULES
    scheduled: bool = False
    trouble: int = 0
    epoch_start: int = 0
    content: dict[str, StoredPoint] = field(default_factory=dict)
    checkpoints: dict[int, Checkpoint] = field(default_factory=dict)
    version: int = 0
    spoilt: bool = False
    _now: int = 0
    _queue: deque[_Write] = field(default_factory=deque)
    _travelling: list[_Write] = field(default_factory=list)

    # The server's side

    @property
    def quiet(self) -> bool:
        """Whether no write is landing."""
        return not self._queue

    def step(self) -> None:
        """Work on the first write of the queue: resolve it, or make a piece or three of it visible."""
        if self._travelling and (not self.scheduled or self.rng.randrange(3) == 0):
            self._queue.append(self._travelling.pop(self.rng.randrange(len(self._travelling))))
        if not self._queue:
            return
        write = self._queue[0]
        if write.pieces is None:
            old, new = write.resolve()
            self.rng.shuffle(old)
            self.rng.shuffle(new)
            write.pieces = [*old, *new]
        for _ in range(self.rng.randint(1, 3)):
            if write.pieces:
                write.pieces.pop(0)()
                self.version += 1
        if not write.pieces:
            write.done = True
            self._queue.popleft()

    def arrive(self, now: int, bound: int) -> None:
        """Let no write travel for longer than so many steps."""
        self._now = now
        late = [write for write in self._travelling if now - write.sent >= bound]
        for write in late:
            self._travelling.remove(write)
            self._queue.append(write)

    def put_back(self, copy: tuple[dict[str, StoredPoint], dict[int, Checkpoint]]) -> None:
        """Put a copy back, as an operator does who has stopped everything: nothing is on its way any more."""
        self._travelling.clear()
        self._queue.clear()
        self.content, self.checkpoints = dict(copy[0]), dict(copy[1])
        self.version += 1

    async def _landed(self, write: _Write) -> None:
        write.sent = self._now
        self._travelling.append(write)
        while not write.done:
            if self.scheduled:
                await pause()
                if self.trouble and self.rng.randrange(1_000) < self.trouble:
                    raise StoreAway("a write", "Timeout")
            else:
                self.step()

    # What a lane asks for

    async def count(self, partition: int, opens: int, begun: int) -> None:
        """Counts say nothing of the fold."""

    async def checkpoint(self, partition: int) -> Checkpoint | None:
        await pause()
        return self.checkpoints.get(partition)

    async def open_checkpoint(self, partition: int) -> Checkpoint:
        before = await self.checkpoint(partition)
        first = Checkpoint(partition=partition, next=self.epoch_start, opens=1)
        if not self.rules.barrier and before is None:
            self.checkpoints.setdefault(partition, first)
        if self.rules.barrier:
            opens = before.opens + 1 if before else None
            await self._landed(_Write(lambda: self._opening(first, opens)))
        after = await self.checkpoint(partition)
        assert after is not None
        return after

    def _opening(self, first: Checkpoint, opens: int | None) -> tuple[list[_Piece], list[_Piece]]:
        there = self.checkpoints.get(first.partition)
        if opens is None:
            return [], [] if there else [lambda: self._put_checkpoint(first)]
        if there is None:
            return [], []
        counted = there.model_copy(update={"opens": opens})
        return [lambda: self._put_checkpoint(counted)], []

    async def settle(self, partition: int) -> None:
        if self.rules.barrier:
            await self._landed(_Write(lambda: ([lambda: None] if partition in self.checkpoints else [], [])))

    async def mark_spoilt(self, partition: int) -> None:
        await pause()
        self.spoilt = partition in self.checkpoints

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        await pause()
        return {id_: self.content[id_] for id_ in ids if id_ in self.content}

    @property
    def selections(self) -> MemorySelections:
        """Whole selections."""
        return MemorySelections(self.content, pause, self._remove)

    async def _remove(self, ids: Sequence[str], below: int) -> None:
        def resolve() -> tuple[list[_Piece], list[_Piece]]:
            gone = [id_ for id_ in ids if id_ in self.content and self.content[id_].rev < below]
            return [self._removing(id_) for id_ in gone], []

        await self._landed(_Write(resolve))

    def _removing(self, id_: str) -> _Piece:
        def remove() -> None:
            self.content.pop(id_, None)

        return remove

    async def derived(self, tenant: str, ids: Iterable[str], first_rev: int) -> dict[str, Memory]:
        await pause()
        sources = set(ids)
        return {
            id_: point
            for id_, point in self.content.items()
            if isinstance(point, Memory)
            and point.tenant == tenant
            and (point.status in LIVE or point.rev >= first_rev)
            and sources & {*point.source_ids, *point.derived_from}
        }

    async def tails(
        self, wanted: Mapping[str, int], first_rev: int, *, episodes: bool = False, above: int | None = None
    ) -> dict[str, dict[str, Memory]]:
        await pause()
        asked = {tenant: count for tenant, count in wanted.items() if count > 0}
        lowest = -1 if above is None else above
        return {
            tenant: self._tail(tenant, count, first_rev, lowest, episodes=episodes) for tenant, count in asked.items()
        }

    def _tail(self, tenant: str, count: int, first_rev: int, above: int, *, episodes: bool) -> dict[str, Memory]:
        leaving: list[tuple[int, str, Memory]] = []
        for id_, point in self.content.items():
            if not isinstance(point, Memory) or point.tenant != tenant or point.evict_key is None:
                continue
            if point.evict_key <= above:
                continue
            if episodes and point.kind != "episodic":
                continue
            late = self.rules.strays and point.rev >= first_rev
            if late or (point.status in LIVE and not point.pinned):
                leaving.append((point.evict_key, id_, point))
        return {id_: memory for _, id_, memory in sorted(leaving, key=lambda entry: entry[0])[:count]}

    async def landing(
        self, partition: int, tenants: Iterable[str], first_rev: int
    ) -> tuple[Checkpoint | None, dict[str, StoredPoint]]:
        await pause()
        asked = set(tenants) if self.rules.strays else set()
        late = {i: p for i, p in self.content.items() if p.tenant in asked and p.rev >= first_rev}
        return self.checkpoints.get(partition), late

    async def write(
        self,
        batch: Sequence[PointWrite],
        *,
        previous: int,
        next_: int,
        checkpoint: Checkpoint | None,
        still_ours: Still = None,
    ) -> None:
        if still_ours is not None:
            still_ours()
        await self._landed(_Write(lambda: self._resolved(batch, (previous, next_), checkpoint)))

    def _resolved(
        self, batch: Sequence[PointWrite], span: tuple[int, int], checkpoint: Checkpoint | None
    ) -> tuple[list[_Piece], list[_Piece]]:
        old: list[_Piece] = []
        new: list[_Piece] = []
        previous, next_ = span
        for write in batch:
            there = self.content.get(write.id)
            if there is None:
                new.append(self._putting(write))
            elif there.rev < next_ or not self.rules.conditional:
                old.append(self._putting(write))
        if checkpoint is not None:
            stands = self.checkpoints.get(checkpoint.partition)
            if stands is None:
                new.append(lambda: self._put_checkpoint(checkpoint))
            elif previous <= stands.next < next_ or not self.rules.conditional:
                old.append(lambda: self._put_checkpoint(checkpoint))
        return old, new

    def _putting(self, write: PointWrite) -> _Piece:
        def put() -> None:
            self.content[write.id] = write.point

        return put

    def _put_checkpoint(self, checkpoint: Checkpoint) -> None:
        self.checkpoints[checkpoint.partition] = checkpoint


def now(work: Coroutine[Any, Any, T]) -> T:
    """The result of work on a store that nobody else is at, without an event loop."""
    try:
        while True:
            work.send(None)
    except StopIteration as done:
        return cast("T", done.value)
