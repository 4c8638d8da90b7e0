"""The recorder's throughput over a raw loop, and its memory as it goes on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from support.kafka import KafkaBroker
from support.recorders import RecorderProcess, service_environment, service_settings
from support.store import StoreProcess

from afterturn.consumers.preparing import prepare
from afterturn.consumers.recorder.embedding import embed
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams import KafkaSettings, TurnPublisher
from bench.figures import Figure
from bench.workload import batches, turns, write

TENANTS = 1_000
WARM = 0.2
"""The share of the messages after which measuring begins."""
Say = Callable[[str], None]


async def measure(kafka: KafkaBroker, store: StoreProcess, folder: Path, messages: int, say: Say) -> list[Figure]:
    """Messages a second of the recorder (Kafka included) over those of the raw loop, and memory at 20 % and at all."""
    environment = service_environment(kafka.bootstrap, store.url, "bench", partitions="12")
    service, client = service_settings(environment), KafkaSettings(bootstrap_servers=kafka.bootstrap)
    await prepare(service, client, StoreSettings(url=store.url))
    say(f"publishing {messages} turns")
    published = await _publish(client, service, messages)
    say("recording them")
    rate, early, late = await _record(RecorderProcess(folder, environment), messages)
    raw_messages = max(2_000, messages // 5)
    say(f"the raw loop over {raw_messages} of them")
    raw = await _raw_loop(service, store, raw_messages)
    return [
        Figure("publishing", published, "messages/s", "TurnPublisher, 500 in flight"),
        Figure("recorder throughput", rate, "messages/s", f"wordllama, {TENANTS} tenants, Kafka: {kafka.kind}"),
        Figure("raw loop", raw, "messages/s", "the same points in the same batches, no Kafka, no reads"),
        Figure("recorder / raw loop", rate / raw, "", "goal of a later issue: 0.8", at_least=0.5),
        Figure("recorder memory", late, "MB", f"after {messages} messages"),
        Figure("memory, all / first fifth", late / early, "", "flat within 10 %", at_most=1.1),
    ]


async def _publish(client: KafkaSettings, service: ServiceSettings, messages: int) -> float:
    began = time.perf_counter()
    window = asyncio.Semaphore(500)
    async with TurnPublisher(client, source="bench", topics=service.topics) as publisher:

        async def one(turn: object) -> None:
            try:
                await publisher.publish(turn)  # type: ignore[arg-type]  # a turn
            finally:
                window.release()

        async with asyncio.TaskGroup() as group:
            for turn in turns(messages, TENANTS):
                await window.acquire()
                group.create_task(one(turn))
    return messages / (time.perf_counter() - began)


async def _record(recorder: RecorderProcess, messages: int) -> tuple[float, float, float]:
    """Messages a second after the warm-up, resident memory (MB) then and at the end."""
    await asyncio.to_thread(recorder.start)
    try:
        warm, at_warm = await _until(recorder, int(messages * WARM))
        early = _resident(recorder)
        done, at_done = await _until(recorder, messages)
        return (done - warm) / (at_done - at_warm), early, _resident(recorder)
    finally:
        await asyncio.to_thread(recorder.child.stop)


async def _until(recorder: RecorderProcess, count: int) -> tuple[int, float]:
    """Wait until so many records are consumed; how many they were, and when."""
    deadline = time.monotonic() + 600
    while True:
        consumed = sum((await asyncio.to_thread(recorder.endings)).values())
        if consumed >= count:
            return consumed, time.perf_counter()
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {consumed} of {count} records after 600 s")
        await asyncio.sleep(0.1)


def _resident(recorder: RecorderProcess) -> float:
    status = Path(f"/proc/{recorder.child.pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return int(line.split()[1]) / 1_024


async def _raw_loop(service: ServiceSettings, store: StoreProcess, messages: int) -> float:
    embedder = await open_embedder(service.embedder)
    fold = service.fold(embedder).model_copy(update={"topic": "raw"})
    prepared = list(batches(list(turns(messages, TENANTS)), fold))
    async with opened(StoreSettings(url=store.url, alias="raw")) as client:
        await create_or_check(client, fold)
        memories = WriteStore(client, dimension=fold.dimension, epoch=0)
        began = time.perf_counter()
        for partition, following, points in prepared:
            await write(memories, partition, (await embed(points, embedder)).writes, following)
        spent = time.perf_counter() - began
    await embedder.close()
    return messages / spent
