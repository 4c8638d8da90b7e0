"""The tools over stdio: a process of its own beside the model's, which asks the recall service over HTTP."""

from __future__ import annotations

import httpx
from mcp.server.stdio import stdio_server

from afterturn.consumers.recall.mcp.calling import Api
from afterturn.consumers.recall.mcp.server import make_server
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import is_identifier

_TIMEOUT_S = 30.0


async def serve_stdio(url: str, tenant: str | None, api_key: str | None, scope: Scope, topic: str) -> None:
    """Serve until the input ends.

    Without a ``tenant`` the key's only one is asked; ``scope`` binds every call.

    Raises:
        ContractError: the tenant can't be sent.
    """
    if tenant is not None and (not is_identifier(tenant) or tenant != tenant.strip()):
        raise ContractError("invalid", "--tenant", "must have 1 to 256 characters, no control ones, no blank ends")
    told = {TENANT_HEADER: tenant, "authorization": None if api_key is None else f"Bearer {api_key}"}
    headers = httpx.Headers([(name.encode(), value.encode()) for name, value in told.items() if value is not None])
    async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S) as client:
        server = make_server(lambda _: Api(client, headers, scope), topic)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
