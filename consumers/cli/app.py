"""The command line: its commands, and what an error means for whoever ran it."""

from __future__ import annotations

import sys

import typer
from rich.console import Console
from rich.text import Text

from afterturn.consumers.cli import (
    asking,
    commanding,
    developing,
    diagnosing,
    evaluating,
    preparing,
    publishing,
    services,
    watching,
)
from afterturn.consumers.cli.running import EXIT_AWAY, EXIT_INPUT, EXIT_INTERRUPTED, EXIT_STOP
from afterturn.schemas.errors import ContractError
from afterturn.streams.errors import AfterturnError, Recoverable

app = typer.Typer(
    name="afterturn",
    help="Long-term memory for AI agents: turns in over Kafka, memories in Qdrant, recall in milliseconds.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)
for group in (developing, services, preparing, publishing, asking, watching, commanding, diagnosing, evaluating):
    group.register(app)


def run() -> None:
    """Run the command line; errors of ours are said in a line, with what to do, and end with their exit code."""
    console = Console(stderr=True)
    try:
        app(standalone_mode=True)
    except ContractError as error:
        _say(console, error)
        sys.exit(EXIT_INPUT)
    except AfterturnError as error:
        _say(console, error)
        sys.exit(EXIT_AWAY if isinstance(error, Recoverable) else EXIT_STOP)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _say(console: Console, error: Exception) -> None:
    """The error's text as it is: what is in brackets is no markup."""
    console.print(Text("error: ", style="red").append(str(error), style="default"))
