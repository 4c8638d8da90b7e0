"""``afterturn mcp``: memory as tools for whatever speaks the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Annotated

import typer
from pydantic import ValidationError

from afterturn.consumers.cli.options import RecallUrl, api_key, dimension_of
from afterturn.consumers.cli.running import log_to_stderr, need_extra, need_service
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.query import TOPIC
from afterturn.schemas.scope import DIMENSIONS, Scope


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(mcp)


def mcp(
    tenant: Annotated[str | None, typer.Option(help="Whose memories; a key of one tenant needs none.")] = None,
    scope: Annotated[
        list[str] | None, typer.Option(help="What every call is bound to, as user=ada; repeat for several.")
    ] = None,
    topic: Annotated[str, typer.Option(help="What the tools say memory is about.")] = TOPIC,
    url: RecallUrl = "http://127.0.0.1:8080",
) -> None:
    """Offer recall, remember, forget and memory_status as tools over standard input and output.

    A model's program starts it. It asks a running recall service, with the API key or token in AFTERTURN_API_KEY; tools
    that key may not use are not listed. The recall service itself offers the same over HTTP with AFTERTURN_RECALL_MCP.

    Example:

    ```sh
    afterturn mcp --tenant ada --scope user=ada --topic "the garden"
    ```
    """
    need_service()
    need_extra("mcp", "mcp")
    from afterturn.consumers.recall.mcp.stdio import serve_stdio

    log_to_stderr("warning")
    asyncio.run(serve_stdio(url, tenant, api_key(), scope_of(scope or []), topic))


def scope_of(pairs: list[str]) -> Scope:
    """A scope from its dimensions, as ``user=ada``.

    Raises:
        ContractError: one is none.
    """
    named = dict(map(dimension_of, pairs))
    if len(named) < len(pairs) or not set(named) <= set(DIMENSIONS):
        raise ContractError("invalid", "--scope", f"must be {', '.join(f'{each}=…' for each in DIMENSIONS)}, each once")
    try:
        return Scope.model_validate(named)
    except ValidationError as error:
        fault = from_pydantic(error)
        raise ContractError("invalid", f"--scope {fault.place}", fault.problem) from None
