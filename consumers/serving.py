"""A service's HTTP port: started and ended with the service, in its event loop."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import uvicorn
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from afterturn.consumers.guarding import GuardedProtocol
from afterturn.streams.errors import Stop

_ENDING_S = 30
"""What is not answered so long after the service was asked to end is given up."""
Readiness = Callable[[], Mapping[str, str]]
"""What keeps a service from being ready, by dependency; empty when it is."""
Stuck = Callable[[], str | None]
"""What shows that a service no longer does its work and should be started anew; None while it does. Does no I/O."""


class CannotListen(Stop):
    """The address is in use, or not ours; ``by_port`` where another port helps, not another host."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        self.by_port = error.errno in {errno.EADDRINUSE, errno.EACCES}
        if error.errno == errno.EADDRINUSE:
            self.why = f"port {port} of {host} is in use, by another afterturn perhaps"
        elif error.errno == errno.EACCES:
            self.why = f"this user may not listen on port {port} of {host}"
        else:
            self.why = f"{host} is no address of this machine"
        super().__init__(f"The HTTP server can't start: {self.why}.")


class _Server(uvicorn.Server):
    """Leaves signals to the process: it decides what ends, and in which order."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


@asynccontextmanager
async def serving(app: Any, host: str, port: int) -> AsyncIterator[int]:  # noqa: ANN401 - an ASGI application
    """Serve an application while the block runs; gives the port (0 chooses a free one).

    Raises:
        CannotListen: the port is taken, or the address isn't ours.
    """
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        http=GuardedProtocol,
        log_config=None,
        access_log=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_ENDING_S,
        lifespan="on",
    )
    server = _Server(config)
    with _bound(host, port) as listening:
        task = asyncio.create_task(server.serve(sockets=[listening]), name="http")
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            await task


def _bound(host: str, port: int) -> socket.socket:
    # The protocol is named, or the loop leaves TCP_NODELAY off: answers then stall for 40 ms.
    bound = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((host, port))
    except OSError as error:
        bound.close()
        raise CannotListen(host, port, error) from None
    return bound


def never_stuck() -> str | None:
    """Of a service without a loop of its own: it lives as long as it answers."""
    return None


def health_app(readiness: Readiness, registry: CollectorRegistry, stuck: Stuck = never_stuck) -> Starlette:
    """``/health/live`` (503 where stuck), ``/health/ready`` (503 with what is missing) and ``/metrics``."""
    return Starlette(routes=health_routes(readiness, registry, stuck))


def health_routes(readiness: Readiness, registry: CollectorRegistry, stuck: Stuck = never_stuck) -> list[Route]:
    """The routes every service has. Liveness does no I/O: it is true as long as the loop answers and isn't stuck."""

    async def live(_: Request) -> Response:
        why = stuck()
        return JSONResponse({"status": "live"} if why is None else {"status": "stuck", "why": why}, 503 if why else 200)

    async def ready(_: Request) -> Response:
        missing = dict(readiness())
        status = "waiting" if missing else "ready"
        return JSONResponse({"status": status, "missing": missing}, status_code=503 if missing else 200)

    async def metrics(_: Request) -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)

    return [Route("/health/live", live), Route("/health/ready", ready), Route("/metrics", metrics)]
