"""How a command runs: logs to stderr, one event loop, signals that end it in order."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import signal
import sys
from collections.abc import Awaitable, Callable

from rich.console import Console
from rich.text import Text

from afterturn.streams.errors import Stop
from afterturn.streams.kafka import quiet_client_logs

EXIT_STOP, EXIT_AWAY, EXIT_INPUT, EXIT_INTERRUPTED = 1, 69, 65, 130
"""Exit codes: a stop (configuration, another log), a dependency that is away, bad input, Ctrl-C."""

SERVICE = ("qdrant_client", "qdrant_edge", "fastapi", "uvicorn", "prometheus_client")
"""What the services import, of those the light client leaves out."""

out = Console()
err = Console(stderr=True)


def run_until_signal(main: Callable[[asyncio.Event], Awaitable[None]]) -> None:
    """Run a long-running command; SIGINT and SIGTERM ask it to end, a second one ends it at once."""

    async def supervised() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, _ask_to_end, stop, number)
        await main(stop)

    asyncio.run(supervised())


def _ask_to_end(stop: asyncio.Event, number: int) -> None:
    if stop.is_set():
        signal.signal(number, signal.SIG_DFL)
        signal.raise_signal(number)
    stop.set()


def log_to_stderr(level: str) -> None:
    """One line an entry on stderr; the Kafka client's noise is limited."""
    logging.basicConfig(
        level=level.upper(), stream=sys.stderr, format="%(asctime)s %(levelname)s %(name)s %(message)s", force=True
    )
    for chatty in ("httpx", "uvicorn", "mcp"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    quiet_client_logs()


def need_extra(extra: str, *modules: str) -> None:
    """Stop where an extra of this package isn't installed, naming it.

    Raises:
        Stop: a module of it is missing.
    """
    missing = [module for module in modules if importlib.util.find_spec(module) is None]
    if missing:
        raise Stop(
            f"This command needs what the light client leaves out ({', '.join(missing)}).",
            command_that_helps=f"pip install 'afterturn[{extra}]', or from a checkout pip install '.[{extra}]'",
        )


def need_service() -> None:
    """Stop on the light install."""
    need_extra("service", *SERVICE)


def need_dev() -> None:
    """Stop where services or the embedded broker are missing; both extras are named at once."""
    need_extra("service,dev", *SERVICE, "noida_db")


def step(what: str) -> None:
    """Say on stderr what is being done; brackets in it are no markup."""
    err.print(Text(f"· {what}", style="dim"))


def tell(style: str, label: str, text: str, console: Console = out) -> None:
    """A styled label and a text as it is."""
    console.print(Text(label, style=style).append(text, style="default"))
