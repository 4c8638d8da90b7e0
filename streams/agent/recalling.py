"""Asking the recall service: one question, one answer, and what an error means for the turn."""

from __future__ import annotations

import asyncio

import httpx
from pydantic import ValidationError

from afterturn.schemas.codec import body_of
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.query import TENANT_HEADER, Accepted, Answer, Query
from afterturn.schemas.token import Token
from afterturn.schemas.types import Model
from afterturn.streams.agent.errors import MemoryRefused
from afterturn.streams.agent.settings import AgentSettings
from afterturn.streams.errors import QuotaExceeded, Retry

__all__ = ("RecallClient", "problem_of")

_LATER = frozenset({408, 425, 500, 502, 503, 504})
_TOO_MANY = 429


class RecallClient:
    """The recall service over HTTP.

    Every call raises:
        Retry: it is away, too slow, or says that it can't now.
        MemoryRefused: it says no, and would again.
    """

    def __init__(self, settings: AgentSettings, transport: httpx.AsyncBaseTransport | None = None) -> None:
        headers = {"content-type": "application/json"}
        if settings.api_key is not None:
            headers["authorization"] = f"Bearer {settings.api_key.get_secret_value()}"
        self._http = httpx.AsyncClient(base_url=settings.recall_url, headers=headers, transport=transport)

    async def close(self) -> None:
        """Disconnect."""
        await self._http.aclose()

    async def recall(self, tenant: str, query: Query, seconds: float) -> Answer:
        """Ask a question, within so many seconds."""
        body = await self._post("/v1/recall", tenant, query, seconds)
        try:
            return Answer.model_validate_json(body, extra="ignore")
        except ValidationError:
            raise Retry("What recall answered is no answer: is it another service?", dependency="recall") from None

    async def record(self, tenant: str, turn: TurnCompleted, seconds: float) -> Token:
        """Put a turn on the log by way of the service."""
        body = await self._post("/v1/turns", tenant, turn, seconds)
        try:
            return Token.parse(Accepted.model_validate_json(body, extra="ignore").token)
        except ValueError:
            raise Retry("What recall answered is no token: is it another service?", dependency="recall") from None

    async def _post(self, path: str, tenant: str, body: Model, seconds: float) -> bytes:
        headers = [(TENANT_HEADER.encode(), tenant.encode())]
        try:
            async with asyncio.timeout(seconds):
                answer = await self._http.post(path, content=body_of(body), headers=headers, timeout=seconds)
        except httpx.LocalProtocolError:
            raise MemoryRefused(422, TENANT_HEADER, "must not begin or end blank") from None
        except (httpx.RequestError, TimeoutError) as error:
            raise Retry(f"Recall did not answer ({type(error).__name__}).", dependency="recall") from None
        if answer.is_success:
            return answer.content
        place, problem = problem_of(answer)
        if answer.status_code == _TOO_MANY:
            raise QuotaExceeded(_seconds_of(answer))
        if answer.status_code in _LATER:
            raise Retry(f"Recall can't now ({answer.status_code}): {problem}", dependency="recall")
        raise MemoryRefused(answer.status_code, place, problem)


def problem_of(answer: httpx.Response) -> tuple[str, str]:
    """The field at fault and the problem, as a refusal of the service names them."""
    try:
        told = answer.json()["error"]
        return str(told["field"])[:256], str(told["problem"])[:500]
    except (ValueError, KeyError, TypeError, RecursionError):
        return "", f"{answer.status_code} {answer.reason_phrase}"


def _seconds_of(answer: httpx.Response) -> float:
    told = answer.headers.get("retry-after", "")
    return float(told) if told.isdecimal() else 1.0
