"""The command line: its commands, and what an error means for whoever ran it."""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from pydantic import ValidationError
from rich.text import Text

from afterturn.consumers.cli import (
    asking,
    commanding,
    comparing,
    consolidating,
    dead_letters,
    developing,
    diagnosing,
    evaluating,
    keys,
    preparing,
    publishing,
    services,
    tooling,
    topics,
    watching,
)
from afterturn.consumers.cli.faults import text_of, wrong_settings
from afterturn.consumers.cli.helping import PlainGroup, plain, say_version
from afterturn.consumers.cli.running import EXIT_AWAY, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_STOP, err
from afterturn.schemas.errors import ContractError
from afterturn.streams.errors import AfterturnError, Recoverable

app = typer.Typer(
    name="afterturn",
    cls=PlainGroup,
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _afterturn(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.", callback=say_version, is_eager=True)
    ] = False,
) -> None:
    """Long-term memory for AI agents: turns in over Kafka, memories in Qdrant, recall in milliseconds."""


for group in (
    developing,
    services,
    tooling,
    preparing,
    publishing,
    asking,
    watching,
    commanding,
    consolidating,
    keys,
    dead_letters,
    topics,
    diagnosing,
    evaluating,
    comparing,
):
    group.register(app)
plain(app)


def run() -> None:
    """Run the command line; errors of ours are said in a line, with what to do, and end with their exit code."""
    try:
        app(standalone_mode=True)
    except ContractError as error:
        _say(error.named)
        sys.exit(EXIT_INPUT)
    except AfterturnError as error:
        _say(text_of(error))
        sys.exit(EXIT_AWAY if isinstance(error, Recoverable) else EXIT_STOP)
    except ValidationError as error:
        lines = wrong_settings(error)
        if lines is None:
            raise
        _say(*lines)
        sys.exit(EXIT_STOP)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _say(*lines: str) -> None:
    """The errors' texts as they are: what is in brackets is no markup."""
    for line in lines:
        err.print(Text("error: ", style="red").append(line, style="default"), soft_wrap=True)
