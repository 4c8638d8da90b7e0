"""What publishing memory events costs: the recorder beside one whose announcer says nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from support.kafka import KafkaBroker
from support.store import StoreProcess

from afterturn.consumers.recorder.announcing import Announcer, Finished, ending_of
from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.lanes.seam import Applied
from bench.figures import Figure
from bench.lanes import Drain, Variant, drain, median, place, publish, spread
from bench.recall import Say
from bench.workload import turns

TENANTS = 200


class Silent(Announcer):
    """Counts, and announces nothing."""

    def announce(self, batch: Sequence[Arrival | Rejected], finished: Finished, phases: Mapping[str, float]) -> Applied:
        """How many records ended how, and no event."""
        plain = super().announce(batch, replace(finished, decisions=()), phases)
        endings = [ending_of(decision) for decision in finished.decisions]
        return replace(plain, endings={ending: endings.count(ending) for ending in set(endings)})


def silent(service: ServiceSettings, fold: FoldSettings) -> Announcer:
    """The announcer that says nothing."""
    return Silent(service.topics, fold)


async def measure(
    kafka: KafkaBroker, store: StoreProcess, embedder: Embedder, messages: int, rounds: int, say: Say
) -> list[Figure]:
    """Both by messages a second and by processor time; whoever goes first changes from round to round."""
    say(f"{messages} turns with events and without, {rounds} rounds")
    there = await place(kafka, store, embedder, "events")
    await publish(there, turns(messages, TENANTS))
    told: list[Drain] = []
    quiet: list[Drain] = []
    for number in range(rounds):
        sides = [(told, Variant()), (quiet, Variant(announcer=silent))]
        for drains, variant in sides if number % 2 == 0 else sides[::-1]:
            drains.append(await drain(there, messages, variant))
    ratios = [q.rate / t.rate for q, t in zip(quiet, told, strict=True)]
    work = [t.worked / q.worked for q, t in zip(quiet, told, strict=True)]
    with_them, without = [each.rate for each in told], [each.rate for each in quiet]
    return [
        Figure("recorder with events", median(with_them), "messages/s", spread(with_them)),
        Figure("recorder without events", median(without), "messages/s", spread(without)),
        Figure("throughput without events / with", median(ratios), "", spread(ratios), at_most=1.05),
        Figure("processor time with events / without", median(work), "", spread(work)),
    ]
