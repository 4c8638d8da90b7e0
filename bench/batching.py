"""How large a batch should be, and whether a lane should wait for more before it takes one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.recorder.cutting import BatchLimits
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.token import Token
from afterturn.streams import TurnPublisher
from bench.figures import Figure
from bench.lanes import Drain, Place, Variant, drain, median, percentile, place, publish, spread
from bench.recall import Say
from bench.workload import turns

TENANTS = 200
SIZES = (50, 100, 200, 400, 500)
"""The collection's strict mode takes 512 points at most."""
WAITS = (0.0, 0.02, 0.1)
RATE = 150
"""Turns a second while latency is measured: well below what the lanes can do."""


async def measure(
    kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """Throughput of a backlog by batch size; latency and processor time at a steady rate by wait."""
    there = await place(kafka, store, embedder, "batching")
    await publish(there, turns(messages, TENANTS))
    say(f"{messages} turns in batches of {', '.join(map(str, SIZES))} points, {rounds} rounds")
    drains: dict[int, list[Drain]] = {size: [] for size in SIZES}
    for number in range(rounds):
        for size in SIZES if number % 2 == 0 else SIZES[::-1]:
            drains[size].append(await drain(there, messages, Variant(limits=BatchLimits(points=size))))
    figures: list[Figure] = []
    for size, found in drains.items():
        rates = [each.rate for each in found]
        figures.append(Figure(f"batches of {size} points", median(rates), "messages/s", spread(rates)))
        step = median([each.step for each in found]) * 1_000
        figures.append(Figure(f"a batch of {size} points", step, "ms", "with 12 lanes side by side"))
    for wait in WAITS:
        steady = await place(kafka, store, embedder, f"waiting{int(wait * 1_000)}")
        say(f"{RATE} turns a second, waiting {wait * 1_000:.0f} ms for more")
        figures += await _steady(steady, wait, list(turns(RATE * 6, TENANTS)))
    return figures


async def _steady(there: Place, wait: float, made: Sequence[TurnCompleted]) -> list[Figure]:
    """Latency from publishing to the commit, and processor time, at a steady rate."""
    begun: list[tuple[float, Token]] = []
    said: list[asyncio.Task[None]] = []
    worked = time.process_time()
    found = await drain(
        there, len(made), Variant(wait=wait), lambda: said.append(asyncio.create_task(_at_rate(there, made, begun)))
    )
    await said[0]
    spent = (time.process_time() - worked) / len(made) * 1_000
    latencies = [found.seen(token) - at for at, token in begun]
    name = f"waiting {wait * 1_000:.0f} ms"
    return [
        Figure(f"{name}: turn to commit p50", percentile(latencies, 0.5) * 1_000, "ms", f"{RATE} turns a second"),
        Figure(f"{name}: turn to commit p95", percentile(latencies, 0.95) * 1_000, "ms"),
        Figure(f"{name}: processor time", spent, "ms/message", f"{len(found.batches)} batches, publishing included"),
    ]


async def _at_rate(there: Place, made: Sequence[TurnCompleted], begun: list[tuple[float, Token]]) -> None:
    async with TurnPublisher(there.kafka, source="bench", topics=there.service.topics) as publisher:

        async def one(turn: TurnCompleted) -> None:
            at = time.perf_counter()
            begun.append((at, await publisher.publish(turn)))

        first = time.perf_counter()
        async with asyncio.TaskGroup() as group:
            for number, turn in enumerate(made):
                await asyncio.sleep(max(0.0, first + number / RATE - time.perf_counter()))
                group.create_task(one(turn))
