"""Answers in JSON, and what an error means for whoever sent the request."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import orjson
from pydantic import BaseModel
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.access.principals import Forbidden, Unauthenticated
from afterturn.consumers.recall.health import Health
from afterturn.schemas.errors import ContractError
from afterturn.streams.errors import QuotaExceeded, RecordTooLarge, Recoverable, Retry, Stop

_RETRY_AFTER_S = 2
_UNAUTHENTICATED, _FORBIDDEN, _NOT_FOUND = 401, 403, 404


class NotReady(Retry):
    """What this request needs isn't there yet."""

    def __init__(self, missing: Mapping[str, str]) -> None:
        super().__init__(f"not ready: {'; '.join(missing.values()) or 'starting'}")


class Missing(HTTPException):
    """There is no such thing; or it is another's, which is answered alike."""

    def __init__(self, problem: str) -> None:
        super().__init__(_NOT_FOUND, problem)


def json_answer(status: int, body: object, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON. Of a model, what it doesn't have is left out."""
    content = orjson.dumps(body, default=_fields_of, option=orjson.OPT_UTC_Z)
    return Response(content, status, headers, media_type="application/json")


def _fields_of(model: object) -> dict[str, Any]:
    """What a model has. Its own dump takes several times as long, and an answer holds dozens."""
    if not isinstance(model, BaseModel):
        raise TypeError
    return {name: value for name, value in vars(model).items() if value is not None}


def add_error_handlers(app: Starlette, health: Health) -> None:
    """Let every error of ours be answered by what it means for the caller."""
    for kind, handler in (
        (HTTPException, _refused),
        (Unauthenticated, _unauthenticated),
        (Forbidden, _forbidden),
        (ContractError, _invalid),
        (RecordTooLarge, _larger_than_the_topic_takes),
        (QuotaExceeded, _over_quota),
        (Recoverable, _away),
        (TimeoutError, _away),
        (Stop, partial(_ending, health)),
    ):
        app.add_exception_handler(kind, handler)


def _problem(status: int, field: str, problem: str, headers: Mapping[str, str] | None = None) -> Response:
    return json_answer(status, {"error": {"field": field, "problem": problem}}, headers)


async def _refused(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    return _problem(error.status_code, "", error.detail, error.headers)


async def _unauthenticated(_: Request, error: Exception) -> Response:
    assert isinstance(error, Unauthenticated)
    headers = {"www-authenticate": 'Bearer realm="afterturn"'}
    return _problem(_UNAUTHENTICATED, error.place, error.problem, headers)


async def _forbidden(_: Request, error: Exception) -> Response:
    assert isinstance(error, Forbidden)
    return _problem(_FORBIDDEN, error.place, error.problem)


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
    after = getattr(error, "retry_after", None) or _RETRY_AFTER_S
    return _problem(503, "", why, {"retry-after": str(math.ceil(after))})


async def _ending(health: Health, _: Request, error: Exception) -> Response:
    """Answer, and end the process: what it was started with cannot work."""
    assert isinstance(error, Stop)
    health.fail(error)
    return _problem(503, "", "the service stops: its log says why")
