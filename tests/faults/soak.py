"""``make soak MINUTES=n``: turns all the time and random faults, then every promise; a picture, a line of figures."""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median, quantiles
from time import monotonic

from faults.picture import Mark, Sample, draw
from faults.store_proxy import Call, Fate
from faults.world import ZOMBIE, Form, World, world_on
from support.kafka import KafkaBroker, start_session_kafka
from support.load import LoadPublisher

from afterturn.streams.errors import Retry

TENANTS = 20
PAUSE = (5.0, 15.0)
"""Seconds between two faults."""


@dataclass
class Soak:
    """One run: what was done, and what was seen by the second."""

    world: World
    seconds: float
    rate: float
    begun: float = field(default_factory=monotonic)
    turns: int = 0
    samples: list[Sample] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return monotonic() - self.begun

    async def run(self) -> float:
        """Publish, break and sample until the time is over; seconds it took to drain then."""
        sampling = asyncio.create_task(self._sample())
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._publish())
                both.create_task(self._break())
            over = self.now
            await self.world.settle()
            return self.now - over
        finally:
            sampling.cancel()
            await asyncio.wait({sampling})

    async def _publish(self) -> None:
        entries, steps = self.world.load, random.Random(self.world.load.seed)
        async with LoadPublisher(self.world.client, self.world.service.topics) as publisher:
            while self.now < self.seconds:
                for entry in entries.step(steps, self.turns):
                    await publisher.publish(entry)
                self.turns += 1
                await asyncio.sleep(max(0.0, self.turns / self.rate - self.now))

    async def _break(self) -> None:
        faults: dict[str, Callable[[], Awaitable[None]]] = {
            "recorder killed": self._kill_recorder,
            "store killed": self._kill_store,
            "trouble": self._trouble,
        }
        if self.world.kafka.kind != "embedded":
            faults["zombie"] = self._zombie
        rng = self.world.rng
        while self.now + 2 * ZOMBIE < self.seconds:
            await asyncio.sleep(min(rng.uniform(*PAUSE), self.seconds - self.now))
            name = rng.choice(sorted(faults))
            self.marks.append(Mark(self.now, name))
            await faults[name]()

    async def _kill_recorder(self) -> None:
        await self.world.again(self.world.rng.choice(self.world.recorders))

    async def _kill_store(self) -> None:
        self.world.store.kill()
        await asyncio.to_thread(self.world.store.start)

    async def _zombie(self) -> None:
        recorder = self.world.rng.choice(self.world.recorders)
        recorder.stop()
        await asyncio.sleep(ZOMBIE + 2)
        recorder.resume()

    async def _trouble(self) -> None:
        rng = self.world.rng

        def fate(_: Call) -> Fate | None:
            chance = rng.random()
            if chance < 0.3:
                return Fate(answer=False)
            return Fate(reach=False) if chance < 0.4 else Fate(before=rng.uniform(0.0, 0.1))

        self.world.proxy.meddling = fate
        await asyncio.sleep(5)
        self.world.proxy.meddling = None

    async def _sample(self) -> None:
        while True:
            lag: int | None = None
            with suppress(Retry):
                lag = await self.world.behind()
            memory = max((recorder.memory() for recorder in self.world.recorders), default=0.0)
            self.samples.append(Sample(self.now, memory, lag))
            await asyncio.sleep(1.0)

    def figures(self, drained: float) -> str:
        """The run in a line."""
        lags = [float(s.lag) for s in self.samples if s.lag is not None] or [0.0]
        sizes = [s.memory for s in self.samples if s.memory] or [0.0]
        first, last = sizes[: 1 + len(sizes) // 4], sizes[-1 - len(sizes) // 4 :]
        what = ", ".join(f"{name} {count}" for name, count in sorted(Counter(m.what for m in self.marks).items()))
        late = quantiles(lags, n=20)[-1] if len(lags) > 1 else lags[0]
        return (
            f"{self.now / 60:.1f} min on {self.world.kafka.kind}, {self.turns:,} turns, "
            f"{len(self.marks)} faults ({what}); "
            f"lag median {median(lags):,.0f}, 95 % {late:,.0f}, most {max(lags):,.0f}, drained in {drained:.1f} s; "
            f"memory first quarter {median(first):.0f} MB, last quarter {median(last):.0f} MB, most {max(sizes):.0f} MB"
        )


async def soak(kafka: KafkaBroker, folder: Path, seconds: float, rate: float, seed: int, picture: Path) -> str:
    """Run it; the figures.

    Raises:
        AssertionError: a promise is broken.
    """
    form = Form(turns=0, rate=rate, patience=300.0)
    async with world_on(kafka, folder, f"soak{seed}", form, random.Random(seed)) as world:
        for _ in range(2 if kafka.kind != "embedded" else 1):
            await world.recorder(stays=kafka.kind == "embedded")
        world.begin([])
        run = Soak(world, seconds, rate)
        try:
            drained = await run.run()
            figures = run.figures(drained)
        finally:
            draw(run.samples, run.marks, f"Afterturn, soak of {run.now / 60:.1f} min, seed {seed}", picture)
        sys.stderr.write(f"{figures}\nchecking {sum(map(len, world.keeper.log.values())):,} records …\n")
        await world.hold()
    return f"{figures}; every promise held"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 10**6))
    parser.add_argument("--rate", type=float, default=10.0, help="turns a second [%(default)s]")
    parser.add_argument("--picture", type=Path, default=Path("soak.png"))
    chosen = parser.parse_args()
    sys.stderr.write(f"soak: {chosen.minutes:g} min, seed {chosen.seed}\n")
    with tempfile.TemporaryDirectory(prefix="afterturn-soak-") as made:
        folder = Path(made)
        kafka = start_session_kafka(folder / "kafka")
        try:
            run = soak(kafka, folder, chosen.minutes * 60, chosen.rate, chosen.seed, chosen.picture)
            print(asyncio.run(run))
        finally:
            kafka.stop()
    print(f"drawn in {chosen.picture}")


if __name__ == "__main__":
    main()
