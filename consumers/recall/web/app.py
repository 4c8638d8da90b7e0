"""The HTTP surface: what a request becomes, and what an error means for whoever sent it."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import uuid4

import orjson
from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from afterturn.consumers.recall.engine import Recall
from afterturn.consumers.recall.health import Health
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.recall.web.documenting import document
from afterturn.consumers.recall.web.requests import TENANT_HEADER, body_of, tenant_of
from afterturn.consumers.serving import health_routes
from afterturn.schemas.codec import parse
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Accepted, Answer, Query
from afterturn.schemas.types import Identifier
from afterturn.streams.errors import QuotaExceeded, RecordTooLarge, Recoverable, Retry, Stop
from afterturn.streams.publisher import TurnPublisher, refuse_blank
from afterturn.streams.quota import Buckets

_RETRY_AFTER_S = 2
_ROUTES = frozenset({"/v1/recall", "/v1/turns", "/health/live", "/health/ready", "/metrics"})


class NotReady(Retry):
    """What this request needs isn't there yet."""

    def __init__(self, missing: Mapping[str, str]) -> None:
        super().__init__(f"not ready: {'; '.join(missing.values()) or 'starting'}")


class TurnOverHttp(TurnCompleted):
    """A turn as it is posted: its tenant may be left out, the header names it."""

    tenant: Identifier = ""


class Desk:
    """What answers requests, as far as it is there: parts come when what they stand on can be reached."""

    def __init__(self, settings: RecallSettings, metrics: RecallMetrics, health: Health) -> None:
        self.settings = settings
        self.metrics = metrics
        self.health = health
        self._buckets = None if settings.quota is None else Buckets(settings.quota)
        self.recall: Recall | None = None
        self.publisher: TurnPublisher | None = None

    def admit(self, tenant: str) -> str:
        """The tenant, if it may ask now.

        Raises:
            QuotaExceeded: it is over its quota.
        """
        wait = 0.0 if self._buckets is None else self._buckets.take(tenant, time.monotonic())
        if wait:
            self.metrics.over_quota.inc()
            raise QuotaExceeded(wait)
        return tenant


def create_app(desk: Desk) -> FastAPI:
    """The application around a desk. It opens and closes nothing."""
    app = FastAPI(title="Afterturn recall", version="1", redoc_url=None, redirect_slashes=False)
    for path, endpoint in (("/v1/recall", _recall), ("/v1/turns", _turns)):
        app.add_route(path, partial(endpoint, desk), methods=["POST"], include_in_schema=False)
    app.router.routes.extend(health_routes(lambda: desk.health.missing, desk.metrics.registry))
    for kind, handler in (
        (HTTPException, _refused),
        (ContractError, _invalid),
        (RecordTooLarge, _larger_than_the_topic_takes),
        (QuotaExceeded, _over_quota),
        (Recoverable, _away),
        (TimeoutError, _away),
        (Stop, partial(_ending, desk.health)),
    ):
        app.add_exception_handler(kind, handler)
    app.add_middleware(CountedRequests, metrics=desk.metrics)
    setattr(app, "openapi", document)  # noqa: B010 - FastAPI's way to give a document made by hand
    return app


async def _recall(desk: Desk, request: Request) -> Response:
    """``POST /v1/recall``."""
    tenant = desk.admit(tenant_of(request))
    query = parse(Query, await body_of(request, desk.settings.max_body))
    if desk.recall is None:
        raise NotReady(desk.health.missing)
    answer = await desk.recall.answer(tenant, query, datetime.now(UTC))
    return _json(200, answer_body(answer))


async def _turns(desk: Desk, request: Request) -> Response:
    """``POST /v1/turns``."""
    tenant = desk.admit(tenant_of(request))
    turn = parse(TurnOverHttp, await body_of(request, desk.settings.max_body))
    if turn.tenant and turn.tenant != tenant:
        raise ContractError("invalid", "tenant", f"must be that of the header {TENANT_HEADER}, or be left out")
    refuse_blank(turn)
    if desk.publisher is None:
        raise NotReady(desk.health.missing)
    named = turn.model_copy(update={"tenant": tenant})
    id_ = str(uuid4())
    async with asyncio.timeout(desk.settings.publish_timeout):
        token = await desk.publisher.publish_command(named, ce_id=id_, traceparent=request.headers.get("traceparent"))
    return _json(202, Accepted(event_id=id_, token=str(token)).model_dump())


def answer_body(answer: Answer) -> dict[str, Any]:
    """An answer as JSON values; what a memory doesn't have is left out."""
    return answer.model_dump(exclude_none=True)


def _json(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    content = orjson.dumps(body, option=orjson.OPT_UTC_Z)
    return Response(content, status, headers, media_type="application/json")


def _problem(status: int, field: str, problem: str, headers: Mapping[str, str] | None = None) -> Response:
    return _json(status, {"error": {"field": field, "problem": problem}}, headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, "", error.detail, error.headers)


async def _invalid(_: Request, error: Exception) -> Response:
    assert isinstance(error, ContractError)
    return _problem(413 if error.reason == "too_large" else 422, error.place, error.problem)


async def _larger_than_the_topic_takes(_: Request, error: Exception) -> Response:
    return _problem(413, "", str(error))


async def _over_quota(_: Request, error: Exception) -> Response:
    assert isinstance(error, QuotaExceeded)
    return _problem(429, "", str(error), {"retry-after": str(math.ceil(error.retry_after))})


async def _away(_: Request, error: Exception) -> Response:
    why = str(error) or "what this needs did not answer in time; sending it again is safe"
    return _problem(503, "", why, {"retry-after": str(_RETRY_AFTER_S)})


async def _ending(health: Health, _: Request, error: Exception) -> Response:
    """Answer, and end the process: what it was started with cannot work."""
    assert isinstance(error, Stop)
    health.fail(error)
    return _problem(503, "", "the service stops: its log says why")


class CountedRequests:
    """Counts requests by route and status, and how long they took."""

    def __init__(self, app: ASGIApp, metrics: RecallMetrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note its end."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting)
        finally:
            route = scope["path"] if scope["path"] in _ROUTES else "other"
            self._metrics.answered(route, status, time.perf_counter() - started)
