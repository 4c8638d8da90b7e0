"""Watching what recall stands on: who is away, and which partitions' stores are behind what was committed."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Protocol

from afterturn.consumers.recall.health import Health
from afterturn.schemas.ids import position_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Retry


class Log(Protocol):
    """What is asked of Kafka."""

    async def start(self) -> None:
        """Connect, unless that was done."""
        ...

    async def committed(self, group: str, topic: str, partitions: range, /) -> Mapping[int, int | None]:
        """The group's committed next offsets, None where there is none."""
        ...


class Store(Protocol):
    """What is asked of Qdrant."""

    async def checkpoints(self, partitions: range, /) -> Mapping[int, Checkpoint]:
        """The checkpoints there are."""
        ...


class Watch:
    """Asks both sides again and again, and keeps what they said.

    ``log`` gives Kafka's side once it was reached: until then it is whoever waits for it that says so.

    Attributes:
        healing: the partitions whose checkpoint is behind the committed offset: their store lacks what was there.
    """

    def __init__(
        self, log: Callable[[], Log | None], store: Store, fold: FoldSettings, health: Health, *, seconds: float
    ) -> None:
        self._log = log
        self._store = store
        self._fold = fold
        self._health = health
        self._seconds = seconds
        self.healing: frozenset[int] = frozenset()

    def heals(self, partition: int) -> bool:
        """Whether a partition's store is catching up with what was committed."""
        return partition in self.healing

    async def run(self) -> None:
        """Watch until cancelled.

        Raises:
            Stop: one side refuses for good.
        """
        while True:
            await self.look()
            await asyncio.sleep(self._seconds)

    async def look(self) -> None:
        """Ask both sides once. What was committed comes first: the store is always written before it."""
        committed = await self._committed()
        try:
            checkpoints = await self._store.checkpoints(range(self._fold.partitions))
            self._health.here("qdrant")
        except Retry as error:
            self._health.away("qdrant", str(error))
            return
        if committed is not None:
            self.healing = frozenset(behind(committed, checkpoints, self._fold.epoch))

    async def _committed(self) -> Mapping[int, int | None] | None:
        log = self._log()
        if log is None:
            return None
        try:
            await log.start()
            committed = await log.committed(self._fold.group, self._fold.topic, range(self._fold.partitions))
        except Retry as error:
            self._health.away("kafka", str(error))
            return None
        self._health.here("kafka")
        return committed


def behind(committed: Mapping[int, int | None], checkpoints: Mapping[int, Checkpoint], epoch: int) -> set[int]:
    """The partitions whose checkpoint is behind the committed offset of this epoch. Pure."""
    return {
        partition
        for partition, offset in committed.items()
        if offset and _reached(checkpoints.get(partition), epoch) < offset
    }


def _reached(checkpoint: Checkpoint | None, epoch: int) -> int:
    """The next offset of this epoch by a checkpoint; of an earlier epoch, or without one, that is 0."""
    if checkpoint is None:
        return 0
    reached, offset = position_of(checkpoint.next)
    return offset if reached == epoch else 0
