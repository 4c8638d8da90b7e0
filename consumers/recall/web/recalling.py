"""``POST /v1/recall``."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.access.principals import within
from afterturn.consumers.recall.web.answers import json_answer
from afterturn.consumers.recall.web.desk import Desk
from afterturn.schemas.codec import parse
from afterturn.schemas.query import Query


async def recall(desk: Desk, request: Request) -> Response:
    """Answer a query within what the caller may see."""
    caller = await desk.admit(request, "read")
    query = parse(Query, await desk.body(request))
    if caller.principal.scope.pairs():
        query = query.model_copy(update={"scope": within(caller.principal.scope, query.scope)})
    async with desk.slots.taken():
        answer = await desk.answering().answer(caller.tenant, query, datetime.now(UTC))
    return json_answer(200, answer)


ROUTES = (("POST", "/v1/recall", recall),)
