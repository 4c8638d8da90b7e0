"""One partition's writer: steps 1 to 5 of the write path, driven by its lane, which does step 6."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from afterturn.consumers.recorder.announcing import Announcer, Finished, given_up, last_of
from afterturn.consumers.recorder.collecting import LogStart, collect_record, log_start_of, look
from afterturn.consumers.recorder.cutting import LIMITS, BatchLimits, chunks, cut, fits
from afterturn.consumers.recorder.decoding import Arrival, Rejected, command_of, decode
from afterturn.consumers.recorder.embedding import Embedded, embed
from afterturn.consumers.recorder.fold.plan import PLAN_VERSION, Plan, finish, give_up, plan, report
from afterturn.consumers.recorder.fold.sweeps import Sweep
from afterturn.consumers.recorder.fold.view import Snapshot
from afterturn.consumers.recorder.metrics import Phases
from afterturn.consumers.recorder.opening import check_checkpoint, check_last_record, settled_checkpoint, start_of
from afterturn.consumers.recorder.reading import read
from afterturn.consumers.recorder.sweeping import Unconfirmed, sweep
from afterturn.consumers.recorder.wanted import ids_of
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.commands import Collect
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import ForeignWrite
from afterturn.streams.lanes.seam import Applied, Start
from afterturn.streams.records import OutRecord, Record

COLLECT_AFTER = 86_400.0
"""Seconds for which the log's start must have passed what is collected."""
Batch = Sequence[Arrival | Rejected]


class PartitionWriter:
    """Folds one partition's records into the store; at every moment its points are the fold up to the checkpoint."""

    def __init__(
        self,
        partition: int,
        store: WriteStore,
        embedder: Embedder,
        fold: FoldSettings,
        announcer: Announcer,
        limits: BatchLimits = LIMITS,
        collect_after: float = COLLECT_AFTER,
    ) -> None:
        self._partition = partition
        self._store = store
        self._embedder = embedder
        self._fold = fold
        self._announcer = announcer
        self._limits = limits
        self._at = 0
        self._before: Checkpoint | None = None
        self._log_start: LogStart | None = None
        self._dead: frozenset[int] = frozenset()
        self._collect_after_ms = int(collect_after * 1_000)

    async def open(self) -> Start:
        """Read the checkpoint once every earlier write has landed.

        Raises:
            Retry: the store is away.
            Stop: the checkpoint is of a newer plan, of another epoch, or spoilt.
        """
        checkpoint = await settled_checkpoint(self._store, self._partition)
        check_checkpoint(checkpoint, self._fold)
        self._at, self._before = checkpoint.next, checkpoint
        self._log_start = log_start_of(checkpoint)
        return start_of(checkpoint, self._fold)

    def recognise(self, record: Record) -> None:
        """Compare the record before the checkpoint with what the checkpoint keeps of the last one folded in.

        Raises:
            Stop: they differ: this is another log than the one the store was folded from.
        """
        check_last_record(self._before, record)

    def heed(self, dead: frozenset[int]) -> None:
        """Fold the records at these offsets as dead letters: that was decided at run time."""
        self._dead = dead

    async def count(self, opens: int, begun: int) -> None:
        """Keep in the checkpoint how often it was opened, and its next record begun alone, without progress."""
        await self._store.count(self._partition, opens, begun)

    async def told(self, offset: int) -> None:
        """Keep in the checkpoint that everything below an offset is announced."""
        await self._store.told(self._partition, rev_of(self._fold.epoch, offset))

    async def skip(self, offset: int) -> None:
        """Move the checkpoint on to where the log begins: what lay between is given up."""
        following = rev_of(self._fold.epoch, offset)
        checkpoint = Checkpoint(partition=self._partition, next=following, told=following, plan_version=PLAN_VERSION)
        await self._store.write([], previous=self._at, next_=following, checkpoint=checkpoint)
        self._at, self._before = following, checkpoint

    async def bury(self, record: Record, reason: str, detail_type: str, attempts: int) -> tuple[OutRecord, ...]:
        """What makes a record a dead letter; nothing where it was applied before, or a part of it has landed.

        A collection is never given up: it is our own command, and what it has deleted leaves no trace to see.

        Raises:
            ForeignWrite: another owner has moved the checkpoint.
        """
        item = decode(record, self._fold)
        arrival = command_of(item)
        if item.rev < self._at or (arrival is not None and isinstance(arrival.command, Collect)):
            return ()
        tenants = {arrival.tenant} if arrival is not None and arrival.tenant else set[str]()
        await self._store.settle(self._partition)  # what has reached the store before is there whole, then
        checkpoint, landed = await self._store.landing(self._partition, tenants, item.rev)
        if checkpoint is None or checkpoint.next != self._at:
            raise ForeignWrite(self._partition, self._at, checkpoint.next if checkpoint else None)
        if landed:
            return ()
        fault = item.fault if isinstance(item, Rejected) else given_up(reason)
        return self._announcer.bury(item, fault, detail_type, attempts)

    def collect(self, log_start: int, now_ms: int) -> OutRecord | None:
        """A look at where the log begins; the collection to publish, once that has been long enough ago."""
        self._log_start, below = look(self._log_start, log_start, now_ms, self._collect_after_ms)
        return None if below is None else collect_record(self._fold, self._partition, below, now_ms)

    async def apply(self, records: Sequence[Record], still_ours: Callable[[], None]) -> Applied:
        """Apply as many of the records as one write takes, in order; says how many those were, and what to announce.

        ``still_ours`` is asked before every write and raises where the lane may no longer write.

        Raises:
            Retry: store or embedder are away: try again from the start.
            Reopen: another owner is writing.
            Stop: the store is not what this lane left.
        """
        clock = Phases()
        # 1. decode: what can't be decoded, validated or routed is a dead letter with its reason.
        batch: Batch = cut((decode(record, self._fold) for record in records), self._at, self._fold, self._limits)
        clock.passed("decode")
        if batch[0].rev < self._at:
            finished = await self._reported(batch)
            clock.passed("read")
        else:
            batch, planned = await self._planned(batch, still_ours, clock)
            # 4. embed what is new, once.
            embedded = await embed(planned.points, self._embedder)
            clock.passed("embed")
            # 5. write: one conditional upsert of everything the batch changes.
            await self._write(batch, embedded, still_ours)
            clock.passed("write")
            finished = Finished(planned.decisions, planned.points, embedded)
        return self._announcer.announce(batch, finished, clock.seconds)

    async def _reported(self, batch: Batch) -> Finished:
        """Below the checkpoint the recorded outcomes are announced, and nothing is written."""
        commands = [item for item in batch if isinstance(item, Arrival)]
        return Finished(report(await self._store.points(ids_of(commands)), batch))

    async def _planned(self, batch: Batch, still_ours: Callable[[], None], clock: Phases) -> tuple[Batch, Plan]:
        while True:
            # 2. read: receipts and states, the lowest-ranked of tenants at their cap, last the checkpoint.
            snapshot = await read(self._store, self._partition, batch, self._fold, self._at)
            clock.passed("read")
            # 3. plan: pure, in offset order.
            planned = plan(snapshot, batch, self._fold, self._dead)
            clock.passed("plan")
            if planned.sweep is not None:
                swept = await self._swept(planned.sweep, snapshot, still_ours)
                clock.passed("sweep")
                return batch, swept
            if len(batch) == 1 or fits(planned.points, self._fold, self._limits):
                return batch, planned
            batch = batch[: len(batch) // 2]

    async def _swept(self, wanted: Sweep, snapshot: Snapshot, still_ours: Callable[[], None]) -> Plan:
        """A command that selects changes what it selects in chunks of its own rev; what it folds comes last."""
        rev = wanted.arrival.rev

        async def put(writes: Sequence[PointWrite]) -> None:
            still_ours()
            await self._store.write(writes, previous=self._at, next_=rev + 1, checkpoint=None, still_ours=still_ours)

        try:
            swept = await sweep(self._store, wanted, put, still_ours, self._limits.points)
        except Unconfirmed:
            return give_up(wanted, snapshot)
        return finish(wanted, swept, snapshot)

    async def _write(self, batch: Batch, embedded: Embedded, still_ours: Callable[[], None]) -> None:
        following = batch[-1].rev + 1
        key, time = last_of(batch[-1].record)
        seen = self._log_start
        checkpoint = Checkpoint(
            partition=self._partition,
            next=following,
            told=self._at,
            key=key,
            time=time,
            plan_version=PLAN_VERSION,
            log_start=seen.offset if seen else None,
            log_start_seen=seen.seen_ms if seen else None,
            collected=seen.collected if seen else 0,
        )
        receipt = batch[0].receipt if isinstance(batch[0], Arrival) else ""
        parts = chunks(embedded.writes, receipt, self._fold, self._limits)
        for number, part in enumerate(parts, 1):
            still_ours()
            last = checkpoint if number == len(parts) else None
            await self._store.write(part, previous=self._at, next_=following, checkpoint=last, still_ours=still_ours)
        self._at = following
