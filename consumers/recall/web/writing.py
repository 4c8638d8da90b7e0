"""Writes over HTTP: each becomes a command on the turn log, and none is called stored before it is."""

from __future__ import annotations

import asyncio
from uuid import uuid4

from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.access.principals import TENANT_HEADER, within
from afterturn.consumers.recall.web.answers import json_answer
from afterturn.consumers.recall.web.desk import Desk
from afterturn.schemas.codec import parse
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Accepted
from afterturn.schemas.types import Identifier
from afterturn.streams.publisher import refuse_blank


class TurnOverHttp(TurnCompleted):
    """A turn as it is posted: its tenant may be left out, the credential or the header names it."""

    tenant: Identifier = ""


async def turns(desk: Desk, request: Request) -> Response:
    """``POST /v1/turns``."""
    caller = await desk.admit(request, "write")
    turn = parse(TurnOverHttp, await desk.body(request))
    if turn.tenant and turn.tenant != caller.tenant:
        raise ContractError("invalid", "tenant", f"must be that of the header {TENANT_HEADER}, or be left out")
    refuse_blank(turn)
    scope = within(caller.principal.scope, turn.scope)
    named = turn.model_copy(update={"tenant": caller.tenant, "scope": scope})
    id_ = str(uuid4())
    async with desk.slots.taken(), asyncio.timeout(desk.settings.publish_timeout):
        traceparent = request.headers.get("traceparent")
        token = await desk.publishing().publish_command(named, ce_id=id_, traceparent=traceparent)
    return json_answer(202, Accepted(event_id=id_, token=str(token)).model_dump())


ROUTES = (("POST", "/v1/turns", turns),)
