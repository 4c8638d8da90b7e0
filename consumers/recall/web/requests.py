"""What a request must bring before anything is done for it: its tenant, and a body of a bearable size."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.types import Identifier

_TENANT = TENANT_HEADER.lower().encode()
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_TOO_LARGE, _MEDIA_TYPE, _BAD, _SLOW, _MISDIRECTED = 413, 415, 400, 408, 421
_LOOPBACK = frozenset({"127.0.0.1", "::1"})
_HEARD_OUT = 4
"""Up to so many times the limit a body is read to its end: who still sends when we close never sees the answer."""


def require_local_host(request: Request) -> None:
    """Refuse a request to another host's name: a web page could point its own name at this machine.

    Without authentication the service listens on loopback only, so whoever means it says so.

    Raises:
        HTTPException: 421, the request was meant for somebody else.
    """
    server = request.scope.get("server")
    if server is None or server[0] not in _LOOPBACK:
        return
    if _host_named(request) not in {*_LOOPBACK, "localhost"}:
        raise HTTPException(_MISDIRECTED, "this service answers to localhost only")


def _host_named(request: Request) -> str | None:
    try:
        return urlsplit(f"//{request.headers.get('host', '')}").hostname
    except ValueError:  # a bracket that nothing closes
        return None


def tenant_named(request: Request) -> str | None:
    """The tenant the header names, in UTF-8; None where there is no such header.

    Raises:
        ContractError: there are several, or its value is no identifier.
    """
    values = [value for name, value in request.scope["headers"] if name == _TENANT]
    if not values:
        return None
    if len(values) > 1:
        raise ContractError("headers", TENANT_HEADER, "must be there once")
    try:
        return _IDENTIFIER.validate_python(values[0].decode())
    except UnicodeDecodeError:
        raise ContractError("headers", TENANT_HEADER, "must be UTF-8") from None
    except ValidationError as error:
        raise ContractError("headers", TENANT_HEADER, from_pydantic(error).problem) from None


async def body_of(request: Request, limit: int, seconds: float) -> bytes:
    """The body, of at most ``limit`` bytes, within so many seconds; of what is larger nothing is kept.

    Raises:
        HTTPException: 413, 408 for one that doesn't come, or 415 for one that is compressed or not JSON.
    """
    try:
        async with asyncio.timeout(seconds):
            return await _body(request, limit)
    except TimeoutError:
        raise HTTPException(_SLOW, f"the body did not come within {seconds:g} s", {"connection": "close"}) from None


async def _body(request: Request, limit: int) -> bytes:
    _require_plain_json(request)
    refusal = HTTPException(_TOO_LARGE, f"the body may have {limit} bytes at most", {"connection": "close"})
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > _HEARD_OUT * limit:
        raise refusal
    body, size = bytearray(), 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size > _HEARD_OUT * limit:
                raise refusal
            if size <= limit:
                body += chunk
    except ClientDisconnect:
        raise HTTPException(_BAD, "the connection ended within the body") from None
    if size > limit:
        raise refusal
    return bytes(body)


def _require_plain_json(request: Request) -> None:
    codings = {coding.strip().lower() for coding in request.headers.getlist("content-encoding")}
    if codings - {"identity", ""}:
        raise HTTPException(_MEDIA_TYPE, "send the body uncompressed: content-encoding is not supported")
    media = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media != "application/json":
        raise HTTPException(_MEDIA_TYPE, "send JSON: content-type must be application/json")
