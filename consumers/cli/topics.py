"""``afterturn topics``: another number of partitions."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.progress import MofNCompleteColumn

from afterturn.consumers.cli.bars import passing_bar
from afterturn.consumers.cli.helping import PlainGroup
from afterturn.consumers.cli.options import AsJson, prefix_of
from afterturn.consumers.cli.running import EXIT_STOP, err, log_to_stderr, need_service, out, tell
from afterturn.consumers.cli.wording import counted
from afterturn.consumers.settings import ServiceSettings
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.topics import TopicShape

if TYPE_CHECKING:
    from afterturn.consumers.repartitioning import Move, OnProgress

topics = typer.Typer(cls=PlainGroup, help="Move to another number of partitions.", no_args_is_help=True)


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(topics, name="topics")


@topics.callback()
def _group() -> None:
    """Move to another number of partitions."""


@topics.command()
def repartition(
    partitions: Annotated[int, typer.Option(help="How many the new topics have.", min=1, max=1_024)],
    prefix: Annotated[str, typer.Option(help="What the new topics' names begin with.", callback=prefix_of)],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check that it could be done; change nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; for scripts.")] = False,
    as_json: AsJson = False,
) -> None:
    """Move the memories to new topics with another number of partitions, once the log is drained.

    End publishers first (agents, recall), then, once all is recorded, every recorder. Until that is so it refuses, says
    what is missing, and exits with 1. Interrupted anywhere it can be run again; no service starts meanwhile. At the end
    it says which settings to change. AFTERTURN_REPLICATION and AFTERTURN_RETENTION_DAYS are those of the new topics.

    Examples:

    ```sh
    afterturn topics repartition --partitions 24 --prefix afterturn2 --dry-run
    afterturn topics repartition --partitions 24 --prefix afterturn2 --yes
    ```
    """
    need_service()
    log_to_stderr("critical")
    service = ServiceSettings()
    shape = TopicShape(partitions, service.replication, service.retention_days)
    with _lacks_said():
        move = asyncio.run(_move(shape, prefix, carry_out=False))
        if not (dry_run or move.done):
            if not yes:
                question = f"Move {move.before.topic} ({move.before.partitions} partitions) to {move.to.topic}"
                typer.confirm(f"{question} ({partitions})?", abort=True, err=True)
            move = asyncio.run(_move(shape, prefix, carry_out=True))
    _say(move, dry_run=dry_run, as_json=as_json)
    if move.late:
        raise typer.Exit(EXIT_STOP)


@contextmanager
def _lacks_said() -> Iterator[None]:
    """Say what keeps the log from being drained, a line each."""
    from afterturn.consumers.repartitioning import NotDrained

    try:
        yield
    except NotDrained as found:
        for each in found.lacks:
            tell("yellow", "missing: ", each, err)
        raise


async def _move(shape: TopicShape, prefix: str, *, carry_out: bool) -> Move:
    from afterturn.consumers.repartitioning import opened_repartitioning
    from afterturn.consumers.store.settings import StoreSettings

    async with opened_repartitioning(KafkaSettings(), StoreSettings(), shape, prefix) as it:
        if not carry_out:
            return await it.examine()
        with _progress() as on_progress:
            return await it.carry_out(on_progress)


@contextmanager
def _progress() -> Iterator[OnProgress]:
    with passing_bar("{task.description:<11}", MofNCompleteColumn()) as progress:
        task = progress.add_task("moving", total=None)
        yield lambda step, done, total: progress.update(task, description=step, completed=done, total=total)


def settings_of(move: Move) -> dict[str, str]:
    """The settings that every service and publisher needs from now on."""
    return {
        "AFTERTURN_TOPIC_PREFIX": move.to.topic.removesuffix(".turns"),
        "AFTERTURN_PARTITIONS": str(move.to.partitions),
        "AFTERTURN_EPOCH": str(move.to.epoch),
    }


def _say(move: Move, *, dry_run: bool, as_json: bool) -> None:
    if as_json:
        body: dict[str, Any] = {"done": not dry_run or move.done, "already": move.done, "tenants": move.tenants}
        body["late"] = {str(partition): count for partition, count in move.late.items()}
        body["settings"] = settings_of(move)
        typer.echo(orjson.dumps(body).decode())
        return
    if move.done:
        tell("green", "done already: ", f"{move.to.topic} has {counted(move.to.partitions, 'partition')}")
    elif dry_run:
        what = "an earlier run is to be finished" if move.resumed else "the log is drained, nobody records"
        tell("green", "it can be done: ", what)
        return
    else:
        tell("green", "moved: ", f"{counted(move.tenants, 'tenant')} to {counted(move.to.partitions, 'partition')}")
    for partition, count in move.late.items():
        late = f"{count:,} offsets in partition {partition} of {move.before.topic}: publish these turns again"
        tell("yellow", "came too late to be recorded: ", late, err)
    out.print("Every service and publisher needs these settings from now on:")
    for name, value in settings_of(move).items():
        out.print(f"  {name}={value}", markup=False, highlight=False)
