"""The fold of a whole log with the recorder's own pure parts: what the store must hold at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.recorder.fold.plan import Decision, Plan, finish, give_up, plan
from afterturn.consumers.recorder.fold.sweeps import selects
from afterturn.consumers.recorder.fold.view import Snapshot, is_live, sources_of
from afterturn.consumers.recorder.sweeping import Unconfirmed, sweep
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.points import Memory, StoredPoint
from afterturn.schemas.settings import FoldSettings
from support.memory_store import MemoryStore, now


@dataclass
class WholeLog:
    """What a log has left so far: the points, and how each record ended."""

    fold: FoldSettings
    points: dict[str, StoredPoint] = field(default_factory=dict)
    decisions: list[Decision] = field(default_factory=list)

    def take(self, items: Sequence[Arrival | Rejected], dead: frozenset[int] = frozenset()) -> WholeLog:
        """Fold more of the log."""
        run: list[Arrival | Rejected] = []
        for item in items:
            if isinstance(item, Arrival) and selects(item.command):
                self._together(run, dead)
                self._together([item], dead)
                run = []
            else:
                run.append(item)
        self._together(run, dead)
        return self

    def _together(self, batch: Sequence[Arrival | Rejected], dead: frozenset[int]) -> None:
        if not batch:
            return
        snapshot = everything(self.points)
        planned = plan(snapshot, batch, self.fold, dead)
        if planned.sweep is not None:
            planned = self._swept(planned, snapshot)
        self.points.update(planned.points)
        self.decisions += planned.decisions

    def _swept(self, planned: Plan, snapshot: Snapshot) -> Plan:
        assert planned.sweep is not None
        store = MemoryStore(content=self.points)

        async def put(writes: Sequence[PointWrite]) -> None:
            self.points.update({write.id: write.point for write in writes})

        try:
            swept = now(sweep(store, planned.sweep, put, lambda: None))
        except Unconfirmed:
            return give_up(planned.sweep, snapshot)
        return finish(planned.sweep, swept, snapshot)


def fold_log(
    items: Sequence[Arrival | Rejected],
    fold: FoldSettings,
    before: Mapping[str, StoredPoint] | None = None,
    dead: frozenset[int] = frozenset(),
) -> WholeLog:
    """The fold of these records over the points ``before``."""
    return WholeLog(fold, dict(before or {})).take(items, dead)


def everything(points: Mapping[str, StoredPoint]) -> Snapshot:
    """A snapshot of all there is, with whole tails."""
    leaving = [
        (point.evict_key, id_, point)
        for id_, point in points.items()
        if isinstance(point, Memory) and point.evict_key is not None and is_live(point) and not point.pinned
    ]
    tails: dict[str, list[str]] = {}
    episodes: dict[str, list[str]] = {}
    for _, id_, memory in sorted(leaving, key=lambda entry: entry[0]):
        tails.setdefault(memory.tenant, []).append(id_)
        if memory.kind == "episodic":
            episodes.setdefault(memory.tenant, []).append(id_)
    derived = [id_ for id_, p in points.items() if isinstance(p, Memory) and sources_of(p)]
    return Snapshot(dict(points), tails, episodes, derived)
