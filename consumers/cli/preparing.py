"""``afterturn init``: the topics and the collection."""

from __future__ import annotations

import asyncio

import orjson
import typer

from afterturn.consumers.cli.options import AsJson
from afterturn.consumers.cli.running import log_to_stderr, need_service, out, tell
from afterturn.streams.kafka import KafkaSettings


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(init)


def init(as_json: AsJson = False) -> None:
    """Create the topics and the collection, or check them where they are there, and say what differs.

    Nothing that exists is changed. Exits with 1 where services could not start on it.

    Examples:

    ```sh
    afterturn init
    AFTERTURN_PARTITIONS=24 AFTERTURN_REPLICATION=3 afterturn init --json
    ```
    """
    need_service()
    from afterturn.consumers.preparing import prepare
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    log_to_stderr("warning")
    prepared = asyncio.run(prepare(ServiceSettings(), KafkaSettings(), StoreSettings()))
    differences = [str(d) for d in (*prepared.topic_differences, *prepared.collection_differences)]
    if as_json:
        body = {
            "topics": prepared.topics,
            "collection": prepared.collection,
            "differences": differences,
            "fine": prepared.fine,
        }
        typer.echo(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
    else:
        tell("dim", "topics      ", ", ".join(prepared.topics))
        tell("dim", "collection  ", prepared.collection)
        for difference in differences:
            tell("yellow", "differs     ", difference)
        if not differences:
            out.print("[green]all as it should be[/green]")
    if not prepared.fine:
        raise typer.Exit(1)
