"""What other tenants cost a tenant: recall's latency with 1 tenant in the store and with many of the same size.

Two stores and two recall services stand side by side and are asked in turn, so that whatever slows the machine down
slows both.
"""

from __future__ import annotations

import statistics
from contextlib import ExitStack
from pathlib import Path

import httpx
from support.kafka import KafkaBroker
from support.recalls import RecallProcess
from support.recorders import service_environment
from support.store import StoreProcess, start_store

from bench.figures import Figure
from bench.recall import ASKED, WARM_UP, Say, ask, fill, questions, set_up


async def measure(kafka: KafkaBroker, folder: Path, tenants: int, size: int, say: Say) -> list[Figure]:
    """p50 of the same tenant's questions, alone and among ``tenants``, each of ``size`` memories."""
    with ExitStack() as stack:
        say(f"storing {size} memories of 1 tenant, and of each of {tenants} tenants")
        alone, among = [await _service(stack, kafka, folder / str(count), count, size) for count in (1, tenants)]
        say("asking both in turn")
        pairs = [(ask(alone, "tenant-0", q), ask(among, "tenant-0", q)) for q in questions(WARM_UP + ASKED)]
    first, second = (statistics.median(side[WARM_UP:]) for side in zip(*pairs, strict=True))
    return [
        Figure(f"recall p50, 1 tenant of {size}", first * 1_000, "ms"),
        Figure(f"recall p50, {tenants} tenants of {size}", second * 1_000, "ms"),
        Figure(f"growth from 1 to {tenants} tenants", second / first, "", at_most=1.2),
    ]


async def _service(stack: ExitStack, kafka: KafkaBroker, folder: Path, tenants: int, size: int) -> httpx.Client:
    """A store of so many tenants, and a client of the recall service over it."""
    folder.mkdir()
    prefix = f"growth{tenants}"
    store: StoreProcess = stack.enter_context(start_store(folder / "store"))
    service, embedder = await set_up(kafka, store, prefix)
    await fill(service, store, embedder, size * tenants, tenants)
    await embedder.close()
    recall = RecallProcess(folder, service_environment(kafka.bootstrap, store.url, prefix))
    recall.start()
    stack.callback(recall.child.stop)
    return stack.enter_context(httpx.Client(base_url=recall.url, timeout=30))
