"""The dead-letter topic as it stands: letters with what became of them, their replays and their markers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from time import monotonic

from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.schemas.settings import Partitioner
from afterturn.streams import dead_letters
from afterturn.streams.dead_letters import Letter, LetterId, Marker, Origin, State, Wanted
from afterturn.streams.errors import BrokerUnavailable, Retry, UnknownTopic
from afterturn.streams.kafka import KafkaSettings, LogReader, Producer, start_when_available
from afterturn.streams.lifetime import Startable
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import OutRecord, Position, Record
from afterturn.streams.topics import TopicNames

OnProgress = Callable[[int, int], None]
"""Told how many offsets of how many were read."""

_MAX_REPLAY_BYTES = 64 * 1024 * 1024
"""A record that was packed on its way in may be larger than a topic takes; packed again it fits again."""
_STALLED_S = 30.0
_ALL: Wanted = Wanted()


@dataclass(frozen=True, slots=True)
class Logs:
    """Whose letters are read, and onto which turn log they are replayed.

    Attributes:
        letters: the topics whose dead letters they are; ``letters_epoch`` is the epoch of their turn log, of letters
            that don't say it.
        onto: the topics whose turn log replays go to: the same, unless there is another log since.
    """

    letters: TopicNames
    letters_epoch: int
    onto: TopicNames
    partitioner: Partitioner


@dataclass(frozen=True, slots=True)
class Listed:
    """A letter and what became of it, the last of several; ``replayed_as`` is its replay's ``partition/offset``."""

    letter: Letter
    state: State = "waiting"
    replayed_as: str = ""


class LetterLog(Startable):
    """Reads letters and answers them; an async context manager. Nothing is written before ``replay`` or ``drop``."""

    def __init__(self, kafka: KafkaSettings, logs: Logs) -> None:
        self._kafka = kafka
        self._logs = logs
        self._reader = LogReader(kafka, logs.letters.dead_letter)
        self._stood = LogReader(kafka, logs.letters.turns, max_records=1)
        self._producer = Producer(kafka, partitioner=logs.partitioner, max_request_size=_MAX_REPLAY_BYTES)
        self._writing = False
        self._homes: dict[str, int] = {}
        self._resources = AsyncExitStack()

    async def start(self, on_wait: Callable[[Retry, float], None] | None = None) -> None:
        """Connect; waits for a broker that is away, and says so to ``on_wait``.

        Raises:
            Stop: the settings are wrong, or the topic is not there.
        """
        await start_when_available(self._reader.start, on_wait=on_wait)
        self._resources.push_async_callback(self._reader.close)
        self._resources.push_async_callback(self._stood.close)

    async def close(self) -> None:
        """Disconnect."""
        await self._resources.aclose()

    async def listed(self, wanted: Wanted = _ALL, on_progress: OnProgress | None = None) -> list[Listed]:
        """The wanted letters that the topic holds now, oldest first, without their records' own headers.

        Raises:
            Retry: the broker is away.
        """
        letters: dict[LetterId, Letter] = {}
        markers: dict[LetterId, Marker] = {}
        async for record in self._records(await self._beginning(wanted), on_progress):
            match dead_letters.read(record):
                case Letter() as letter if wanted.takes(letter):
                    letters[letter.id] = replace(letter, headers=())
                case Marker() as marker:
                    markers[marker.letter] = marker
                case _:
                    pass
        found = [_listed(letter, markers.get(id_)) for id_, letter in letters.items()]
        return sorted(found, key=lambda each: (each.letter.at, each.letter.id))

    async def whole(
        self, ids: Collection[LetterId], on_progress: OnProgress | None = None
    ) -> AsyncIterator[tuple[Letter, Record]]:
        """Those of these letters that are there, with their records in the topic, by partition and offset."""
        chosen = frozenset(ids)
        starts = await self._existing({each.partition for each in chosen})
        first = {p: max(starts[p], min(i.offset for i in chosen if i.partition == p)) for p in starts}
        last = {p: max(i.offset for i in chosen if i.partition == p) + 1 for p in starts}
        async for record in self._records(first, on_progress, last):
            if LetterId(record.partition, record.offset) in chosen:
                letter = dead_letters.read(record)
                if isinstance(letter, Letter):
                    yield letter, record

    async def replay(
        self, letter: Letter, record: Record, *, force: bool = False, dry: bool = False
    ) -> Position | None:
        """Put a letter's record on the turn log again, and mark the letter; where the replay stands.

        Without ``force`` what would be a dead letter again is refused. ``dry`` writes nothing and returns None.

        Raises:
            ContractError: it can't be replayed, and why.
            RecordTooLarge: no topic takes it.
            Retry: the broker is away; replaying it again is safe.
        """
        out = await self._replay_of(letter, record, force=force)
        if dry:
            return None
        await self._write()
        position = await self._producer.send(out)
        await self._producer.send(dead_letters.replayed(letter, self._logs.letters.dead_letter, position))
        return position

    async def drop(self, letter: Letter) -> None:
        """Mark a letter as dropped.

        Raises:
            Retry: the broker is away.
        """
        await self._write()
        await self._producer.send(dead_letters.dropped(letter, self._logs.letters.dead_letter))

    async def _replay_of(self, letter: Letter, record: Record, *, force: bool) -> OutRecord:
        own = await self._own(letter, record)
        if not force and (why := dead_letters.dead_again(own)) is not None:
            raise ContractError("invalid", str(letter.id), f"it would be a dead letter again ({why}); see --force")
        onto = self._logs.onto.turns
        epoch = _stood(letter).epoch
        rev = await self._rev_of(own, self._logs.letters_epoch if epoch is None else epoch)
        return dead_letters.replay_of(letter, own, rev, onto, await self._home(own, onto))

    async def _home(self, own: Record, topic: str) -> int:
        """The partition a record belongs to; without a key the one it stood in."""
        if topic not in self._homes:
            async with LogReader(self._kafka, topic) as reader:
                self._homes[topic] = await reader.partitions()
        if own.key is None:
            return own.partition % self._homes[topic]
        return partition_for(own.key, self._homes[topic], self._logs.partitioner)

    async def _rev_of(self, own: Record, epoch: int) -> int:
        """Where a record stood that was a dead letter, as a rev in its tenant's order.

        Offsets are a partition's own. Of a record that stood in another than its tenant's it is told by time where the
        tenant's order was then; by the epoch's beginning where the log holds the record no longer, so that every
        erasure of the tenant counts as later.
        """
        home = await self._home(own, own.topic)
        if home == own.partition:
            return rev_of(epoch, own.offset)
        found = await self._record_at(Origin(own.topic, own.partition, own.offset))
        if found is None:
            return dead_letters.rev_before(epoch, 0)
        offset = (await self._stood.offsets_for_times({home: found.timestamp_ms}))[home]
        if offset is None:
            offset = (await self._stood.end_offsets([home]))[home]
        return dead_letters.rev_before(epoch, offset)

    async def _own(self, letter: Letter, record: Record) -> Record:
        """The record as it was; from the turn log where the letter leaves something out."""
        stood = _stood(letter)
        if stood.topic != self._logs.letters.turns:
            raise ContractError("invalid", str(letter.id), f"its record stood on another topic, {stood.topic}")
        if not letter.left_out:
            return dead_letters.own_record(letter, record.value)
        found = await self._record_at(stood)
        if found is None or not dead_letters.is_whole(letter, found):
            problem = f"its {letter.left_out} was left out, and the turn log no longer holds it at {stood}"
            raise ContractError("invalid", str(letter.id), problem)
        return found

    async def _record_at(self, stood: Origin) -> Record | None:
        try:
            await self._stood.start()
            return await self._stood.record_at(stood.partition, stood.offset)
        except UnknownTopic:
            return None

    async def _write(self) -> None:
        if not self._writing:
            await self._producer.start()
            self._resources.push_async_callback(self._producer.close)
            self._writing = True

    async def _beginning(self, wanted: Wanted) -> dict[int, int]:
        """Where to read from: a letter's marker stands after it, so nothing before the time is needed."""
        partitions = range(await self._reader.partitions())
        starts = await self._reader.beginning_offsets(partitions)
        if wanted.since is None:
            return starts
        moment = max(0, int(wanted.since.timestamp() * 1_000))
        found = await self._reader.offsets_for_times(dict.fromkeys(partitions, moment))
        return {p: max(starts[p], offset) for p, offset in found.items() if offset is not None}

    async def _existing(self, partitions: Collection[int]) -> dict[int, int]:
        count = await self._reader.partitions()
        return await self._reader.beginning_offsets([p for p in partitions if p < count])

    async def _records(
        self, first: dict[int, int], on_progress: OnProgress | None, last: dict[int, int] | None = None
    ) -> AsyncIterator[Record]:
        """The records from these offsets to what ends the partitions now (or to ``last``); others may be reading on."""
        ends = await self._reader.end_offsets(first) if first else {}
        if last is not None:
            ends = {p: min(end, last[p]) for p, end in ends.items()}
        at = {p: offset for p, offset in first.items() if offset < ends[p]}
        total = sum(ends[p] - first[p] for p in at)
        if at:
            await self._reader.assign(at)
        moved = monotonic()
        while any(at[p] < ends[p] for p in at):
            for records in (await self._reader.getmany(timeout=0.25)).values():
                for record in records:
                    if record.offset < ends[record.partition]:
                        yield record
                moved = monotonic()
            now_at = {p: await self._reader.position(p) for p in at}
            moved = monotonic() if now_at != at else moved
            at = now_at
            if monotonic() - moved > _STALLED_S:
                raise BrokerUnavailable("read dead letters", f"nothing came in {_STALLED_S:g} s")
            if on_progress is not None:
                on_progress(sum(min(at[p], ends[p]) - first[p] for p in at), total)


def _stood(letter: Letter) -> Origin:
    """Where a letter's record stood.

    Raises:
        ContractError: the letter doesn't say it.
    """
    if letter.stood is None:
        raise ContractError("invalid", str(letter.id), "the letter does not say where its record stood")
    return letter.stood


def _listed(letter: Letter, marker: Marker | None) -> Listed:
    return Listed(letter) if marker is None else Listed(letter, marker.state, marker.replayed_as)
