"""``make bench``: the measured ratios. ``ARGS="--quick"`` for a first look, ``--only recorder`` for one part."""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from pathlib import Path

from rich.console import Console
from support.kafka import KafkaBroker, start_session_kafka
from support.store import start_store

from bench import growth, recall, recorder
from bench.figures import Figure, keep, show

PARTS = ("recorder", "recall", "growth")
_say = Console(stderr=True)


def main() -> None:
    """Run the benchmarks, print the figures, keep them as JSON."""
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the messages: figures for a first look only")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; repeat for several")
    chosen = parser.parse_args()
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="afterturn-bench-") as made:
        folder = Path(made)
        kafka = start_session_kafka(folder / "kafka")
        try:
            for part in chosen.only or PARTS:
                figures += asyncio.run(_part(part, kafka, folder / part, quick=chosen.quick))
        finally:
            kafka.stop()
    show(figures)
    _say.print(f"kept in {keep(figures)}", highlight=False)


async def _part(name: str, kafka: KafkaBroker, folder: Path, *, quick: bool) -> list[Figure]:
    def say(what: str) -> None:
        _say.print(f"[dim]· {name}: {what}[/dim]", highlight=False)

    folder.mkdir()
    if name == "growth":
        return await growth.measure(kafka, folder, 100 if quick else 1_000, 100, say)
    with start_store(folder / "store") as store:
        if name == "recorder":
            return await recorder.measure(kafka, store, folder, 10_000 if quick else 100_000, say)
        return await recall.against_raw(kafka, store, folder, 2_000 if quick else 10_000, say)


if __name__ == "__main__":
    main()
