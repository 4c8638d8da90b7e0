"""What is done around every request: it is counted, and its answer gets the headers that keep browsers honest."""

from __future__ import annotations

import re
import time

from starlette.middleware.cors import CORSMiddleware
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.schemas.query import TENANT_HEADER

_SECURITY = [
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cache-control", b"no-store"),
]
_NOTHING_RUNS = (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'")
_PAGES = ("/docs",)
"""The one page that is for people runs scripts."""


class Wrapped:
    """Counts requests by route and status, and how long they took; adds the security headers."""

    def __init__(self, app: ASGIApp, metrics: RecallMetrics, routes: tuple[str, ...]) -> None:
        self._app = app
        self._metrics = metrics
        self._exact = frozenset(route for route in routes if "{" not in route)
        self._open = tuple((_pattern(route), route) for route in dict.fromkeys(routes) if "{" in route)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        path: str = scope["path"]
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], *_SECURITY]
                if not path.startswith(_PAGES):
                    message["headers"].append(_NOTHING_RUNS)
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            self._metrics.answered(self._route(path), status, time.perf_counter() - started)

    def _route(self, path: str) -> str:
        """The route's own name: what a path holds beside it may name anyone."""
        if path in self._exact:
            return path
        return next((route for pattern, route in self._open if pattern.fullmatch(path)), "other")


def _pattern(route: str) -> re.Pattern[str]:
    """What paths of a route look like; a part named ``…:path`` may hold slashes."""
    return re.compile(re.sub(r"\{\w+(:path)?\}", lambda found: ".+" if found[1] else "[^/]+", route), re.DOTALL)


def with_cors(app: ASGIApp, origins: tuple[str, ...]) -> ASGIApp:
    """Let pages of these origins ask; of none by default."""
    if not origins:
        return app
    return CORSMiddleware(
        app,
        allow_origins=list(origins),
        allow_methods=["GET", "POST", "DELETE"],
        allow_headers=["authorization", "content-type", "idempotency-key", "last-event-id", TENANT_HEADER.lower()],
        expose_headers=["retry-after"],
        max_age=600,
    )
