"""What other tenants cost a tenant: recall and the raw query with 1 tenant in the store, and with many.

The stores and their recall services stand side by side and are asked in turn, so that whatever slows the machine down
slows all.
"""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from support.kafka import KafkaBroker
from support.store import StoreProcess, start_store

from afterturn.consumers.recall.answering.engine import SERVED
from afterturn.consumers.text.registry import open_embedder
from bench.asking import WARM_UP, Ask, Asker, asking, in_turn, p50, questions
from bench.figures import Figure
from bench.recall import ASKED, Say, drawn, fill, held_against, set_up, start

SIZE, OTHERS = 1_000, 5
"""Memories of the tenant that asks, and of each other one."""
TENANT = "tenant-0"


async def measure(kafka: KafkaBroker, folder: Path, counts: tuple[int, ...], say: Say) -> list[Figure]:
    """The same tenant's questions, among so many tenants."""
    sides: dict[str, Ask] = {}
    with ExitStack() as stack:
        async with asking() as asker:
            for count in counts:
                say(f"storing {SIZE} memories of one tenant, and {OTHERS} of each of {count - 1} others")
                sides |= await _beside(stack, asker, kafka, folder, count)
            say("asking")
            embedder = await open_embedder("wordllama")
            asked = await questions(embedder, WARM_UP + ASKED)
            await embedder.close()
            spent = await in_turn(asked, sides)
    figures: list[Figure] = []
    for count in counts:
        ours, bare, client = (spent[f"{side} {count}"] for side in ("recall", "bare", "client"))
        figures += held_against(f"{SIZE} memories among {count} tenants", ours, bare, client, goal=True)
        figures += drawn("recall-tenants", count, **{"recall, usual": ours, "raw query, usual": bare})
    alone, among = (p50(spent[f"recall {count}"]) for count in (counts[0], counts[-1]))
    return [*figures, Figure(f"growth from {counts[0]} to {counts[-1]} tenants", among / alone, "", at_most=1.2)]


async def _beside(stack: ExitStack, asker: Asker, kafka: KafkaBroker, folder: Path, count: int) -> dict[str, Ask]:
    """What asks one tenant's questions in a store of so many."""
    prefix, there = f"growth{count}", folder / str(count)
    there.mkdir()
    store: StoreProcess = stack.enter_context(start_store(there / "store"))
    service, embedder = await set_up(kafka, store, prefix)
    await fill(service, store, embedder, SIZE, 1)
    if count > 1:
        await fill(service, store, embedder, OTHERS * (count - 1), count - 1, first=1)
    await embedder.close()
    recall = start(stack, kafka, there, store, prefix)
    return {
        f"recall {count}": await asker.recall(recall.url, TENANT),
        f"bare {count}": await asker.bare(store.url, TENANT, SERVED.candidates),
        f"client {count}": await asker.client(store.url, TENANT, SERVED.candidates),
    }
