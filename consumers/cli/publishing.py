"""``afterturn publish``: turns from JSON lines onto the turn log."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack, ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated

import orjson
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from afterturn.consumers.cli.running import EXIT_INPUT, AsJson, err, log_to_stderr, out, tell, waiting
from afterturn.schemas.codec import parse
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.token import Token
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.publisher import TurnPublisher
from afterturn.streams.topics import TopicNames
from afterturn.streams.waiting import Waiter

IN_FLIGHT = 500
MAX_SAID = 20


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(publish)


@dataclass(slots=True)
class Published:
    """How a publication went: tokens by line, and the lines that were refused with their fault."""

    tokens: list[Token] = field(default_factory=list)
    refused: list[tuple[int, ContractError]] = field(default_factory=list)


def publish(
    file: Annotated[str, typer.Argument(help="JSON lines, one turn each; - reads standard input.", metavar="FILE|-")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every turn can be recalled.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait at most.", min=1)] = 300.0,
    source: Annotated[str, typer.Option(help="The application that publishes.")] = "afterturn-publish",
    topic_prefix: Annotated[str, typer.Option(envvar="AFTERTURN_TOPIC_PREFIX")] = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Publish turns. Publishing the same turn again is safe: it is recorded once.

    A line that breaks the contract is refused with its number and field; the others go on, and the exit code is 65.

    Examples: `afterturn publish turns.jsonl --wait`, `tail -f turns.jsonl | afterturn publish -`
    """
    log_to_stderr("error")
    with ExitStack() as stack:
        lines = sys.stdin.buffer if file == "-" else stack.enter_context(_opened(Path(file)))
        size = None if file == "-" else Path(file).stat().st_size
        published = asyncio.run(_publish(lines, size, source, TopicNames(topic_prefix), timeout if wait else None))
    _say(published, waited=wait, as_json=as_json)
    if published.refused:
        raise typer.Exit(EXIT_INPUT)


async def _publish(
    lines: IO[bytes], size: int | None, source: str, topics: TopicNames, timeout: float | None
) -> Published:
    published = Published()
    async with AsyncExitStack() as stack:
        publisher = TurnPublisher(KafkaSettings(), source=source, topics=topics)
        await publisher.start(waiting)
        stack.push_async_callback(publisher.close)
        waiter = await stack.enter_async_context(Waiter(KafkaSettings(), topics)) if timeout else None
        with _progress() as progress:
            task = progress.add_task("publishing", total=size)
            window = asyncio.Semaphore(IN_FLIGHT)
            async with asyncio.TaskGroup() as group:
                for number, line in enumerate(_lines(lines), 1):
                    await window.acquire()
                    group.create_task(_one(publisher, number, line, published, window))
                    progress.advance(task, len(line))
            progress.update(task, total=size or progress.tasks[0].completed, completed=size)
            if waiter is not None and timeout is not None and published.tokens:
                recording = progress.add_task("recording", total=len(published.tokens))
                async with asyncio.timeout(timeout):
                    async for reached in waiter.reach(published.tokens):
                        progress.update(recording, completed=reached)
    return published


async def _one(
    publisher: TurnPublisher, number: int, line: bytes, published: Published, window: asyncio.Semaphore
) -> None:
    try:
        published.tokens.append(await publisher.publish(parse(TurnCompleted, line)))
    except ContractError as fault:
        published.refused.append((number, fault))
    finally:
        window.release()


def _lines(stream: IO[bytes]) -> Iterator[bytes]:
    return (line for line in stream if line.strip())


def _opened(path: Path) -> IO[bytes]:
    if not path.is_file():
        raise ContractError("invalid", "FILE", f"there is no file {path}")
    return path.open("rb")


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<11}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=err
    )


def _say(published: Published, *, waited: bool, as_json: bool) -> None:
    refused = sorted(published.refused, key=lambda pair: pair[0])
    if as_json:
        body = {
            "published": len(published.tokens),
            "recallable": waited,
            "tokens": [str(token) for token in published.tokens],
            "refused": [{"line": n, "field": f.place, "problem": f.problem} for n, f in refused],
        }
        typer.echo(orjson.dumps(body).decode())
        return
    out.print(f"{len(published.tokens)} turns published{' and recallable' if waited else ''}", highlight=False)
    for number, fault in refused[:MAX_SAID]:
        tell("red", f"line {number} refused: ", str(fault), err)
    if len(refused) > MAX_SAID:
        err.print(f"… and {len(refused) - MAX_SAID} more lines refused")
