"""Removing and pinning memories over HTTP: by id, and by a filter; within what the caller may see."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import BeforeValidator, Field
from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.web.answers import Missing, json_answer
from afterturn.consumers.recall.web.desk import Caller, Desk
from afterturn.consumers.recall.web.parameters import SCOPE, Parameters
from afterturn.consumers.recall.web.publishing import ForTenant, body_for, command_of, publish, wait_of
from afterturn.consumers.recall.web.scoping import scope_for
from afterturn.schemas.commands import Forget, Pin
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import MAX_REV
from afterturn.schemas.parts import Filter
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import Identifier, Uuid, as_tuple, is_uuid
from afterturn.schemas.writes import WouldForget

_Ids = Annotated[tuple[Uuid, ...], Field(fail_fast=True, min_length=1, max_length=1_000), BeforeValidator(as_tuple)]
UNKNOWN_MEMORY = "there is no such memory"


class ForgetOverHttp(ForTenant):
    """Which memories to forget: ``ids``, within ``scope``, or what a ``filter`` selects."""

    ids: _Ids | None = None
    filter: Filter | None = None
    scope: Scope = Scope()
    confirm: bool = False
    reason: Identifier = "asked"
    dry_run: bool = False


async def forget_one(desk: Desk, request: Request) -> Response:
    """``DELETE /v1/memories/{id}``."""
    caller = await desk.admit(request, "write")
    parameters = Parameters(request, {"wait", "reason", *SCOPE})
    ids = await _within_sight(desk, caller, parameters.scope(), [request.path_params["id"]])
    reason = parameters.one("reason") or "asked"
    command = command_of(Forget, caller, {"ids": ids, "confirm": True, "reason": reason})
    return await publish(desk, request, caller, command, wait_of(desk, parameters))


async def pin(desk: Desk, request: Request) -> Response:
    """``POST /v1/memories/{id}/pin``."""
    return await _pinned(desk, request, pinned=True)


async def unpin(desk: Desk, request: Request) -> Response:
    """``POST /v1/memories/{id}/unpin``."""
    return await _pinned(desk, request, pinned=False)


async def forget(desk: Desk, request: Request) -> Response:
    """``POST /v1/forget``."""
    caller = await desk.admit(request, "write")
    wait = wait_of(desk, Parameters(request, {"wait"}))
    posted = await body_for(desk, request, caller, ForgetOverHttp)
    if (posted.ids is None) == (posted.filter is None):
        raise ContractError("invalid", "", "give either ids or filter")
    fields: dict[str, object] = {"confirm": posted.confirm, "reason": posted.reason}
    if posted.filter is None:
        fields["ids"] = await _within_sight(desk, caller, posted.scope, posted.ids or ())
    else:
        fields["filter"] = await _narrowed(desk, caller, posted.filter, posted.scope)
    command = command_of(Forget, caller, fields)
    if posted.dry_run:
        async with desk.slots.taken():
            return json_answer(200, (await _would_forget(desk, caller, command)).model_dump())
    return await publish(desk, request, caller, command, wait)


async def _pinned(desk: Desk, request: Request, *, pinned: bool) -> Response:
    caller = await desk.admit(request, "write")
    parameters = Parameters(request, {"wait", *SCOPE})
    ids = await _within_sight(desk, caller, parameters.scope(), [request.path_params["id"]])
    command = command_of(Pin, caller, {"ids": ids, "pinned": pinned})
    return await publish(desk, request, caller, command, wait_of(desk, parameters))


async def _within_sight(desk: Desk, caller: Caller, asked: Scope, ids: Sequence[str]) -> tuple[str, ...]:
    """The ids, if all of them are in sight. Without any scope the log's order decides alone: none is looked for.

    Raises:
        Missing: one is not there, another tenant's, or outside the scope.
    """
    scope = await scope_for(desk, caller, asked, strict=True)
    if not all(map(is_uuid, ids)):
        raise Missing(UNKNOWN_MEMORY)
    if scope.pairs():
        async with desk.slots.taken():
            there = await desk.reading().browse.there(caller.tenant, scope, set(ids))
        if not there.issuperset(ids):
            raise Missing(UNKNOWN_MEMORY if len(ids) == 1 else "not all of these memories are there")
    return tuple(ids)


async def _narrowed(desk: Desk, caller: Caller, chosen: Filter, asked: Scope) -> Filter:
    """The filter within the caller's scope; what it restricts itself must restrict something."""
    if not chosen.restricts() and not asked.pairs():
        raise ContractError("invalid", "filter", "an empty filter would remove everything; name what is meant")
    if asked.pairs() and chosen.scope is not None:
        raise ContractError("invalid", "scope", "name it in the filter")
    place = "filter.scope" if chosen.scope is not None else "scope"
    scope = await scope_for(desk, caller, chosen.scope or asked, place, strict=True)
    return chosen.model_copy(update={"scope": scope if scope.pairs() else None})


async def _would_forget(desk: Desk, caller: Caller, command: Forget) -> WouldForget:
    records = desk.reading()
    own = caller.principal.scope
    live = await records.select.count(caller.tenant, Filter(scope=own) if own.pairs() else None, MAX_REV)
    if command.ids is None:
        count = await records.select.count(caller.tenant, command.filter, MAX_REV)
    else:
        count = len(await records.browse.there(caller.tenant, own, set(command.ids)))
    state = await records.states.get(caller.tenant, fresh=True)
    return WouldForget(would_forget=count, of=live, needs_confirm=count * 2 > (state.live if state else 0))


ROUTES = (
    ("DELETE", "/v1/memories/{id}", forget_one),
    ("POST", "/v1/memories/{id}/pin", pin),
    ("POST", "/v1/memories/{id}/unpin", unpin),
    ("POST", "/v1/forget", forget),
)
