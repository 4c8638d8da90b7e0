"""Whether a lane should keep its threads' and tenants' states between batches: what reading them costs now.

The prototype keeps every state it has written and asks the store only for the rest. It is a measurement only:
what it would take to keep such a cache right under zombies and restored copies is not in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.wire import Still
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.points import Checkpoint, StoredPoint, TenantState, ThreadState
from afterturn.schemas.settings import FoldSettings
from bench.figures import Figure
from bench.lanes import Variant, drain, median, place, publish, spread
from bench.recall import Say
from bench.workload import turns

TENANTS = 200


@dataclass
class Clock:
    """Seconds spent waiting in each kind of call of one drain."""

    seconds: dict[str, float] = field(default_factory=dict)

    def add(self, kind: str, began: float) -> None:
        """Another call of this kind has ended."""
        self.seconds[kind] = self.seconds.get(kind, 0.0) + time.perf_counter() - began


class Timed(WriteStore):
    """The store, timed."""

    def __init__(self, client: StoreClient, fold: FoldSettings, clock: Clock) -> None:
        super().__init__(client, dimension=fold.dimension, epoch=fold.epoch)
        self._clock = clock

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Receipts and states, by id."""
        began = time.perf_counter()
        found = await super().points(ids)
        self._clock.add("retrieve", began)
        return found

    async def landing(
        self, partition: int, tenants: Iterable[str], first_rev: int
    ) -> tuple[Checkpoint | None, dict[str, StoredPoint]]:
        """The last read."""
        began = time.perf_counter()
        found = await super().landing(partition, tenants, first_rev)
        self._clock.add("landing", began)
        return found

    async def write(
        self,
        batch: Sequence[PointWrite],
        *,
        previous: int,
        next_: int,
        checkpoint: Checkpoint | None,
        still_ours: Still = None,
    ) -> None:
        """The conditional upsert."""
        began = time.perf_counter()
        await super().write(batch, previous=previous, next_=next_, checkpoint=checkpoint, still_ours=still_ours)
        self._clock.add("write", began)


class Keeping(WriteStore):
    """The store, but what was written of threads and tenants is not read again."""

    def __init__(self, client: StoreClient, fold: FoldSettings) -> None:
        super().__init__(client, dimension=fold.dimension, epoch=fold.epoch)
        self._kept: dict[str, StoredPoint] = {}

    async def points(self, ids: Iterable[str]) -> dict[str, StoredPoint]:
        """Receipts from the store, states from here where they are."""
        asked = list(ids)
        kept: Mapping[str, StoredPoint] = {id_: self._kept[id_] for id_ in asked if id_ in self._kept}
        return {**await super().points([id_ for id_ in asked if id_ not in kept]), **kept}

    async def write(
        self,
        batch: Sequence[PointWrite],
        *,
        previous: int,
        next_: int,
        checkpoint: Checkpoint | None,
        still_ours: Still = None,
    ) -> None:
        """Write, and keep the states."""
        await super().write(batch, previous=previous, next_=next_, checkpoint=checkpoint, still_ours=still_ours)
        self._kept.update({w.id: w.point for w in batch if isinstance(w.point, ThreadState | TenantState)})


async def measure(
    kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """The share of a batch's time in each call of the store, and what keeping states would gain."""
    say(f"{messages} turns with states read and with states kept, {rounds} rounds")
    there = await place(kafka, store, embedder, "states")
    await publish(there, turns(messages, TENANTS))
    ratios: list[float] = []
    work: list[float] = []
    shares: dict[str, list[float]] = {"retrieve": [], "landing": [], "write": []}
    for _ in range(rounds):
        clock = Clock()
        plain = await drain(there, messages, Variant(store=partial(Timed, clock=clock)))
        kept = await drain(there, messages, Variant(store=Keeping))
        ratios.append(kept.rate / plain.rate)
        work.append(kept.worked / plain.worked)
        whole = sum(seconds for _, _, seconds in plain.batches)
        for kind, found in shares.items():
            found.append(clock.seconds.get(kind, 0.0) / whole)
    return [
        *(
            Figure(f"share of a batch: {kind}", median(found) * 100, "%", f"waiting included; {spread(found)}")
            for kind, found in shares.items()
        ),
        Figure("throughput, states kept / read", median(ratios), "", f"a prototype of the bench; {spread(ratios)}"),
        Figure("processor time, states kept / read", median(work), "", spread(work)),
    ]
