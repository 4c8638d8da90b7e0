"""Writes over HTTP: each becomes a command on the turn log, and none is called stored before it is."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.web.answers import Missing, json_answer
from afterturn.consumers.recall.web.desk import Desk
from afterturn.consumers.recall.web.parameters import Parameters
from afterturn.consumers.recall.web.publishing import body_for, command_of, publish, wait_of
from afterturn.consumers.recall.web.scoping import scope_for
from afterturn.consumers.recall.writes import known_token
from afterturn.schemas.commands import Configure, Erase, Remember, TurnCompleted
from afterturn.schemas.parts import Source
from afterturn.schemas.types import Identifier, Model
from afterturn.streams.publisher import refuse_blank

UNKNOWN_WRITE = "no write of this tenant goes by this token, or it is known no more"


class TurnOverHttp(TurnCompleted):
    """A turn as it is posted: its tenant may be left out, the credential or the header names it."""

    tenant: Identifier = ""


class RememberOverHttp(Remember):
    """A fact as it is posted; without a ``source`` it is from this API."""

    tenant: Identifier = ""
    source: Source = Source(type="tool", id="http")


class ConfigureOverHttp(Configure):
    """Settings as they are posted."""

    tenant: Identifier = ""


class EraseOverHttp(Model):
    """The erasure of a tenant as it is posted; ``confirm`` repeats the tenant's name."""

    tenant: Identifier = ""
    confirm: Identifier
    reason: Identifier = "asked"


async def turns(desk: Desk, request: Request) -> Response:
    """``POST /v1/turns``."""
    caller = await desk.admit(request, "write")
    wait = wait_of(desk, Parameters(request, {"wait"}))
    turn = await body_for(desk, request, caller, TurnOverHttp)
    refuse_blank(turn)
    scope = await scope_for(desk, caller, turn.scope, strict=False)
    command = TurnCompleted.model_construct(**{**dict(turn), "tenant": caller.tenant, "scope": scope})
    return await publish(desk, request, caller, command, wait)


async def remember(desk: Desk, request: Request) -> Response:
    """``POST /v1/memories``."""
    caller = await desk.admit(request, "write")
    wait = wait_of(desk, Parameters(request, {"wait"}))
    fact = await body_for(desk, request, caller, RememberOverHttp)
    scope = await scope_for(desk, caller, fact.scope, strict=False)
    command = Remember.model_construct(**{**dict(fact), "tenant": caller.tenant, "scope": scope})
    return await publish(desk, request, caller, command, wait, memory=True)


async def configure(desk: Desk, request: Request) -> Response:
    """``POST /v1/settings``."""
    caller = await desk.admit(request, "admin")
    caller.principal.require_whole_tenant()
    wait = wait_of(desk, Parameters(request, {"wait"}))
    posted = await body_for(desk, request, caller, ConfigureOverHttp)
    command = Configure.model_construct(**{**dict(posted), "tenant": caller.tenant})
    return await publish(desk, request, caller, command, wait)


async def erase(desk: Desk, request: Request) -> Response:
    """``POST /v1/erase``."""
    caller = await desk.admit(request, "erase")
    caller.principal.require_whole_tenant()
    wait = wait_of(desk, Parameters(request, {"wait"}))
    posted = await body_for(desk, request, caller, EraseOverHttp)
    command = command_of(Erase, caller, {"confirm": posted.confirm, "reason": posted.reason})
    return await publish(desk, request, caller, command, wait)


async def status(desk: Desk, request: Request) -> Response:
    """``GET /v1/writes/{token}``."""
    caller = await desk.admit(request, "read")
    wait = wait_of(desk, Parameters(request, {"wait"}))
    records = desk.reading()
    token = known_token(caller.tenant, request.path_params["token"], records.fold)
    if token is None:
        raise Missing(UNKNOWN_WRITE)
    own = caller.principal.scope
    async with desk.slots.taken():
        found = await records.writes.status(caller.tenant, own, token)
    if wait and found is not None and found.status == "accepted":
        async with desk.waiting() as seconds:
            found = await records.writes.settled(caller.tenant, own, token, min(wait, seconds))
    if found is None:
        raise Missing(UNKNOWN_WRITE)
    return json_answer(200, found.model_dump(exclude_none=True))


ROUTES = (
    ("POST", "/v1/turns", turns),
    ("POST", "/v1/memories", remember),
    ("POST", "/v1/settings", configure),
    ("POST", "/v1/erase", erase),
    ("GET", "/v1/writes/{token}", status),
)
