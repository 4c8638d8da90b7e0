"""What lanes side by side are worth: the same turns through twelve partitions and through one."""

from __future__ import annotations

from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.text.embedder import Embedder
from bench.figures import Figure
from bench.lanes import drain, median, place, publish, spread
from bench.recall import Say
from bench.workload import turns

TENANTS = 200


async def measure(
    kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """Messages a second of one lane and of twelve, in turn."""
    say(f"{messages} turns through 1 lane and through 12, {rounds} rounds")
    one, twelve = [await place(kafka, store, embedder, f"scaling{lanes}", partitions=str(lanes)) for lanes in (1, 12)]
    for each in (one, twelve):
        await publish(each, turns(messages, TENANTS))
    pairs = [((await drain(one, messages)).rate, (await drain(twelve, messages)).rate) for _ in range(rounds)]
    single, many = zip(*pairs, strict=True)
    ratios = [m / s for s, m in pairs]
    return [
        Figure("1 lane", median(single), "messages/s", spread(single)),
        Figure("12 lanes", median(many), "messages/s", spread(many)),
        Figure("12 lanes / 1 lane", median(ratios), "", spread(ratios), at_least=1.0),
    ]
