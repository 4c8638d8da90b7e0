"""A process's lanes: group membership, one lane for each partition that is ours, polling that never stops."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from afterturn.streams.errors import BrokerUnavailable, LogCut, Retry
from afterturn.streams.kafka import (
    GroupConsumer,
    GroupTiming,
    KafkaSettings,
    TransactionalProducer,
    start_when_available,
    unless_stopped,
)
from afterturn.streams.lanes.keeper import Keeper, Patience
from afterturn.streams.lanes.lane import Home, Lane
from afterturn.streams.lanes.logview import LogView
from afterturn.streams.lanes.pulse import Pulse
from afterturn.streams.lanes.seam import LaneObserver, Writer
from afterturn.streams.lanes.turnstile import Turnstile


@dataclass(frozen=True, slots=True)
class LaneSettings:
    """How lanes are run; times in seconds.

    Attributes:
        poll: how long one poll waits for records.
        zombie_bound: a lane not polled for this long reopens before it writes.
        session: without a heartbeat for this long, a member's partitions go to others.
        look_every: between two looks at where the log begins.
        wait: for more records, before a batch is taken.
        dead_letters: the topic of dead letters, which lanes heal over.
        accept_gap, rebuild: see ``Home``.
        drain: for finishing batches when partitions are taken away or the process ends.
    """

    topic: str
    group: str
    poll: float = 0.05
    zombie_bound: float = 60.0
    drain: float = 20.0
    transaction_timeout: float = 30.0
    session: float = 10.0
    instance_id: str | None = None
    look_every: float = 60.0
    wait: float = 0.0
    dead_letters: str | None = None
    accept_gap: bool = False
    rebuild: bool = False
    patience: Patience = Patience()  # noqa: RUF009 - frozen


class LaneGroup:
    """Runs the lanes of the partitions this process owns."""

    def __init__(
        self,
        kafka: KafkaSettings,
        settings: LaneSettings,
        make_writer: Callable[[int], Writer],
        observer: LaneObserver,
    ) -> None:
        self._kafka = kafka
        self._settings = settings
        self._make_writer = make_writer
        self._observer = observer
        self._pulse = Pulse(settings.zombie_bound)
        self._keepers: dict[int, Keeper] = {}
        self._paused: set[int] = set()
        self._turnstile = Turnstile()
        self._joined = self._started = False
        self._consumer = GroupConsumer(
            kafka,
            settings.topic,
            settings.group,
            on_assigned=self._assigned,
            on_revoked=self._revoked,
            timing=GroupTiming(session=settings.session, rebalance=settings.drain + 10.0),
            instance_id=settings.instance_id,
        )
        self._log = LogView(kafka, self._consumer, settings.dead_letters)

    @property
    def partitions(self) -> frozenset[int]:
        """The partitions that are ours now."""
        return frozenset(self._keepers)

    @property
    def taking(self) -> frozenset[int]:
        """Those of them whose lanes are open."""
        return frozenset(p for p, keeper in self._keepers.items() if keeper.taking)

    def missing(self) -> str | None:
        """What keeps this process from its part of the work, if anything: no place in the group, lanes not open."""
        if not self._joined:
            return "waiting for the group to give out partitions"
        closed = len(self.partitions) - len(self.taking)
        return f"{closed} of {len(self.partitions)} lanes are not open" if closed else None

    def stuck(self) -> str | None:
        """What shows that this process no longer does its work, if it doesn't: it was long without a single poll."""
        bound = 2 * max(self._settings.zombie_bound, self._settings.drain + self._settings.session)
        silent = self._pulse.silence
        return f"the group was not polled for {silent:.0f} s" if self._started and silent > bound else None

    def lags(self) -> dict[int, int]:
        """By partition, how many records the log holds beyond what is done with, as far as Kafka has told."""
        found: dict[int, int] = {}
        for partition, keeper in self._keepers.items():
            end = self._consumer.highwater(partition)
            if end is not None and keeper.next is not None:
                found[partition] = max(0, end - keeper.next)
        return found

    async def run(
        self, stop: asyncio.Event, on_start: Callable[[], None], on_wait: Callable[[Retry, float], None]
    ) -> None:
        """Consume until ``stop`` is set, then finish what is at hand and leave the group; ``on_start``: Kafka is there.

        Raises:
            Stop: what a lane met that this process can't go on with.
            Stopped: ``stop`` was set before Kafka was there.
        """
        await unless_stopped(stop, start_when_available(self._consumer.start, on_wait=on_wait))
        self._pulse.beat()
        self._started = True
        on_start()
        try:
            while not stop.is_set():
                await self._turn()
        finally:
            self._started = False
            try:
                await self._revoked(self.partitions)
            finally:
                await self._log.close()
                await self._consumer.close()

    async def _turn(self) -> None:
        try:
            found = await self._consumer.getmany(timeout=self._settings.poll)
        except BrokerUnavailable:
            found = {}  # nothing was passed over: the next poll goes on
            await asyncio.sleep(self._settings.poll)
        except LogCut as error:
            found = {}
            self._lose(error)
        self._pulse.beat()
        for partition, records in found.items():
            if (keeper := self._keepers.get(partition)) is not None:
                keeper.offer(records)
        for keeper in list(self._keepers.values()):
            keeper.raise_failure()
            self._steer(keeper)

    def _lose(self, error: LogCut) -> None:
        """Open a lane anew whose position the log no longer holds; a partition that is no longer ours is another's.

        Raises:
            LogCut: it says nothing of the partition.
        """
        if error.partition < 0:
            raise error
        if (keeper := self._keepers.get(error.partition)) is not None:
            keeper.lost(error)

    def _steer(self, keeper: Keeper) -> None:
        """Seek, pause and resume: only here, so that no record read before a seek is ever taken for one after it."""
        partition = keeper.partition
        if keeper.wanted is not None:
            self._consumer.seek(partition, keeper.wanted)
            keeper.sought()
            self._resume(partition)
        elif not keeper.taking or keeper.queue.full:
            if partition not in self._paused:
                self._consumer.pause([partition])
                self._paused.add(partition)
        elif partition in self._paused and keeper.queue.low:
            self._resume(partition)

    def _resume(self, partition: int) -> None:
        self._consumer.resume([partition])
        self._paused.discard(partition)

    async def _assigned(self, partitions: frozenset[int]) -> None:
        self._joined = True
        for partition in partitions:
            self._paused.add(partition)
            self._keepers[partition] = Keeper(
                partition,
                partial(self._lane, partition),
                self._log,
                self._observer,
                replace(self._settings.patience, fenced=self._settings.session),
            )

    async def _revoked(self, partitions: frozenset[int]) -> None:
        """Close all lanes side by side, within one deadline."""
        self._joined = False
        keepers = [self._keepers.pop(p) for p in partitions if p in self._keepers]
        self._paused -= partitions
        results = await asyncio.gather(*(k.close(self._settings.drain) for k in keepers), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    def _lane(self, partition: int) -> Lane:
        settings = self._settings
        home = Home(
            settings.group,
            settings.topic,
            partition,
            look_every=settings.look_every,
            wait=settings.wait,
            accept_gap=settings.accept_gap,
            rebuild=settings.rebuild,
        )
        producer = TransactionalProducer(
            self._kafka, home.transactional_id, transaction_timeout=settings.transaction_timeout
        )
        return Lane(home, self._make_writer(partition), producer, self._pulse, self._turnstile)
