"""The scenarios by name, and which of them a run makes."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal

from faults.world import World
from support.kafka import Kind

Run = Callable[[World], Awaitable[None]]
Broker = Literal["shared", "own"]
SECONDS = 200.0
"""What a rotation may take."""


@dataclass(frozen=True)
class Scenario:
    """A fault and what is expected of it.

    Attributes:
        broker: ``own`` where it is taken away.
        real: why the embedded broker can't be used for it, if so.
        missing: why it can't run on this machine, asked when it is about to.
        seconds: about how long its short form takes.
    """

    name: str
    run: Run
    broker: Broker
    real: str | None
    missing: Callable[[], str | None]
    seconds: float

    def hindrance(self, kind: Kind) -> str | None:
        """Why it can't be run here on a broker of this kind."""
        if self.broker == "own" and kind not in ("apache", "docker"):
            return f"a broker of one's own that keeps what it acknowledged is needed; this is {kind}"
        if self.real is not None and kind == "embedded":
            return f"the embedded broker can't: {self.real}"
        return self.missing()


SCENARIOS: dict[str, Scenario] = {}


def scenario(
    name: str,
    *,
    broker: Broker = "shared",
    real: str | None = None,
    missing: Callable[[], str | None] = lambda: None,
    seconds: float = 20.0,
) -> Callable[[Run], Run]:
    """Register a scenario."""

    def register(run: Run) -> Run:
        SCENARIOS[name] = Scenario(name, run, broker, real, missing, seconds)
        return run

    return register


def rotation(seed: int, seconds: float = SECONDS) -> list[str]:
    """Scenarios for so many seconds, others with every seed; names in their usual order."""
    names = sorted(SCENARIOS)
    random.Random(seed).shuffle(names)
    chosen, left = set[str](), seconds
    for name in names:
        if SCENARIOS[name].seconds <= left:
            chosen.add(name)
            left -= SCENARIOS[name].seconds
    return sorted(chosen)
