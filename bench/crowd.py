"""Fifty clients at once: answers a second, what one costs, and what becomes of those the queue has no room for.

Clients ask again as soon as they are answered; one that is refused waits as long as it is told to.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import orjson
from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.store.wire import Wire
from afterturn.schemas.query import TENANT_HEADER
from bench.asking import Question, p95, questions
from bench.figures import Figure
from bench.recall import Say, fill, set_up, start

CLIENTS, SIZE = 50, 1_000
NARROW = {"AFTERTURN_RECALL_CONCURRENCY": "4", "AFTERTURN_RECALL_QUEUE": "12"}
"""Places for 16 of the 50: the others are refused."""
_REFUSED = 503


@dataclass
class Told:
    """What the clients were told."""

    answered: list[float] = field(default_factory=list)
    refused: list[float] = field(default_factory=list)
    waits: set[str] = field(default_factory=set)


async def measure(kafka: KafkaBroker, store: StoreProcess, folder: Path, seconds: float, say: Say) -> list[Figure]:
    """Fifty clients against the service as it is by default, and against one with few places."""
    service, embedder = await set_up(kafka, store, "crowd")
    await fill(service, store, embedder, SIZE, 1)
    asked = await questions(embedder, 200)
    await embedder.close()
    figures: list[Figure] = []
    for name, settings in (("64 at a time, 256 in line", {}), ("4 at a time, 12 in line", NARROW)):
        say(f"{CLIENTS} clients, {name}")
        with ExitStack() as stack:
            recall = await asyncio.to_thread(start, stack, kafka, folder, store, "crowd", settings)
            await _crowd(recall.url, asked, min(seconds, 3.0))
            spent = processor_seconds(recall.child.pid)
            told = await _crowd(recall.url, asked, seconds)
            spent = processor_seconds(recall.child.pid) - spent
            await asyncio.to_thread(stack.close)
        figures += _figures(name, told, seconds, spent)
    return figures


def processor_seconds(pid: int | None) -> float:
    """Processor time a process has taken, in seconds. Linux."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / os.sysconf("SC_CLK_TCK")


async def _crowd(url: str, asked: Sequence[Question], seconds: float) -> Told:
    told = Told()
    end = time.perf_counter() + seconds
    async with AsyncExitStack() as resources:
        wires = [await resources.enter_async_context(Wire(url, {TENANT_HEADER: "tenant-0"})) for _ in range(CLIENTS)]
        await asyncio.gather(*(_one(wire, [*asked[at:], *asked[:at]], end, told) for at, wire in enumerate(wires)))
    return told


async def _one(wire: Wire, asked: Sequence[Question], end: float, told: Told) -> None:
    number = 0
    while (began := time.perf_counter()) < end:
        body = orjson.dumps({"text": asked[number % len(asked)].text})
        answer = await wire.send("POST", "/v1/recall", body, again=True)
        spent = time.perf_counter() - began
        number += 1
        if answer.status == _REFUSED:
            told.refused.append(spent)
            told.waits.add(answer.headers["retry-after"])
            await asyncio.sleep(float(answer.headers["retry-after"]))
            continue
        assert answer.status == 200, answer.content
        told.answered.append(spent)


def _figures(name: str, told: Told, seconds: float, spent: float) -> list[Figure]:
    what = f"{CLIENTS} clients, {name}"
    requests = len(told.answered) + len(told.refused)
    waits = ""
    if told.refused:
        waits = f"Retry-After {', '.join(sorted(told.waits))} s; told after {p95(told.refused) * 1_000:.0f} ms (p95)"
    return [
        Figure(f"answered; {what}", len(told.answered) / seconds, "a second", f"{len(told.answered)} in all"),
        Figure(f"refused; {what}", len(told.refused) / requests, "of all", waits),
        Figure(f"answer, p95; {what}", p95(told.answered) * 1_000, "ms"),
        Figure(f"answers a second of a core; {what}", len(told.answered) / spent, "", "of the service's own time"),
    ]
