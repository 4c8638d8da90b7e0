"""How fast summaries without a model are made."""

from __future__ import annotations

import random
import time
from datetime import timedelta

from afterturn.consumers.consolidator.summarising.extractive import extract
from afterturn.consumers.consolidator.summarising.summariser import Line
from bench.figures import Figure
from bench.lanes import median, spread
from bench.recall import Say
from bench.workload import START, text

GROUP = 50
"""The most memories of one summary."""


def measure(messages: int, rounds: int, say: Say) -> list[Figure]:
    """Messages a second in groups of 50, by one thread."""
    rng = random.Random(1)
    lines = [Line(text(rng), f"author {at % 2}", "user", START + timedelta(minutes=at)) for at in range(messages)]
    groups = [lines[begin : begin + GROUP] for begin in range(0, messages, GROUP)]
    say(f"extracts of {messages} messages in groups of {GROUP}, {rounds} rounds")
    rates: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        for group in groups:
            extract(group)
        rates.append(messages / (time.perf_counter() - begun))
    return [Figure("summaries without a model", median(rates), "messages/s", spread(rates), at_least=5_000)]
