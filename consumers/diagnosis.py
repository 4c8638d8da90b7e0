"""What ``afterturn doctor`` looks at: each check asks one thing and says what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store import collection
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.doctor import versions
from afterturn.consumers.store.read import ReadStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.ids import position_of
from afterturn.streams.dead_letters import REASON, is_letter
from afterturn.streams.kafka import Admin, KafkaSettings, LogReader
from afterturn.streams.topics import create_or_check, plans

Health = Literal["ok", "note", "wrong"]
RECENT_DEAD_LETTERS = 500


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check found; ``lines`` are details, one a line."""

    name: str
    health: Health
    said: str
    lines: tuple[str, ...] = ()


class Doctor:
    """The checks. Each reads the settings it needs, and raises what it met where it can't say anything."""

    def __init__(
        self,
        service: Callable[[], ServiceSettings],
        kafka: Callable[[], KafkaSettings],
        store: Callable[[], StoreSettings],
    ) -> None:
        self._service = service
        self._kafka = kafka
        self._store = store

    async def kafka(self) -> Finding:
        """Whether Kafka answers."""
        kafka = self._kafka()
        async with Admin(kafka) as admin:
            return Finding("kafka", "ok", f"{kafka.bootstrap_servers}: {_count(await admin.brokers(), 'broker')}")

    async def topics(self) -> Finding:
        """Whether the topics are as they should be."""
        async with Admin(self._kafka()) as admin:
            found = await create_or_check(admin, plans(self._service().topics, self._service().shape), create=False)
        wrong = any(difference.severity == "wrong" for difference in found)
        health: Health = "wrong" if wrong else "note" if found else "ok"
        said = (
            "as they should be"
            if not found
            else f"{_count(len(found), 'difference')}; afterturn init makes what is missing"
        )
        return Finding("topics", health, said, tuple(map(str, found)))

    async def qdrant(self) -> Finding:
        """Whether the store answers, and is new enough."""
        async with opened(self._store()) as client:
            found = await versions(client)
        health: Health = "ok" if found.new_enough else "wrong"
        return Finding(
            "qdrant", health, f"{self._store().address}: {found.title} {found.server} (1.19 or later is needed)"
        )

    async def collection(self) -> Finding:
        """Whether the collection was made with these settings, by this embedder."""
        embedder = await open_embedder(self._service().embedder)
        try:
            fold = self._service().fold(embedder)
        finally:
            await embedder.close()
        async with opened(self._store()) as client:
            found = await collection.check(client, fold)
            name = await collection.target(client)
        said = f"{name}: {fold.embedder}, {fold.dimension} dimensions"
        return Finding("collection", "wrong" if found else "ok", said, tuple(map(str, found)))

    async def embedder(self) -> Finding:
        """Whether the embedder opens and embeds."""
        embedder = await open_embedder(self._service().embedder)
        try:
            done = await embedder.embed(["a trial"])
        finally:
            await embedder.close()
        health: Health = "ok" if done.unembedded == 0 else "wrong"
        return Finding("embedder", health, f"{embedder.name}: {embedder.dimension} dimensions")

    async def lag(self) -> Finding:
        """How far the recorder is behind the log, and the store behind the recorder."""
        topic = self._service().topics.turns
        async with LogReader(self._kafka(), topic) as reader, Admin(self._kafka()) as admin:
            partitions = range(await reader.partitions())
            ends = await reader.end_offsets(partitions)
            committed = await admin.committed(self._service().group, topic, partitions)
        async with opened(self._store()) as client:
            read = ReadStore(client, dimension=1)
            found = {p: await read.checkpoint(p) for p in partitions}
        nexts = {p: position_of(c.next)[1] if c else 0 for p, c in found.items()}
        return lag_of(ends, committed, nexts)

    async def dead_letters(self) -> Finding:
        """How many dead letters there are, and why the most recent ones are."""
        async with LogReader(self._kafka(), self._service().topics.dead_letter) as reader:
            partitions = range(await reader.partitions())
            starts, ends = await reader.beginning_offsets(partitions), await reader.end_offsets(partitions)
            held = {p: ends[p] - starts[p] for p in partitions}
            positions = {p: max(starts[p], ends[p] - RECENT_DEAD_LETTERS) for p in partitions if held[p]}
            reasons: Counter[str] = Counter()
            if positions:
                await reader.assign(positions)
                while any(positions[p] < ends[p] for p in positions):
                    for records in (await reader.getmany(timeout=0.5)).values():
                        reasons.update(dict(r.headers)[REASON].decode() for r in records if is_letter(r))
                    positions = {p: await reader.position(p) for p in positions}
        return dead_letters_of(reasons)


def lag_of(ends: Mapping[int, int], committed: Mapping[int, int | None], nexts: Mapping[int, int]) -> Finding:
    """The lag of a group: records not yet recorded, and partitions whose store is behind what was committed. Pure."""
    waiting = {p: ends[p] - (committed[p] or 0) for p in ends}
    healing = [p for p in ends if nexts[p] < (committed[p] or 0)]
    lines = [f"partition {p}: {count} waiting (committed {committed[p]})" for p, count in waiting.items() if count]
    lines += [f"partition {p}: the store is at {nexts[p]}, behind {committed[p]}: it heals" for p in healing]
    total = sum(waiting.values())
    health: Health = "ok" if not total and not healing else "note"
    return Finding(
        "lag", health, f"{_count(total, 'record')} waiting in {_count(len(ends), 'partition')}", tuple(lines)
    )


def dead_letters_of(reasons: Mapping[str, int]) -> Finding:
    """What recent dead letters say; misrouted ones come from a publisher with another partitioner. Pure."""
    total = sum(reasons.values())
    lines = [f"{reason}: {count}" for reason, count in sorted(reasons.items())]
    return Finding(
        "dead letters", "note" if total else "ok", f"{total} (of the most recent)" if total else "none", tuple(lines)
    )


def misrouted(findings: Sequence[Finding]) -> bool:
    """Whether a publisher's partitioner needs setting."""
    return any(line.startswith("misrouted:") for f in findings if f.name == "dead letters" for line in f.lines)


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
