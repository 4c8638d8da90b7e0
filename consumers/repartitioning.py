"""Another partition count: a drained log's collection is moved to new topics, a step at a time.

The order, so that it can be cut off anywhere and run again, and no recorder works meanwhile:

1. the old log is drained and nobody records; then the new topics are made, empty;
2. the collection's metadata say that a move is under way: from here on no service starts, with old or new settings;
3. drained once more: a recorder may have started between 1 and 2. If not, 2 is taken back;
4. the metadata say that points are changed: a second run doesn't ask for 3 again;
5. every checkpoint is put to the beginning of the new epoch: a late recorder of the old log stops at that;
6. every tenant's points get their new partition; the receipts of collections go;
7. the metadata get the new settings, and the mark of 2 goes, in one change.

A turn that comes onto the old log after 3 is no longer recorded; it is counted, so that it can be published again.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from time import monotonic

from afterturn.consumers.store.client import StoreClient, opened
from afterturn.consumers.store.doctor import require_version
from afterturn.consumers.store.moving import MovingStore, Underway
from afterturn.consumers.store.select import SelectStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import position_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import BrokerUnavailable, Stop
from afterturn.streams.kafka import Admin, KafkaSettings, LogReader
from afterturn.streams.partitioner import partition_for
from afterturn.streams.topics import TopicNames, TopicShape, create_or_check, plans

MAX_EPOCH = 511
_PAGE = 500
_ANSWERS_WITHIN_S = 60.0
OnProgress = Callable[[str, int, int | None], None]
"""Told a step, how much of it is done, and of how much if that is known."""


class NotDrained(Stop):
    """The log is still being recorded; ``lacks`` says what is missing, a line each."""

    def __init__(self, lacks: tuple[str, ...]) -> None:
        super().__init__("The turn log is still being recorded: let it be drained, end every recorder, try again.")
        self.lacks = lacks


@dataclass(frozen=True, slots=True)
class Move:
    """A collection's move from its settings to others; ``done`` where it has them already.

    Attributes:
        resumed: an earlier run had begun it.
        late: by partition of the old log, how many offsets were written after it was found drained.
    """

    before: FoldSettings
    to: FoldSettings
    done: bool = False
    resumed: bool = False
    tenants: int = 0
    late: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Drained:
    """Where a log and what was made of it stand, by partition; ``unread`` counts offsets with something unrecorded."""

    ends: Mapping[int, int]
    committed: Mapping[int, int | None]
    unread: Mapping[int, int]
    checkpoints: Mapping[int, Checkpoint | None]
    members: int = 0


def lacks_of(found: Drained, fold: FoldSettings) -> tuple[str, ...]:
    """What keeps a log from being drained, a line each; nothing where it is. Pure."""
    lines = _active(fold, found.members)
    for partition, end in found.ends.items():
        committed, checkpoint = found.committed[partition] or 0, found.checkpoints[partition]
        epoch, at = (fold.epoch, 0) if checkpoint is None else position_of(checkpoint.next)
        said = []
        if left := found.unread[partition]:
            said.append(f"{left} not recorded (committed {committed}, the log ends at {end})")
        if epoch != fold.epoch:
            said.append(f"the store is in epoch {epoch}, not {fold.epoch}")
        elif at != committed:
            said.append(f"the store is at {at}, the group has committed {committed}")
        if checkpoint is not None and checkpoint.spoilt:
            said.append("its checkpoint is marked spoilt")
        lines += [f"partition {partition}: {each}" for each in said]
    return tuple(lines)


def _active(fold: FoldSettings, members: int) -> list[str]:
    said = "1 member at work: end it" if members == 1 else f"{members} members at work: end every recorder"
    return [f"the group {fold.group} has {said}"] if members else []


def target_of(before: FoldSettings, partitions: int, prefix: str) -> FoldSettings:
    """The settings a collection is to have: another topic, another count, the next epoch.

    Raises:
        ContractError: the prefix is the log's own, or there is no epoch left.
    """
    topic = TopicNames(prefix).turns
    if topic == before.topic:
        raise ContractError("invalid", "--prefix", f"must be another than that of {before.topic}, the log as it is")
    if before.epoch >= MAX_EPOCH:
        raise ContractError("invalid", "--partitions", f"the log is in its last epoch, {before.epoch}")
    return before.model_copy(update={"topic": topic, "partitions": partitions, "epoch": before.epoch + 1})


class Repartitioning:
    """The move of one collection to so many partitions under new topics."""

    def __init__(self, kafka: KafkaSettings, client: StoreClient, shape: TopicShape, prefix: str) -> None:
        self._kafka = kafka
        self._client = client
        self._store = MovingStore(client)
        self._shape = shape
        self._prefix = prefix

    async def examine(self) -> Move:
        """What would be done; nothing is changed.

        Raises:
            Retry: Kafka or Qdrant is away.
            NotDrained: the log is still being recorded.
            Stop: the new topics are not as they should be, or in use; or another move is under way.
        """
        await require_version(self._client)
        underway = await self._store.underway()
        move = self._move(underway)
        if not move.done and not underway.begun:
            await self._require_drained(move.before)
        if not move.done and underway.to is None:
            await self._require_topics(create=False)
        return move

    async def carry_out(self, on_progress: OnProgress) -> Move:
        """Do it, or what an earlier run has left of it.

        Raises:
            As ``examine``.
        """
        try:
            move = await self.examine()
        except NotDrained:
            await self._take_back()
            raise
        if move.done:
            return move
        before, to = move.before, move.to
        await self._require_topics(create=True, empty=not move.resumed)
        if not (await self._store.underway()).begun:
            await self._begin(before, to)
        await self._require_nobody(before)
        on_progress("checkpoints", 0, None)
        await self._store.begin_epoch(max(before.partitions, to.partitions), to.epoch)
        tenants = await self._move_tenants(to, on_progress)
        await self._store.forget_collections()
        late = await self._late(before)
        await self._store.finish(to)
        return Move(before, to, resumed=move.resumed, tenants=tenants, late=late)

    def _move(self, underway: Underway) -> Move:
        before, topic = underway.settings, TopicNames(self._prefix).turns
        if underway.to is None and (before.topic, before.partitions) == (topic, self._shape.partitions):
            return Move(before, before, done=True)
        to = target_of(before, self._shape.partitions, self._prefix)
        if underway.to is not None and underway.to != to:
            prefix = underway.to.topic.removesuffix(".turns")
            raise Stop(
                f"A move to {underway.to.partitions} partitions under {prefix} was begun, and not finished.",
                command_that_helps=(
                    f"afterturn topics repartition --partitions {underway.to.partitions} --prefix {prefix}"
                ),
            )
        return Move(before, to, resumed=underway.to is not None)

    async def _begin(self, before: FoldSettings, to: FoldSettings) -> None:
        await self._store.mark(to, begun=False)
        try:
            await self._require_drained(before)
        except NotDrained:
            await self._take_back()
            raise
        await self._store.mark(to, begun=True)

    async def _take_back(self) -> None:
        """Let recorders start again, so that the log can be drained: as long as no point was changed."""
        underway = await self._store.underway()
        if underway.to is not None and not underway.begun:
            await self._store.unmark()

    async def _require_topics(self, *, create: bool, empty: bool = True) -> None:
        wanted = plans(TopicNames(self._prefix), self._shape)
        async with Admin(self._kafka) as admin:
            there = await admin.topics([wanted[0].name])
            found = await create_or_check(admin, wanted, create=create) if create or there else []
        if wrong := [str(each) for each in found if each.severity == "wrong" and (create or each.found is not None)]:
            raise Stop(f"Topics of the prefix {self._prefix} are there and differ: {'; '.join(wrong)}.")
        if there and empty:
            async with LogReader(self._kafka, wanted[0].name) as reader:
                ends = await reader.end_offsets(range(await reader.partitions()))
            if any(ends.values()):
                raise Stop(f"The topic {wanted[0].name} holds records already: choose another prefix.")

    async def _require_drained(self, fold: FoldSettings) -> None:
        async with self._log(fold) as (reader, admin):
            partitions = range(await reader.partitions())
            if len(partitions) != fold.partitions:
                raise Stop(f"{fold.topic} has {len(partitions)} partitions, the collection's metadata say otherwise.")
            committed = await admin.committed(fold.group, fold.topic, partitions)
            found = Drained(
                ends=await reader.end_offsets(partitions),
                committed=committed,
                unread=await unread(reader, {p: committed[p] or 0 for p in partitions}),
                checkpoints=await self._store.checkpoints(partitions),
                members=await admin.members(fold.group),
            )
        if lacks := lacks_of(found, fold):
            raise NotDrained(lacks)

    async def _require_nobody(self, fold: FoldSettings) -> None:
        async with Admin(self._kafka) as admin:
            members = await admin.members(fold.group)
        if lines := _active(fold, members):
            raise NotDrained(tuple(lines))

    async def _move_tenants(self, to: FoldSettings, on_progress: OnProgress) -> int:
        done = 0
        select = SelectStore(self._client)
        total = await select.count_tenants()
        async for page in select.tenants(_PAGE):
            await self._store.move_tenants(_homes({state.tenant for state in page.values()}, to))
            done += len(page)
            on_progress("tenants", done, total)
        on_progress("receipts", 0, None)
        async for names in self._store.receipts_tenants():
            await self._store.move_tenants(_homes(names - {""}, to))
        return done

    async def _late(self, fold: FoldSettings) -> dict[int, int]:
        async with self._log(fold) as (reader, admin):
            committed = await admin.committed(fold.group, fold.topic, range(fold.partitions))
            left = await unread(reader, {p: offset or 0 for p, offset in committed.items()})
        return {partition: count for partition, count in left.items() if count}

    @asynccontextmanager
    async def _log(self, fold: FoldSettings) -> AsyncIterator[tuple[LogReader, Admin]]:
        async with LogReader(self._kafka, fold.topic) as reader, Admin(self._kafka) as admin:
            yield reader, admin


async def unread(reader: LogReader, positions: Mapping[int, int]) -> dict[int, int]:
    """How many offsets from these positions on hold something to be read: a transaction's markers alone are nothing.

    What has left the log unread counts.
    """
    begins, ends = await reader.beginning_offsets(positions), await reader.end_offsets(positions)
    left = {p: ends[p] - at for p, at in positions.items()}
    asked = {p: at for p, at in positions.items() if begins[p] <= at < ends[p]}
    if asked:
        await reader.assign(asked)
    deadline = monotonic() + _ANSWERS_WITHIN_S
    while asked:
        if monotonic() > deadline:
            raise BrokerUnavailable("look for records", f"nothing came in {_ANSWERS_WITHIN_S:g} s")
        for partition in await reader.getmany(timeout=0.25):
            asked.pop(partition, None)  # there is a record
        for partition in list(asked):
            if await reader.position(partition) >= ends[partition]:
                left[partition] = 0
                del asked[partition]
    return left


def _homes(tenants: set[str], to: FoldSettings) -> dict[str, int]:
    return {tenant: partition_for(tenant.encode(), to.partitions, to.partitioner) for tenant in tenants}


@asynccontextmanager
async def opened_repartitioning(
    kafka: KafkaSettings, store: StoreSettings, shape: TopicShape, prefix: str
) -> AsyncIterator[Repartitioning]:
    """A move with its own client of the store."""
    async with opened(store) as client:
        yield Repartitioning(kafka, client, shape, prefix)
