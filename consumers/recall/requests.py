"""What a request must bring before anything is done for it: its tenant, and a body of a bearable size."""

from __future__ import annotations

from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request

from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.types import Identifier

TENANT_HEADER = "Afterturn-Tenant"
_TENANT = TENANT_HEADER.lower().encode()
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_TOO_LARGE, _MEDIA_TYPE, _BAD = 413, 415, 400
_HEARD_OUT = 4
"""Up to so many times the limit a body is read to its end: who still sends when we close never sees the answer."""


def tenant_of(request: Request) -> str:
    """The tenant the header names, in UTF-8.

    Raises:
        ContractError: there is no such header, or several, or its value is no identifier.
    """
    values = [value for name, value in request.scope["headers"] if name == _TENANT]
    if len(values) != 1:
        problem = "is missing: it names the tenant" if not values else "must be there once"
        raise ContractError("headers", TENANT_HEADER, problem)
    try:
        return _IDENTIFIER.validate_python(values[0].decode())
    except UnicodeDecodeError:
        raise ContractError("headers", TENANT_HEADER, "must be UTF-8") from None
    except ValidationError as error:
        raise ContractError("headers", TENANT_HEADER, from_pydantic(error).problem) from None


async def body_of(request: Request, limit: int) -> bytes:
    """The body, of at most ``limit`` bytes; of what is larger nothing is kept.

    Raises:
        HTTPException: 413, or 415 for a body that is compressed or not JSON.
    """
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
    coding = request.headers.get("content-encoding", "identity").strip().lower()
    if coding not in {"identity", ""}:
        raise HTTPException(_MEDIA_TYPE, "send the body uncompressed: content-encoding is not supported")
    media = request.headers.get("content-type", "application/json").partition(";")[0].strip().lower()
    if media != "application/json":
        raise HTTPException(_MEDIA_TYPE, "send JSON: content-type must be application/json")
