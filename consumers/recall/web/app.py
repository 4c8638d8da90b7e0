"""The HTTP surface: its routes, and what is around them."""

from __future__ import annotations

from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp

from afterturn.consumers.recall.web import browsing, callers, recalling, removing, reviewing, streaming, writing
from afterturn.consumers.recall.web.answers import NotReady, add_error_handlers
from afterturn.consumers.recall.web.desk import Desk
from afterturn.consumers.recall.web.documenting import document
from afterturn.consumers.recall.web.wrapping import Wrapped, with_cors
from afterturn.consumers.recall.web.writing import TurnOverHttp
from afterturn.consumers.serving import health_routes

__all__ = ("Desk", "NotReady", "TurnOverHttp", "create_app")

ROUTES = (
    *recalling.ROUTES,
    *writing.ROUTES,
    *removing.ROUTES,
    *reviewing.ROUTES,
    *browsing.ROUTES,
    *streaming.ROUTES,
    *callers.ROUTES,
)
"""Method, path and what answers it."""


def create_app(desk: Desk) -> ASGIApp:
    """The application around a desk. It opens and closes nothing."""
    app = FastAPI(title="Afterturn recall", version="1", redoc_url=None, redirect_slashes=False)
    for method, path, endpoint in ROUTES:
        app.add_route(path, partial(endpoint, desk), methods=[method], include_in_schema=False)
    health = health_routes(lambda: desk.health.missing, desk.metrics.registry)
    app.router.routes.extend(health)
    add_error_handlers(app, desk.health)
    setattr(app, "openapi", document)  # noqa: B010 - FastAPI's way to give a document made by hand
    paths = (*(path for _, path, _ in ROUTES), *(route.path for route in health))
    return with_cors(Wrapped(app, desk.metrics, paths), desk.settings.cors_origins)
