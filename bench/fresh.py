"""From publishing a turn to reading it from the store, over a bare produce, consume, embed, upsert and read."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

from support.kafka import KafkaBroker
from support.recorders import RecorderProcess, service_environment
from support.store import StoreProcess

from afterturn.consumers.recorder.embedding import embed
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.points import StoredPoint
from afterturn.streams import TurnPublisher
from afterturn.streams.kafka import LogReader, OutRecord, Producer
from bench.figures import Figure
from bench.lanes import Place, percentile, place, plain_store
from bench.recall import Say
from bench.workload import batches, turns, write

TENANTS = 20
WARM_UP = 20
LOOK_EVERY = 0.001
_LONGEST = 30.0


async def measure(
    kafka: KafkaBroker, store: StoreProcess, folder: Path, embedder: Embedder, asked: int, say: Say
) -> list[Figure]:
    """p50 and p95 of both ways, one turn each in turn; the recorder is a process of its own, as it is run."""
    there, bare = [await place(kafka, store, embedder, name) for name in ("fresh", "bare")]
    environment = service_environment(kafka.bootstrap, store.url, "fresh") | {"QDRANT_ALIAS": there.store.alias}
    recorder = RecorderProcess(folder, environment)
    await asyncio.to_thread(recorder.start)
    say(f"{asked} turns, one by one, each way")
    try:
        await _ready(recorder)
        ours, raw = await _in_turn(there, bare, list(turns(asked + WARM_UP, TENANTS)))
    finally:
        await asyncio.to_thread(recorder.child.stop)
    names = {0.5: "p50", 0.95: "p95"}
    figures: list[Figure] = []
    for share, name in names.items():
        mine, theirs = percentile(ours[WARM_UP:], share), percentile(raw[WARM_UP:], share)
        figures += [
            Figure(f"turn to readable {name}", mine * 1_000, "ms", "published, recorded, read from the store"),
            Figure(f"bare path {name}", theirs * 1_000, "ms", "produce, consume, embed, upsert, read"),
            Figure(f"turn to readable / bare path, {name}", mine / theirs, "", at_most=2.0),
        ]
    return figures


async def _ready(recorder: RecorderProcess) -> None:
    deadline = time.monotonic() + 60
    while (await asyncio.to_thread(recorder.ready))["status"] != "ready":
        if time.monotonic() > deadline:
            raise TimeoutError("the recorder was not ready after 60 s")
        await asyncio.sleep(0.1)


async def _in_turn(there: Place, bare: Place, made: Sequence[TurnCompleted]) -> tuple[list[float], list[float]]:
    fold = bare.service.fold(bare.embedder)
    points = _points_of(bare, made)
    ours: list[float] = []
    raw: list[float] = []
    async with AsyncExitStack() as stack:
        publisher = await stack.enter_async_context(
            TurnPublisher(there.kafka, source="bench", topics=there.service.topics)
        )
        producer = await stack.enter_async_context(Producer(bare.kafka))
        reader = await stack.enter_async_context(LogReader(bare.kafka, bare.service.topics.turns))
        await reader.assign(dict.fromkeys(range(fold.partitions), 0))
        mine = plain_store(await stack.enter_async_context(opened(there.store)), fold)
        theirs = plain_store(await stack.enter_async_context(opened(bare.store)), fold)
        for turn in made:
            began = time.perf_counter()
            token = await publisher.publish(turn)
            await _readable(mine, token.receipt)
            ours.append(time.perf_counter() - began)
            began = time.perf_counter()
            await _bare(bare, turn, producer, reader, theirs, points[turn.turn_id])
            raw.append(time.perf_counter() - began)
    return ours, raw


def _points_of(bare: Place, made: Sequence[TurnCompleted]) -> dict[str, tuple[str, StoredPoint]]:
    """Each turn's memory, made beforehand: the bare path plans nothing."""
    found: dict[str, tuple[str, StoredPoint]] = {}
    for _, _, points in batches(made, bare.service.fold(bare.embedder)):
        for id_, point in points.items():
            if turn_id := getattr(point, "turn_id", None):
                found[turn_id] = id_, point
    return found


async def _bare(
    bare: Place,
    turn: TurnCompleted,
    producer: Producer,
    reader: LogReader,
    store: WriteStore,
    memory: tuple[str, StoredPoint],
) -> None:
    encoded = encode(turn, Attributes(turn.turn_id, "bench", turn.TYPE, turn.occurred_at))
    await producer.send(OutRecord(bare.service.topics.turns, encoded.key, encoded.value, encoded.headers))
    while not (found := await reader.getmany(timeout=0.05)):
        pass
    id_, point = memory
    (record,) = next(iter(found.values()))
    await write(store, record.partition, (await embed({id_: point}, bare.embedder)).writes, record.offset + 1)
    await _readable(store, id_)


async def _readable(store: WriteStore, id_: str) -> None:
    deadline = time.monotonic() + _LONGEST
    while not await store.points([id_]):
        if time.monotonic() > deadline:
            raise TimeoutError(f"not readable after {_LONGEST:.0f} s")
        await asyncio.sleep(LOOK_EVERY)
