"""``make bench``: the measured ratios. ``ARGS="--quick"`` for a first look, ``--only recorder`` for one part.

``--million`` measures memory over 1,000,000 turns, which takes half an hour or more. ``--plots`` draws the pictures of
docs from the results that are kept, and measures nothing unless parts are named.
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

from rich.console import Console
from support.kafka import KafkaBroker, start_session_kafka
from support.store import start_store

from afterturn.consumers.text.registry import open_embedder
from bench import (
    batching,
    crowd,
    events,
    evicting,
    extracting,
    fresh,
    growth,
    memory,
    pictures,
    recall,
    recorder,
    scaling,
    states,
)
from bench.figures import Figure, keep, show

PARTS = (
    "recorder",
    "evicting",
    "scaling",
    "fresh",
    "events",
    "memory",
    "states",
    "batching",
    "recall",
    "crowd",
    "growth",
    "extracting",
)
_say = Console(stderr=True)


def main() -> None:
    """Run the benchmarks, print the figures, keep them as JSON."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="one round of a third of the messages: figures for a first look only"
    )
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; repeat for several")
    parser.add_argument("--million", action="store_true", help="memory over 1,000,000 turns")
    parser.add_argument("--plots", action="store_true", help="draw the pictures of docs from the results kept")
    chosen = parser.parse_args()
    if chosen.only or not chosen.plots:
        _measure(chosen)
    if chosen.plots:
        _say.print("drawn:", *(str(path) for path in pictures.draw()), highlight=False)


def _measure(chosen: argparse.Namespace) -> None:
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="afterturn-bench-") as made:
        folder = Path(made)
        kafka = start_session_kafka(folder / "kafka")
        try:
            for part in chosen.only or PARTS:
                figures += asyncio.run(_part(part, kafka, folder / part, chosen))
        finally:
            kafka.stop()
    show(figures)
    _say.print(f"kept in {keep(figures)}", highlight=False)


async def _part(name: str, kafka: KafkaBroker, folder: Path, chosen: argparse.Namespace) -> list[Figure]:
    def say(what: str) -> None:
        _say.print(f"[dim]· {name}: {what}[/dim]", highlight=False)

    quick: bool = chosen.quick
    folder.mkdir()
    if name == "growth":
        return await growth.measure(kafka, folder, (1, 100) if quick else (1, 100, 10_000), say)
    if name == "recall":
        return await recall.against_raw(kafka, folder, (1_000,) if quick else (1_000, 10_000, 50_000), say)
    if name == "extracting":
        return extracting.measure(5_000, 1 if quick else 5, say)
    with start_store(folder / "store") as store:
        if name == "crowd":
            return await crowd.measure(kafka, store, folder, 5.0 if quick else 20.0, say)
        embedder = await open_embedder("wordllama")
        some, rounds = (2_000, 1) if quick else (6_000, 3)
        match name:
            case "recorder":
                return await recorder.measure(kafka, store, folder, embedder, 2 * some, rounds, say)
            case "fresh":
                return await fresh.measure(kafka, store, folder, embedder, 50 if quick else 200, say)
            case "memory":
                many = 1_000_000 if chosen.million else 10_000 if quick else 100_000
                return await memory.measure(kafka, store, folder, embedder, many, say)
            case "batching":
                return await batching.measure(kafka, store, embedder, some // 2, max(1, rounds - 1), say)
        simple: dict[str, Callable[..., Awaitable[list[Figure]]]] = {
            "evicting": evicting.measure,
            "scaling": scaling.measure,
            "events": events.measure,
            "states": states.measure,
        }
        return await simple[name](kafka, store, embedder, some, rounds, say)


if __name__ == "__main__":
    main()
