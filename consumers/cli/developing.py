"""``afterturn dev`` and ``afterturn demo``: everything on one machine, without Docker, Java or a key."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from afterturn.consumers.cli.running import log_to_stderr, need_extra, need_service, out, run_until_signal, step, tell


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(dev)
    app.command()(demo)


def dev(
    folder: Annotated[Path, typer.Option(help="Where everything is kept.")] = Path(".afterturn"),
    kafka_port: Annotated[int, typer.Option(min=0, max=65_535)] = 9092,
    qdrant_port: Annotated[int, typer.Option(min=0, max=65_535)] = 6333,
    recall_port: Annotated[int, typer.Option(min=0, max=65_535)] = 8080,
    recorder_port: Annotated[int, typer.Option(min=0, max=65_535)] = 8081,
) -> None:
    """Run broker, store, recorder and recall in the foreground until Ctrl-C; data are kept in `./.afterturn`.

    Where `KAFKA_BOOTSTRAP_SERVERS` or `QDRANT_URL` are set, they are used instead of the embedded ones.

    Examples: `afterturn dev`, `afterturn dev --folder /tmp/try --recall-port 0`
    """
    need_service()
    need_extra("dev", "noida_db")
    from afterturn.consumers.dev.stack import Stack, StackPorts

    log_to_stderr("warning")
    ports = StackPorts(kafka_port, qdrant_port, recorder_port, recall_port)

    async def main(stop: asyncio.Event) -> None:
        stack = Stack(folder, step, ports)
        addresses = await stack.start()
        out.print("[green]ready[/green]; Ctrl-C ends it")
        for name, value in addresses.environment().items():
            tell("dim", f"  {name}=", value)
        tell("dim", "  recorder health and metrics: ", f"{addresses.recorder}; logs: {folder}/logs")
        try:
            await stack.watch(stop)
        finally:
            await stack.stop()

    run_until_signal(main)


def demo(
    folder: Annotated[Path | None, typer.Option(help="Keep the data here instead of a folder that is removed.")] = None,
) -> None:
    """Run the main job once: start everything, publish a sample, ask a dozen questions, show what happened.

    Example: `afterturn demo`
    """
    need_service()
    need_extra("dev", "noida_db")
    from afterturn.consumers.cli.demo import show_all

    log_to_stderr("warning")
    with _folder(folder) as where:
        run_until_signal(lambda stop: show_all(where, stop))


@contextmanager
def _folder(kept: Path | None) -> Iterator[Path]:
    if kept is not None:
        yield kept
        return
    with tempfile.TemporaryDirectory(prefix="afterturn-demo-") as made:
        yield Path(made)
