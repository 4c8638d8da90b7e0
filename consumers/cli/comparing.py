"""``afterturn evaluate recipe``: changes of the recall recipe compared in seconds, without a store or a broker."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.progress import Progress
from rich.table import Table

from afterturn.consumers.cli.evaluating import Embedder, evaluate
from afterturn.consumers.cli.options import AsJson
from afterturn.consumers.cli.running import err, need_service, out

if TYPE_CHECKING:
    from afterturn.consumers.evaluation.offline.comparing import Compared
    from afterturn.consumers.evaluation.offline.corpora import Corpus
    from afterturn.consumers.evaluation.offline.running import Bench


class Situation(StrEnum):
    """Who speaks and how."""

    third_person = "third-person"
    first_person = "first-person"
    long_messages = "long-messages"


def register(_: typer.Typer) -> None:
    """Add this module's command to its group."""
    evaluate.command()(recipe)


def recipe(
    file: Annotated[Path, typer.Argument(help="A LoCoMo file (locomo10.json); it is not part of Afterturn.")],
    tries: Annotated[
        list[str] | None,
        typer.Option("--try", help="A number and its values, dense_weight=0.5,0.9; A=1+B=2 changes both. Repeatable."),
    ] = None,
    ablate: Annotated[bool, typer.Option("--ablate", help="Also the recipe without each of its weights.")] = False,
    situation: Annotated[Situation, typer.Option(help="Who speaks and how.")] = Situation.third_person,
    embedder: Embedder = "wordllama",
    cache: Annotated[Path, typer.Option(help="A folder that keeps vectors; no text.")] = Path(".vectors"),
    as_json: AsJson = False,
) -> None:
    """Ask every question with the served recipe and with changes of it, and say which differences are more than chance.

    The product's own reading, ranking and packing over an exact store in memory. Each try's values are also judged with
    the value chosen by the other conversations (held out).

    Examples:

    ```sh
    afterturn evaluate recipe locomo10.json --try dense_weight=0.5,0.9 --ablate
    afterturn evaluate recipe locomo10.json --situation first-person
    ```
    """
    need_service()
    from afterturn.consumers.evaluation.locomo import read
    from afterturn.consumers.evaluation.offline import comparing, corpora, situations
    from afterturn.consumers.evaluation.offline.variants import tried, without
    from afterturn.consumers.recall.answering.engine import SERVED

    groups = tried(SERVED, tries or ())
    if ablate:
        groups |= {name: {name: changed} for name, changed in without(SERVED).items()}
    made = situations.MADE[situation.value](corpora.as_spoken(read(file)))
    bench = asyncio.run(_prepared(made, embedder, cache))
    with Progress(console=err) as progress:
        task = progress.add_task("comparing", total=1 + sum(map(len, groups.values())))
        compared = asyncio.run(comparing.compare(bench, SERVED, groups, lambda: progress.advance(task)))
    report(compared, f"LoCoMo, {situation.value}, {embedder}", as_json=as_json)


async def _prepared(corpora: Iterable[Corpus], embedder: str, cache: Path) -> Bench:
    from afterturn.consumers.evaluation.offline.running import Bench, texts_of
    from afterturn.consumers.evaluation.offline.vectors import CachedVectors
    from afterturn.consumers.text.registry import open_embedder

    found = list(corpora)
    told, asked = texts_of(found)
    opened = await open_embedder(embedder)
    try:
        vectors = CachedVectors(opened, cache)
        with Progress(console=err) as progress:
            task = progress.add_task("embedding", total=vectors.missing(told, asked))
            await vectors.prepare(told, asked, lambda count: progress.update(task, completed=count))
    finally:
        await opened.close()
    return Bench(found, vectors)


def report(compared: Compared, title: str, *, as_json: bool) -> None:
    """Print the figures as tables or as JSON."""
    if as_json:
        typer.echo(orjson.dumps(compared.as_json(), option=orjson.OPT_INDENT_2).decode())
        return
    names = ("R@5", "R@10", "R@20", "R@2k", "A@2k", "questions")
    served = Table("category", *names, title=title, title_justify="left")
    for category, measured in compared.categories.items():
        served.add_row(category, *(_figure(name, measured) for name in names))
    out.print(served)
    if not compared.lines:
        return
    changes = Table("change", "R@10", "R@2k", "R@10 gains", "R@2k gains", "1: R@10", "5: R@2k")
    for line in compared.lines:
        gains = (
            f"{gain.mean:+.4f} [{gain.low:+.4f}, {gain.high:+.4f}]" for gain in (line.gains[m] for m in names[1:4:2])
        )
        changes.add_row(line.name, *(f"{line.figures[m]:.3f}" for m in names[1:4:2]), *gains, *map(_dash, line.hard))
    out.print(changes)


def _figure(name: str, measured: Mapping[str, Any]) -> str:
    return str(int(measured[name])) if name == "questions" else f"{measured[name]:.3f}"


def _dash(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
