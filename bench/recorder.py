"""The recorder's throughput, as a process and Kafka included, over the bare loop of the same points."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

from support.kafka import KafkaBroker
from support.recorders import RecorderProcess, service_environment
from support.store import StoreProcess

from afterturn.consumers.text.embedder import Embedder
from bench.figures import Figure
from bench.lanes import WARM, median, place, publish, spread
from bench.raw import raw_rate
from bench.recall import Say
from bench.workload import turns

TENANTS = 1_000
_LONGEST = 600.0


async def measure(
    kafka: KafkaBroker, store: StoreProcess, folder: Path, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """Messages a second of both, in turn; each round has topics and a collection of its own."""
    published: list[float] = []
    recorded: list[float] = []
    raws: list[float] = []
    made = list(turns(messages, TENANTS))
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}: {messages} turns")
        there = await place(kafka, store, embedder, f"recorder{number}")
        began = time.perf_counter()
        await publish(there, made)
        published.append(messages / (time.perf_counter() - began))
        environment = service_environment(kafka.bootstrap, store.url, f"recorder{number}")
        recorder = RecorderProcess(folder, environment | {"QDRANT_ALIAS": there.store.alias})
        recorded.append(await _record(recorder, messages))
        raws.append(await raw_rate(there, made))
    ratios = [ours / raw for ours, raw in zip(recorded, raws, strict=True)]
    return [
        Figure("publishing", median(published), "messages/s", f"TurnPublisher, 500 in flight; {spread(published)}"),
        Figure(
            "recorder", median(recorded), "messages/s", f"{TENANTS} tenants, Kafka: {kafka.kind}; {spread(recorded)}"
        ),
        Figure("raw loop", median(raws), "messages/s", f"the same points in the same batches; {spread(raws)}"),
        Figure("recorder / raw loop", median(ratios), "", spread(ratios), at_least=0.8),
    ]


async def _record(recorder: RecorderProcess, messages: int) -> float:
    """Messages a second after the warm-up."""
    await asyncio.to_thread(recorder.start)
    try:
        warm, at_warm = await _until(recorder, int(messages * WARM))
        done, at_done = await _until(recorder, messages)
        return (done - warm) / (at_done - at_warm)
    finally:
        await asyncio.to_thread(recorder.child.stop)


async def _until(recorder: RecorderProcess, count: int) -> tuple[int, float]:
    """Wait until so many records are consumed; how many they were, and when."""
    deadline = time.monotonic() + _LONGEST
    while True:
        consumed = sum((await asyncio.to_thread(recorder.endings)).values())
        if consumed >= count:
            return consumed, time.perf_counter()
        if time.monotonic() > deadline:
            raise TimeoutError(f"only {consumed} of {count} records after {_LONGEST:.0f} s")
        await asyncio.sleep(0.1)
