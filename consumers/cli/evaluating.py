"""``afterturn evaluate``: recall quality and speed, measured through the running product."""

from __future__ import annotations

import asyncio
import os
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from afterturn.consumers.cli.helping import PlainGroup
from afterturn.consumers.cli.options import AsJson, RecallUrl
from afterturn.consumers.cli.running import err, log_to_stderr, need_dev, need_service, out, run_until_signal, step
from afterturn.consumers.cli.wording import counted
from afterturn.streams import KafkaSettings, TopicNames

if TYPE_CHECKING:
    from afterturn.consumers.evaluation.locomo import Conversation

Embedder = Annotated[
    str, typer.Option(envvar="AFTERTURN_EMBEDDER", help="wordllama, fastembed:MODEL (or a folder), openai:MODEL.")
]
evaluate = typer.Typer(cls=PlainGroup, help="Measure recall, without a language model.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(evaluate, name="evaluate")


@evaluate.callback()
def _group() -> None:
    """Measure recall, without a language model."""


@evaluate.command()
def locomo(
    file: Annotated[Path, typer.Argument(help="A LoCoMo file (locomo10.json); it is not part of Afterturn.")],
    embedder: Embedder = "wordllama",
    running: Annotated[bool, typer.Option("--running", help="Use the services that run already.")] = False,
    url: RecallUrl = "http://127.0.0.1:8080",
    conversations: Annotated[int | None, typer.Option(help="Only the first so many conversations.", min=1)] = None,
    as_json: AsJson = False,
) -> None:
    """Publish every conversation, ask every question, and print how much of the evidence was found.

    Each conversation is a tenant, each session a thread. By default on an embedded stack of its own, which is removed
    afterwards.

    Examples:

    ```sh
    afterturn evaluate locomo locomo10.json
    afterturn evaluate locomo locomo10.json --embedder fastembed:/models/minilm
    ```
    """
    (need_service if running else need_dev)()
    from afterturn.consumers.evaluation.locomo import read

    log_to_stderr("warning")
    found = read(file)[:conversations]

    async def main(stop: asyncio.Event) -> None:
        task, ending = (
            asyncio.create_task(_evaluate(found, embedder, url if running else None)),
            asyncio.ensure_future(stop.wait()),
        )
        await asyncio.wait({task, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
            raise KeyboardInterrupt
        report(task.result(), as_json=as_json)

    run_until_signal(main)


async def _evaluate(conversations: list[Conversation], embedder: str, url: str | None) -> dict[str, Any]:
    from afterturn.consumers.evaluation import asking, measures

    async with AsyncExitStack() as stack:
        kafka = KafkaSettings()
        topics = TopicNames(os.environ.get("AFTERTURN_TOPIC_PREFIX", "afterturn"))
        if url is None:
            url, kafka = await _own_stack(stack, embedder)
        columns = (TextColumn("{task.description:<10}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=err) as progress:
            recording = progress.add_task("recording", total=sum(len(c.turns) for c in conversations))
            recorded = await asking.publish(
                kafka, topics, conversations, lambda n: progress.update(recording, completed=n)
            )
            questions = progress.add_task("asking", total=sum(len(c.questions) for c in conversations))
            asked = await asyncio.to_thread(
                asking.ask_all, url, conversations, lambda n: progress.update(questions, completed=n)
            )
    milliseconds = [1_000 * q.seconds for q in asked]
    return {
        "embedder": embedder,
        "categories": measures.by_category(asked),
        "recall_ms": {"p50": measures.percentile(milliseconds, 0.5), "p95": measures.percentile(milliseconds, 0.95)},
        "messages": recorded.messages,
        "messages_per_second": recorded.messages / recorded.seconds,
    }


async def _own_stack(stack: AsyncExitStack, embedder: str) -> tuple[str, KafkaSettings]:
    from afterturn.consumers.dev.stack import Stack, stand_alone

    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="afterturn-evaluate-"))
    stand_alone()
    os.environ["AFTERTURN_EMBEDDER"] = embedder
    own = Stack(Path(folder), step)
    addresses = await own.start()
    stack.push_async_callback(own.stop)
    return addresses.recall, KafkaSettings(bootstrap_servers=addresses.kafka)


def report(figures: dict[str, Any], *, as_json: bool) -> None:
    """Print the figures as a table or as JSON."""
    if as_json:
        typer.echo(orjson.dumps(figures, option=orjson.OPT_INDENT_2).decode())
        return
    names = ("R@5", "R@10", "R@20", "R@2k", "A@2k", "questions")
    table = Table("category", *names, title=f"LoCoMo with {figures['embedder']}", title_justify="left")
    for category, measured in figures["categories"].items():
        cells = (f"{measured[n]:.3f}" if n != "questions" else str(int(measured[n])) for n in names)
        table.add_row(category, *cells, style="bold" if category == "1-4" else None)
    out.print(table)
    recall, messages = figures["recall_ms"], counted(figures["messages"], "message")
    out.print(
        f"recall p50 {recall['p50']:.1f} ms, p95 {recall['p95']:.1f} ms; {messages} recorded, "
        f"{figures['messages_per_second']:.0f} a second",
        highlight=False,
    )
