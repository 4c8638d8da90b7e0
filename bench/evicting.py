"""The recorder with every tenant at its cap, so that each turn evicts one, over the bare loop of the same points."""

from __future__ import annotations

from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.text.embedder import Embedder
from bench.figures import Figure
from bench.lanes import drain, median, place, publish, spread
from bench.raw import raw_rate
from bench.recall import Say
from bench.workload import turns

TENANTS, CAP = 100, 10


async def measure(
    kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """Messages a second of both, tombstones included in both, in turn."""
    there = await place(kafka, store, embedder, "evicting", max_memories=str(CAP))
    made = list(turns(messages, TENANTS))
    say(f"{messages} turns of {TENANTS} tenants that keep {CAP} memories each, {rounds} rounds")
    await publish(there, made)
    pairs = [((await drain(there, messages)).rate, await raw_rate(there, made)) for _ in range(rounds)]
    ratios = [ours / raw for ours, raw in pairs]
    ours, raws = zip(*pairs, strict=True)
    return [
        Figure("recorder, every tenant at its cap", median(ours), "messages/s", spread(ours)),
        Figure("raw loop with tombstones", median(raws), "messages/s", spread(raws)),
        Figure("at the cap / raw loop", median(ratios), "", spread(ratios), at_least=0.5),
    ]
