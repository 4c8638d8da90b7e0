"""``afterturn publish``: turns from JSON lines onto the turn log."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Annotated, Any

import orjson
import typer
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from afterturn.consumers.cli.connecting import publishing
from afterturn.consumers.cli.faults import text_of
from afterturn.consumers.cli.options import AsJson, TopicPrefix
from afterturn.consumers.cli.running import EXIT_AWAY, EXIT_INPUT, EXIT_STOP, err, log_to_stderr, out, tell
from afterturn.consumers.cli.wording import counted
from afterturn.schemas.codec import parse
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.token import Token
from afterturn.streams.errors import DeadLetter, Retry
from afterturn.streams.publisher import TurnPublisher
from afterturn.streams.topics import TopicNames
from afterturn.streams.waiting import Waiter

IN_FLIGHT = 500
MAX_SAID = 20
_IN_LINE = re.compile(r" at line 1 column (\d+)$")


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(publish)


@dataclass(slots=True)
class Published:
    """How a publication went, by line of the input.

    Attributes:
        tokens: of the turns that are on the log.
        refused: the faults of lines that break the contract.
        missing: how many turns were not recallable when waiting ended; None where nobody waited.
        away: what kept the rest from being published.
        read: how many lines were read.
        skipped: how many turns the recorder did not carry out, by reason, where it was waited for.
    """

    tokens: dict[int, Token] = field(default_factory=dict)
    refused: dict[int, ContractError] = field(default_factory=dict)
    missing: int | None = None
    away: Retry | None = None
    read: int = 0
    skipped: dict[str, int] = field(default_factory=dict)

    @property
    def recallable(self) -> bool:
        """Whether all that was published can be recalled, as far as is known; a duplicate can, by the first one."""
        return bool(self.tokens) and self.missing == 0 and not self.skipped.keys() - {"duplicate"}


def publish(
    file: Annotated[str, typer.Argument(help="JSON lines, one turn each; - reads standard input.", metavar="FILE|-")],
    wait: Annotated[bool, typer.Option("--wait", help="Wait until every turn can be recalled.")] = False,
    timeout: Annotated[
        float, typer.Option(help="Seconds to wait at most, for Kafka and then (--wait) for the recorder.", min=1)
    ] = 300.0,
    source: Annotated[str, typer.Option(help="The application that publishes.")] = "afterturn-publish",
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Publish turns. Publishing the same turn again is safe: it is recorded once.

    A line that breaks the contract is refused with its number and field; the others go on, and the exit code is 65.
    It is 69 where Kafka was away, or not everything could be recalled in time.

    Examples:

    ```sh
    afterturn publish turns.jsonl --wait
    tail -f turns.jsonl | afterturn publish -
    ```
    """
    log_to_stderr("critical")
    with ExitStack() as stack:
        lines = None if file == "-" else stack.enter_context(_opened(Path(file)))
        try:
            published = asyncio.run(_publish(lines, source, TopicNames(topic_prefix), timeout, wait=wait))
        except ExceptionGroup as several:  # of turns under way together
            raise several.exceptions[0] from None
    if as_json:
        typer.echo(orjson.dumps(as_dict(published)).decode())
    else:
        _say(published, timeout)
    if published.away or published.missing:
        raise typer.Exit(EXIT_AWAY)
    if published.refused:
        raise typer.Exit(EXIT_INPUT)
    if published.skipped.keys() - {"duplicate"}:
        raise typer.Exit(EXIT_STOP)


async def _publish(file: IO[bytes] | None, source: str, topics: TopicNames, timeout: float, *, wait: bool) -> Published:
    published = Published()
    size = None if file is None else os.fstat(file.fileno()).st_size
    async with publishing(topics, source, timeout, wait=wait) as (publisher, waiter):
        with _progress() as progress:
            task = progress.add_task("publishing", total=size)
            async with asyncio.TaskGroup() as group:
                window = asyncio.Semaphore(IN_FLIGHT)
                async for line in _standard_input() if file is None else _lines(file):
                    published.read += 1
                    await window.acquire()
                    if published.away is not None:
                        break
                    group.create_task(_one(publisher, published.read, line, published, window))
                    progress.advance(task, len(line))
            progress.update(task, total=size or progress.tasks[0].completed, completed=size)
            if waiter is not None:
                await _reach(waiter, published, timeout, progress)
    return published


async def _one(
    publisher: TurnPublisher, number: int, line: bytes, published: Published, window: asyncio.Semaphore
) -> None:
    try:
        if line := line.strip():
            published.tokens[number] = await publisher.publish(parse(TurnCompleted, line))
    except ContractError as fault:
        published.refused[number] = fault
    except DeadLetter as error:
        published.refused[number] = ContractError("too_large", "", str(error))
    except Retry as error:
        published.away = error
    finally:
        window.release()


async def _reach(waiter: Waiter, published: Published, timeout: float, progress: Progress) -> None:
    """Wait until what was published can be recalled, and note how many turns can't in time."""
    published.missing = total = len(published.tokens)
    if not total:
        return
    task = progress.add_task("recording", total=total)
    try:
        async with asyncio.timeout(timeout):
            async for reached in waiter.reach(published.tokens.values()):
                published.missing = total - reached
                progress.update(task, completed=reached)
    except TimeoutError:
        pass
    published.skipped = dict(waiter.skipped)


async def _lines(file: IO[bytes]) -> AsyncIterator[bytes]:
    for line in file:
        yield line


async def _standard_input() -> AsyncIterator[bytes]:
    """Lines as they come: a thread reads them, so that what was read is sent while the next is waited for."""
    loop, read = asyncio.get_running_loop(), asyncio.Queue[bytes](IN_FLIGHT)

    def reading() -> None:
        with open(sys.stdin.fileno(), "rb", closefd=False) as stream:
            while line := stream.readline():
                asyncio.run_coroutine_threadsafe(read.put(line), loop).result()
        asyncio.run_coroutine_threadsafe(read.put(b""), loop)

    # A daemon: Ctrl-C must not wait for a line that nobody types.
    threading.Thread(target=reading, name="stdin", daemon=True).start()
    while line := await read.get():
        yield line


def _opened(path: Path) -> IO[bytes]:
    if path.is_dir():
        raise ContractError("invalid", "FILE", f"{path} is a folder; name a file of JSON lines in it")
    try:
        return path.open("rb")
    except FileNotFoundError:
        raise ContractError("invalid", "FILE", f"there is no file {path}") from None
    except OSError as error:
        raise ContractError("invalid", "FILE", f"{path} can't be read: {error.strerror}") from None


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description:<11}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), console=err
    )


def as_dict(published: Published) -> dict[str, Any]:
    """A publication as JSON values, lines in the order of the input."""
    body: dict[str, Any] = {
        "published": len(published.tokens),
        "recallable": published.recallable,
        "tokens": [{"line": n, "token": str(token)} for n, token in sorted(published.tokens.items())],
        "refused": [
            {"line": n, "field": fault.place, "problem": problem_of(fault)}
            for n, fault in sorted(published.refused.items())
        ],
    }
    if published.missing is not None:
        body |= {"not_recallable": published.missing, "skipped": published.skipped}
    if published.away is not None:
        body |= {"failed": text_of(published.away), "from_line": from_line(published)}
    return body


def problem_of(fault: ContractError) -> str:
    """What is wrong with a line, without the number a parser gives it: it saw this line only."""
    return _IN_LINE.sub(r" at column \1", fault.problem)


def from_line(published: Published) -> int:
    """The first line that is not known to be on the log, where publishing ended early."""
    done = published.tokens.keys() | published.refused.keys()
    return next((n for n in range(1, published.read + 1) if n not in done), published.read + 1)


def _say(published: Published, timeout: float) -> None:
    said = f"{counted(len(published.tokens), 'turn')} published"
    if published.missing:
        late = f", {published.missing:,} not yet recallable after {timeout:g} s; is the recorder running?"
        tell("yellow", said, late, err)
    else:
        out.print(f"{said}{' and recallable' if published.recallable else ''}", highlight=False)
    if published.skipped:
        reasons = ", ".join(f"{count:,} {reason}" for reason, count in sorted(published.skipped.items()))
        tell("yellow", "skipped: ", f"{reasons} (afterturn doctor explains dead letters)", err)
    if published.away is not None:
        again = f"{text_of(published.away)} Publish again from line {from_line(published)} on: that is safe."
        tell("red", "ended early: ", again, err)
    for number, fault in sorted(published.refused.items())[:MAX_SAID]:
        where = f"{fault.place}: " if fault.place else ""
        tell("red", f"line {number} refused: ", f"{where}{problem_of(fault)}", err)
    if len(published.refused) > MAX_SAID:
        err.print(f"… and {counted(len(published.refused) - MAX_SAID, 'more line', 'more lines')} refused")
