"""From a checked command to the turn log, and to the answer that says where it stands."""

from __future__ import annotations

import asyncio
from typing import TypeVar
from uuid import uuid4

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.web.answers import json_answer
from afterturn.consumers.recall.web.desk import Caller, Desk
from afterturn.consumers.recall.web.parameters import Parameters
from afterturn.consumers.recall.writes import marked
from afterturn.schemas.codec import parse
from afterturn.schemas.commands import Command, TurnCompleted
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.ids import point_id
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.types import Identifier, Model
from afterturn.schemas.writes import WriteStatus
from afterturn.streams.errors import Retry

C = TypeVar("C", bound=Model)
M = TypeVar("M", bound=Model)
IDEMPOTENCY = "Idempotency-Key"
_ID_CHARS = 256


class Unsure(Retry):
    """The log did not say in time whether it has a command: it may yet come to be applied.

    ``named``: whether the same request makes the same command again.
    """

    def __init__(self, *, named: bool) -> None:
        again = (
            "sending the same again is safe"
            if named
            else f"sent again it is another write, unless it comes with an {IDEMPOTENCY}"
        )
        super().__init__(f"the log did not answer in time, and may have this write or not; {again}")


class ForTenant(Model):
    """A body whose tenant may be left out: the credential, or the header, names it."""

    tenant: Identifier = ""


async def body_for(desk: Desk, request: Request, caller: Caller, model: type[M]) -> M:
    """The body, of the caller's tenant.

    Raises:
        ContractError: it breaks the contract, or names another tenant.
    """
    found = parse(model, await desk.body(request))
    if getattr(found, "tenant", "") not in {"", caller.tenant}:
        raise ContractError("invalid", "tenant", f"must be that of the header {TENANT_HEADER}, or be left out")
    return found


def command_of(model: type[C], caller: Caller, fields: dict[str, object]) -> C:
    """A command of the caller's tenant.

    Raises:
        ContractError: the fields break the contract.
    """
    try:
        return model.model_validate({**fields, "tenant": caller.tenant})
    except ValidationError as error:
        fault = from_pydantic(error)
    raise fault


async def publish(
    desk: Desk, request: Request, caller: Caller, command: Command, wait: float, *, memory: bool = False
) -> Response:
    """Put a command on the turn log, wait for it as long as was asked, and answer 202 with where it stands.

    ``memory``: the command becomes one memory, whose id is told.
    """
    id_ = _event_id(request, caller)
    traceparent = request.headers.get("traceparent")
    try:
        async with desk.slots.taken(), asyncio.timeout(desk.settings.publish_timeout):
            token = await desk.publishing().publish_command(command, ce_id=id_, traceparent=traceparent)
    except TimeoutError:
        raise Unsure(named=isinstance(command, TurnCompleted) or IDEMPOTENCY in request.headers) from None
    told = marked(token, caller.tenant, command)
    found = WriteStatus(status="accepted", token=str(told))
    if wait and desk.records is not None:
        async with desk.waiting() as seconds:
            own = caller.principal.scope
            found = await desk.records.writes.after_publishing(caller.tenant, own, told, min(wait, seconds))
    found = found.model_copy(update={"event_id": id_, "id": token.receipt if memory else None})
    return json_answer(202, found.model_dump(exclude_none=True))


def wait_of(desk: Desk, parameters: Parameters) -> float:
    """How long a request wants to wait for its write."""
    return parameters.seconds("wait", desk.settings.write_wait)


def _event_id(request: Request, caller: Caller) -> str:
    """A new id; for a request that names its own key always the same one, which nobody else's key can make.

    Raises:
        ContractError: the key is none.
    """
    keys = request.headers.getlist(IDEMPOTENCY)
    if not keys:
        return str(uuid4())
    if len(keys) > 1 or not 1 <= len(keys[0]) <= _ID_CHARS:
        raise ContractError("headers", IDEMPOTENCY, f"must be there once, with 1 to {_ID_CHARS} characters")
    key = [caller.principal.id, caller.principal.scope.pairs(), keys[0]]
    return point_id("request", caller.tenant, key, 0)
