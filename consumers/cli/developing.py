"""``afterturn dev`` and ``afterturn demo``: everything on one machine, without Docker, Java or a key."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.text import Text

from afterturn.consumers.cli.running import err, log_to_stderr, need_dev, out, run_until_signal, step, tell

if TYPE_CHECKING:
    from afterturn.consumers.dev.stack import Stack

FREE = "; 0 chooses a free one"


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(dev)
    app.command()(demo)


def dev(
    folder: Annotated[Path, typer.Option(help="Where everything is kept; made where it is missing.")] = Path(
        ".afterturn"
    ),
    kafka_port: Annotated[int, typer.Option(help=f"The embedded broker's port{FREE}.", min=0, max=65_535)] = 9092,
    qdrant_port: Annotated[int, typer.Option(help=f"The embedded store's port{FREE}.", min=0, max=65_535)] = 6333,
    recall_port: Annotated[int, typer.Option(help=f"The port recall answers at{FREE}.", min=0, max=65_535)] = 8080,
    recorder_port: Annotated[
        int, typer.Option(help=f"The port of the recorder's health and metrics{FREE}.", min=0, max=65_535)
    ] = 8081,
) -> None:
    """Run broker, store, recorder and recall in the foreground until Ctrl-C; data are kept in `./.afterturn`.

    Where `KAFKA_BOOTSTRAP_SERVERS` or `QDRANT_URL` are set, they are used instead of the embedded ones.

    Examples:

    ```sh
    afterturn dev
    afterturn dev --folder /tmp/try --recall-port 0
    ```
    """
    need_dev()
    from afterturn.consumers.dev.stack import Stack, StackPorts
    from afterturn.consumers.settings import ServiceSettings

    log_to_stderr("warning")
    ServiceSettings()  # what is wrong with it is said before anything is started
    ports = StackPorts(kafka_port, qdrant_port, recorder_port, recall_port)

    run_until_signal(lambda stop: _run(Stack(folder, step, ports), stop))


async def _run(stack: Stack, stop: asyncio.Event) -> None:
    telling = asyncio.create_task(_tell_stopping(stop))
    addresses = await stack.start()
    out.print("[green]ready[/green]; Ctrl-C ends it")
    for name, value in addresses.environment().items():
        tell("dim", f"  {name}=", value)
    tell("dim", "  recorder health and metrics: ", f"{addresses.recorder}; logs: {stack.folder}/logs")
    try:
        await stack.watch(stop)
    finally:
        telling.cancel()
        await stack.stop()
    err.print(Text(f"ended; data kept in {stack.folder}", style="dim"), soft_wrap=True)


async def _tell_stopping(stop: asyncio.Event) -> None:
    await stop.wait()
    step("stopping …")


def demo(
    folder: Annotated[Path | None, typer.Option(help="Keep the data here instead of a folder that is removed.")] = None,
) -> None:
    """Run the main job once: start everything, publish a sample, ask a dozen questions, show what happened.

    Example:

    ```sh
    afterturn demo
    ```
    """
    need_dev()
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
