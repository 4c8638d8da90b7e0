"""``/mcp``: the tools over streamable HTTP, as a part of the recall service.

Every call goes through the service's own HTTP API, in this process, under the credential the request brought: so the
tools can do what that credential can do there, and nothing else.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from afterturn.consumers.recall.mcp.calling import Api
from afterturn.consumers.recall.mcp.server import Context, make_server
from afterturn.schemas.query import TENANT_HEADER

PATH = "/mcp"
_ME = "afterturn_me"
_OWN_HEADERS = frozenset({"content-length"})
_FORWARDED = frozenset({b"authorization", TENANT_HEADER.lower().encode(), b"host"})


@asynccontextmanager
async def with_tools(app: ASGIApp, topic: str, max_body: int) -> AsyncIterator[ASGIApp]:
    """The application with the tools beside it, as long as the block runs; a request has ``max_body`` bytes at most."""
    endpoint = _Endpoint(app, topic, max_body)
    async with endpoint.running():
        yield endpoint


class _Endpoint:
    """Answers ``/mcp`` and passes everything else on. Each request stands by itself: any instance can answer it."""

    def __init__(self, app: ASGIApp, topic: str, max_body: int) -> None:
        self._app = app
        transport = httpx.ASGITransport(app=app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")
        self._sessions = StreamableHTTPSessionManager(
            make_server(self._api, topic), json_response=True, stateless=True, max_request_body_size=max_body
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Serve while the block runs."""
        async with self._client, self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or pass on."""
        if scope["type"] != "http" or scope["path"] != PATH:
            await self._app(scope, receive, send)
            return
        if scope["method"] == "GET":  # a stream that would never say anything, and be held open
            refusal = {"allow": "POST", "content-type": "text/plain"}
            await Response("each request stands by itself: POST it", 405, refusal)(scope, receive, send)
            return
        admitted = await self._client.get("/v1/me", headers=_forwarded(Request(scope)))
        if admitted.is_success:
            scope.setdefault("state", {})[_ME] = admitted.json()
            await self._sessions.handle_request(scope, receive, send)
            return
        kept = {name: value for name, value in admitted.headers.items() if name not in _OWN_HEADERS}
        await Response(admitted.content, admitted.status_code, kept)(scope, receive, send)

    def _api(self, context: Context) -> Api:
        request = context.request
        assert isinstance(request, Request), "what comes over HTTP has its request"
        return Api(self._client, _forwarded(request), known=request.scope["state"][_ME])


def _forwarded(request: Request) -> httpx.Headers:
    """Who asks, and by which name they called this service: the bytes as they came, however often."""
    return httpx.Headers([(name, value) for name, value in request.scope["headers"] if name in _FORWARDED])
