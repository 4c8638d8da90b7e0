"""``afterturn doctor``: what is there, and what is wrong with it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import orjson
import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.faults import text_of, wrong_settings
from afterturn.consumers.cli.options import AsJson
from afterturn.consumers.cli.running import log_to_stderr, need_service, out
from afterturn.schemas.partitioners import CLIENTS
from afterturn.streams.errors import AfterturnError
from afterturn.streams.kafka import KafkaSettings

if TYPE_CHECKING:
    from afterturn.consumers.diagnosis import Finding

COLOURS = {"ok": "green", "note": "yellow", "wrong": "red"}
CHECK_WITHIN_S = 30.0


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(doctor)


def doctor(as_json: AsJson = False) -> None:
    """Check connections, versions, topics, collection, embedder, lag and dead letters.

    Exits with 1 where something is wrong. Misrouted dead letters are explained with each client's partitioner setting.

    Examples:

    ```sh
    afterturn doctor
    KAFKA_BOOTSTRAP_SERVERS=kafka:9092 afterturn doctor --json
    ```
    """
    need_service()
    from afterturn.consumers.diagnosis import misrouted

    log_to_stderr("critical")
    findings = asyncio.run(_examine())
    explain = misrouted(findings)
    if as_json:
        body = {
            "findings": [{"name": f.name, "health": f.health, "said": f.said, "lines": f.lines} for f in findings],
            "partitioners": {c.client: c.setting or "its default" for c in CLIENTS} if explain else {},
        }
        typer.echo(orjson.dumps(body, option=orjson.OPT_INDENT_2).decode())
    else:
        _show(findings, explain=explain)
    if any(finding.health == "wrong" for finding in findings):
        raise typer.Exit(1)


async def _examine() -> list[Finding]:
    from afterturn.consumers.diagnosis import Doctor
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    it = Doctor(ServiceSettings, KafkaSettings, StoreSettings)
    checks = (it.kafka, it.topics, it.qdrant, it.embedder, it.collection, it.lag, it.dead_letters)
    return [await _checked(check.__name__.replace("_", " "), check) for check in checks]


async def _checked(name: str, check: Callable[[], Awaitable[Finding]]) -> Finding:
    """One check; what it met is its finding, and the others go on: this is the process's edge."""
    from afterturn.consumers.diagnosis import Finding

    try:
        async with asyncio.timeout(CHECK_WITHIN_S):
            return await check()
    except AfterturnError as error:
        return Finding(name, "wrong", text_of(error))
    except ValidationError as error:
        lines = wrong_settings(error)
        if lines is None:
            raise
        return Finding(name, "wrong", lines[0], tuple(lines[1:]))
    except TimeoutError:
        return Finding(name, "wrong", f"no answer within {CHECK_WITHIN_S:.0f} s")


def _show(findings: list[Finding], *, explain: bool) -> None:
    table = Table(box=None, show_header=False)
    for finding in findings:
        mark = Text(finding.health, style=COLOURS[finding.health])
        table.add_row(mark, finding.name, Text("\n".join((finding.said, *finding.lines))))
    out.print(table)
    if explain:
        out.print("\nA publisher puts commands into the wrong partition. Its client needs this setting:\n")
        for client in CLIENTS:
            out.print(f"  [bold]{client.client}[/bold]: ", end="", highlight=False)
            out.print(Text(client.setting or "its default"), highlight=False)
