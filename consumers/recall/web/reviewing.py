"""Reviewing candidates over HTTP: approve one, or reject it; within what the caller may see."""

from __future__ import annotations

from typing import Literal

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.web.browsing import memory_in_sight
from afterturn.consumers.recall.web.desk import Desk
from afterturn.consumers.recall.web.parameters import SCOPE, Parameters
from afterturn.consumers.recall.web.publishing import command_of, publish, wait_of
from afterturn.schemas.commands import Review

UNNAMED = "local"
"""The reviewer, where the service asks nobody who they are."""
_CONFLICT = 409


async def approve(desk: Desk, request: Request) -> Response:
    """``POST /v1/memories/{id}/approve``."""
    return await _reviewed(desk, request, "approve")


async def reject(desk: Desk, request: Request) -> Response:
    """``POST /v1/memories/{id}/reject``."""
    return await _reviewed(desk, request, "reject")


async def _reviewed(desk: Desk, request: Request, decision: Literal["approve", "reject"]) -> Response:
    """Publish the decision on a candidate that is there now; what it is by then, the log's order decides.

    Raises:
        Missing: there is no such memory in sight.
        HTTPException: it is no candidate.
    """
    caller = await desk.admit(request, "review")
    parameters = Parameters(request, {"wait", *SCOPE})
    id_: str = request.path_params["id"]
    found = await memory_in_sight(desk, caller, parameters.scope(), id_)
    if found.status != "candidate":
        raise HTTPException(_CONFLICT, "this memory waits for no review: it is no candidate")
    fields: dict[str, object] = {"ids": (id_,), "decision": decision, "reviewer": caller.principal.id or UNNAMED}
    command = command_of(Review, caller, fields)
    return await publish(desk, request, caller, command, wait_of(desk, parameters))


ROUTES = (
    ("POST", "/v1/memories/{id}/approve", approve),
    ("POST", "/v1/memories/{id}/reject", reject),
)
