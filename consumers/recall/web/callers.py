"""``GET /v1/me``: what the caller may, so that it need not find out by being refused."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.access.principals import RIGHTS
from afterturn.consumers.recall.web.answers import json_answer
from afterturn.consumers.recall.web.desk import Desk
from afterturn.schemas.browsing import Me


async def me(desk: Desk, request: Request) -> Response:
    """Tell of the caller's credential: its rights, its tenants, the scope it is bound to."""
    principal = await desk.admit_operator(request, None)
    rights = tuple(right for right in RIGHTS if right in principal.rights)
    return json_answer(
        200, Me(rights=rights, tenants=principal.tenants, scope=principal.scope).model_dump(exclude_none=True)
    )


ROUTES = (("GET", "/v1/me", me),)
