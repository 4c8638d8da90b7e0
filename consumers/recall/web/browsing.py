"""Browsing over HTTP: memories, one memory, a thread, counts, tenants; each within what the caller may see."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import get_args

from pydantic import TypeAdapter, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from afterturn.consumers.recall.answering.asking import search_of
from afterturn.consumers.recall.browsing import (
    ORDERS,
    Cursor,
    fingerprint,
    in_order,
    place_of,
    read_cursor,
    view,
    write_cursor,
)
from afterturn.consumers.recall.web.answers import Missing, json_answer
from afterturn.consumers.recall.web.desk import Caller, Desk
from afterturn.consumers.recall.web.parameters import SCOPE, Parameters
from afterturn.consumers.recall.web.removing import UNKNOWN_MEMORY
from afterturn.consumers.recall.web.scoping import scope_for
from afterturn.consumers.store.browse import SHOWN, counts
from afterturn.consumers.store.search import Search
from afterturn.schemas.browsing import (
    MAX_LIMIT,
    MAX_MESSAGES,
    MemoryPage,
    Sort,
    Stats,
    TenantPage,
    TenantRow,
    ThreadPage,
)
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.parts import Status
from afterturn.schemas.points import Memory, TenantState
from afterturn.schemas.query import Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import Identifier, is_uuid

LISTS = ("threads", "exclude_threads", "authors", "roles", "kinds", "types", "tags_any", "tags_all")
SINGLE = ("since", "until", "min_importance", "min_confidence")
FILTERS = ("status", *LISTS, *SINGLE, *SCOPE, "include_expired", "sort")
_SHARES = frozenset({"min_importance", "min_confidence"})
_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_PAGE = 50
_SORTS: tuple[Sort, ...] = get_args(Sort)


async def memories(desk: Desk, request: Request) -> Response:
    """``GET /v1/memories``."""
    caller = await desk.admit(request, "read")
    parameters = Parameters(request, {*FILTERS, "limit", "cursor"})
    limit = parameters.number("limit", _PAGE, MAX_LIMIT)
    sort = _sort(parameters)
    scope = await scope_for(desk, caller, parameters.scope(), strict=True)
    belongs = fingerprint(caller.tenant, [scope.pairs(), *(parameters.every(name) for name in FILTERS)])
    text = parameters.one("cursor")
    cursor = None if text is None else read_cursor(text, belongs, ORDERS[sort])
    now = datetime.now(UTC) if cursor is None else cursor.now
    search = _search(parameters, caller.tenant, scope, now)
    browse = desk.reading().browse
    async with desk.slots.taken():
        found = await browse.page(search, ORDERS[sort], cursor and cursor.place, limit)
        total = await browse.count(search)
    following = None
    if len(found) == limit:
        id_, last = list(found.items())[-1]
        following = write_cursor(belongs, Cursor(now, place_of(id_, last, ORDERS[sort])))
    page = MemoryPage(total=total, limit=limit, cursor=following).model_dump(exclude_none=True)
    return json_answer(200, page | {"memories": [view(id_, memory) for id_, memory in found.items()]})


async def memory(desk: Desk, request: Request) -> Response:
    """``GET /v1/memories/{id}``."""
    caller = await desk.admit(request, "read")
    parameters = Parameters(request, SCOPE)
    id_: str = request.path_params["id"]
    return json_answer(200, view(id_, await memory_in_sight(desk, caller, parameters.scope(), id_)))


async def memory_in_sight(desk: Desk, caller: Caller, asked: Scope, id_: str) -> Memory:
    """The memory of this id, within what is asked for and what the caller may see.

    Raises:
        Missing: there is none; another's is answered alike.
    """
    scope = await scope_for(desk, caller, asked, strict=True)
    if not is_uuid(id_):
        raise Missing(UNKNOWN_MEMORY)
    async with desk.slots.taken():
        found = await desk.reading().browse.memory(caller.tenant, scope, id_)
    if found is None:
        raise Missing(UNKNOWN_MEMORY)
    return found


async def thread(desk: Desk, request: Request) -> Response:
    """``GET /v1/threads/{id}``."""
    caller = await desk.admit(request, "read")
    parameters = Parameters(request, {*SCOPE, "from", "limit"})
    scope = await scope_for(desk, caller, parameters.scope(), strict=True)
    limit = parameters.number("limit", _PAGE, MAX_MESSAGES)
    first = parameters.position("from")
    browse = desk.reading().browse
    async with desk.slots.taken():
        state = await browse.thread(caller.tenant, scope, _thread(request.path_params["id"]))
        if state is None:
            raise Missing("there is no such thread of exactly this scope")
        end = min(first + limit, state.next_position)
        messages = in_order(await browse.messages(state, first, end), first, end) if first < end else []
    page = ThreadPage.model_construct(
        None,
        thread=state.thread or "",
        scope=scope,
        messages=tuple(messages),
        total=state.next_position,
        limit=limit,
        next=end if end < state.next_position else None,
    )
    return json_answer(200, page.model_dump(mode="json", exclude_none=True))


async def stats(desk: Desk, request: Request) -> Response:
    """``GET /v1/stats``."""
    caller = await desk.admit(request, "read")
    parameters = Parameters(request, SCOPE)
    scope = await scope_for(desk, caller, parameters.scope(), strict=True)
    records = desk.reading()
    async with desk.slots.taken():
        by, pinned = await counts(records.browse, caller.tenant, scope)
        state = await records.states.get(caller.tenant)
    own = state.settings.bounds if state else None
    found = Stats(
        tenant=caller.tenant,
        scope=scope,
        memories=sum(by["status"].values()),
        by_status=by["status"],
        by_kind=by["kind"],
        by_type=by["type"],
        pinned=pinned,
        bounds=own or records.fold.bounds,
    )
    return json_answer(200, found.model_dump(mode="json", exclude_none=True))


async def tenants(desk: Desk, request: Request) -> Response:
    """``GET /v1/tenants``."""
    principal = await desk.admit_operator(request, "admin")
    principal.require_whole_tenant()
    parameters = Parameters(request, {"limit", "cursor", "all"})
    limit = parameters.number("limit", _PAGE, MAX_LIMIT)
    cursor = parameters.one("cursor")
    if cursor is not None and not is_uuid(cursor):
        raise ContractError("invalid", "cursor", "is none that a page of this service gave")
    every = parameters.flag("all")
    records = desk.reading()
    async with desk.slots.taken():
        if principal.tenants is None:
            found, following = await records.browse.tenants(cursor, limit)
            states = await records.select.count_tenants()
        else:
            found, following = await records.browse.tenants_named(principal.tenants), None
            states = len(found)
    rows = tuple(_row(state) for state in found.values() if every or state.live)
    page = TenantPage(tenants=rows, states=states, limit=limit, cursor=following)
    return json_answer(200, page.model_dump(exclude_none=True))


def _row(state: TenantState) -> TenantRow:
    return TenantRow(
        tenant=state.tenant,
        memories=state.live,
        episodes=state.episodes,
        pinned=state.pinned,
        partition=state.partition,
    )


def _sort(parameters: Parameters) -> Sort:
    asked = parameters.one("sort") or "newest"
    for sort in _SORTS:
        if sort == asked:
            return sort
    raise ContractError("invalid", "sort", f"must be one of {', '.join(_SORTS)}")


def _search(parameters: Parameters, tenant: str, scope: Scope, now: datetime) -> Search:
    """What the filters select. A list that is named once selects its one value."""
    fields: dict[str, object] = {name: parameters.every(name) for name in LISTS}
    for name in SINGLE:
        value = parameters.one(name)
        fields[name] = value if value is None or name not in _SHARES else parameters.share(name)
    try:
        query = Query.model_validate({name: value for name, value in fields.items() if value is not None})
    except ValidationError as error:
        raise from_pydantic(error) from None
    search = replace(search_of(tenant, query, now), scope=tuple(scope.pairs()), statuses=_statuses(parameters))
    return replace(search, as_of=None) if parameters.flag("include_expired") else search


def _statuses(parameters: Parameters) -> tuple[Status, ...]:
    asked = parameters.every("status")
    if asked is None:
        return ("active",)
    if set(asked) - set(SHOWN):
        raise ContractError("invalid", "status", f"must be one of {', '.join(SHOWN)}")
    return tuple(status for status in SHOWN if status in asked)


def _thread(text: str) -> str:
    try:
        return _IDENTIFIER.validate_python(text)
    except ValidationError:
        raise Missing("there is no such thread of exactly this scope") from None


ROUTES = (
    ("GET", "/v1/memories", memories),
    ("GET", "/v1/memories/{id}", memory),
    ("GET", "/v1/threads/{id:path}", thread),
    ("GET", "/v1/stats", stats),
    ("GET", "/v1/tenants", tenants),
)
