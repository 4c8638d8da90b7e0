"""What a recorder holds in memory while it works: publishing and recording at once, the backlog bounded."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from support.kafka import KafkaBroker
from support.recorders import RecorderProcess, service_environment
from support.store import StoreProcess

from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.commands import TurnCompleted
from bench.figures import Figure
from bench.lanes import Place, place, publish
from bench.recall import Say
from bench.workload import turns

TENANTS, CAP = 1_000, 50
GOAL_MB = 200.0
PORTION = 2_000
MOST_WAITING = 20_000
"""Turns that are published and not recorded: more than the lanes of 12 partitions hold."""
LOOKS = 10
_LONGEST = 600.0


async def measure(
    kafka: KafkaBroker, store: StoreProcess, folder: Path, embedder: Embedder, messages: int, say: Say
) -> list[Figure]:
    """Resident memory after so many turns, its part that no file backs, and growth from the first tenth on."""
    there = await place(kafka, store, embedder, "memory", max_memories=str(CAP))
    environment = service_environment(kafka.bootstrap, store.url, "memory", max_memories=str(CAP))
    recorder = RecorderProcess(folder, environment | {"QDRANT_ALIAS": there.store.alias})
    await asyncio.to_thread(recorder.start)
    say(f"{messages} turns, published while they are recorded")
    try:
        before = resident(recorder.child.pid)
        looks = await _fill(there, recorder, messages, say)
    finally:
        await asyncio.to_thread(recorder.child.stop)
    (first, early, _), (last, late, own) = looks[0], looks[-1]
    growth = (late - early) / (last - first) * 100_000 if last > first else 0.0
    peak = max(mb for _, mb, _ in looks)
    return [
        Figure("recorder memory at its start", before[0], "MB"),
        Figure(f"recorder memory after {last} turns", late, "MB", f"highest {peak:.0f} MB", at_most=GOAL_MB),
        Figure("of it not backed by files", own, "MB", "files: libraries and the embedder's matrix, shared"),
        Figure("growth for each 100,000 turns", growth, "MB", f"from {first} turns on", at_most=5.0),
    ]


def resident(pid: int | None) -> tuple[float, float]:
    """Resident memory of a process, and its anonymous part, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    kb = {name: value.split()[0] for name, value in (line.split(":", 1) for line in lines) if value.split()}
    return int(kb["VmRSS"]) / 1_024, int(kb["RssAnon"]) / 1_024


async def _fill(there: Place, recorder: RecorderProcess, messages: int, say: Say) -> list[tuple[int, float, float]]:
    """Publish and record; how many were recorded at each look, and what was resident then."""
    looks: list[tuple[int, float, float]] = []
    made = turns(messages, TENANTS)
    published = consumed = 0
    deadline = time.monotonic() + _LONGEST
    while consumed < messages:
        if published < messages and published - consumed < MOST_WAITING:
            published += await _portion(there, made)
        now = sum((await asyncio.to_thread(recorder.endings)).values())
        if now > consumed:
            consumed, deadline = now, time.monotonic() + _LONGEST
        if consumed * LOOKS // messages > len(looks):
            looks.append((consumed, *resident(recorder.child.pid)))
            say(f"{consumed} turns: {looks[-1][1]:.0f} MB")
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing was recorded for {_LONGEST:.0f} s, after {consumed} turns")
        await asyncio.sleep(0.1)
    return looks


async def _portion(there: Place, made: Iterator[TurnCompleted]) -> int:
    return len(await publish(there, islice(made, PORTION)))
