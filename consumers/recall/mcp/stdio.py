"""The tools over stdio: a process of its own beside the model's, which asks the recall service over HTTP."""

from __future__ import annotations

import httpx
from mcp.server.stdio import stdio_server

from afterturn.consumers.recall.mcp.calling import Api
from afterturn.consumers.recall.mcp.server import make_server
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.scope import Scope

_TIMEOUT_S = 30.0


async def serve_stdio(url: str, tenant: str | None, api_key: str | None, scope: Scope, topic: str) -> None:
    """Serve until the input ends.

    Without a ``tenant`` the key's only one is asked; ``scope`` binds every call.
    """
    headers = {}
    if tenant is not None:
        headers[TENANT_HEADER] = tenant
    if api_key is not None:
        headers["authorization"] = f"Bearer {api_key}"
    async with httpx.AsyncClient(base_url=url, timeout=_TIMEOUT_S) as client:
        server = make_server(lambda _: Api(client, headers, scope), topic)
        async with stdio_server() as (incoming, outgoing):
            await server.run(incoming, outgoing, server.create_initialization_options())
