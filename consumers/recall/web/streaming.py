"""Memory events to browsers: ``GET /v1/events``, as server-sent events."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, aclosing, suppress
from typing import Any

import orjson
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from afterturn.consumers.recall.web.desk import Desk
from afterturn.consumers.recall.web.following import Following
from afterturn.consumers.recall.web.parameters import Parameters
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import EVENT_TYPES, UnknownEvent
from afterturn.streams.errors import Retry
from afterturn.streams.records import Position
from afterturn.streams.subscriber import MemoryEventSubscriber, Received

LAST_EVENT_ID = "Last-Event-ID"
_QUIET_S = 15.0
"""So often something is sent: what lies between would end a connection that is silent for longer."""
_RETRY_MS = 2_000
_ID = re.compile(r"(\d{1,6})-(\d{1,15})", re.ASCII)
_KNOWN = {name: name.rpartition(".v")[0] for name in EVENT_TYPES}


async def events(desk: Desk, request: Request) -> Response:
    """Stream the caller's own tenant's events: new ones, or those after ``Last-Event-ID``.

    An event tells of the whole tenant, so a credential that is bound to a scope sees none.
    """
    caller = await desk.admit(request, "read")
    caller.principal.require_whole_tenant()
    types = _types(Parameters(request, {"types"}).every("types"))
    since = _after(request.headers.get(LAST_EVENT_ID))
    following = desk.streaming()
    if request.method == "HEAD":  # nobody would ever hear of its end
        return Response(media_type=_Stream.media_type)
    async with AsyncExitStack() as opening:
        stream = following.opened(caller.tenant, types, since or "now", desk.settings.publish_timeout)
        subscriber = await opening.enter_async_context(stream)
        kept = opening.pop_all()
    return _Stream(_lines(following, subscriber), kept)


class _Stream(StreamingResponse):
    """A stream that gives back what it holds however it ends, also where nobody was there to hear its first line."""

    media_type = "text/event-stream"

    def __init__(self, lines: AsyncGenerator[bytes], resources: AsyncExitStack) -> None:
        super().__init__(lines)
        self._lines = lines
        self._resources = resources

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send until somebody ends it."""
        async with self._resources, aclosing(self._lines):
            await super().__call__(scope, receive, send)


async def _lines(following: Following, subscriber: MemoryEventSubscriber) -> AsyncGenerator[bytes]:
    """The stream's bytes. It ends when Kafka goes away: the browser comes again, with the last id it saw."""
    yield b"retry: %d\n\n" % _RETRY_MS
    with suppress(Retry):
        async with aclosing(following.each(subscriber, _QUIET_S)) as coming:
            async for received in coming:
                yield b": still here\n\n" if received is None else _encoded(received)


def _encoded(received: Received) -> bytes:
    """One event: its place as the id to go on from, its type, and a CloudEvent in JSON."""
    event, attributes = received.event, received.attributes
    data: dict[str, Any] = {
        "specversion": "1.0",
        "id": attributes.id,
        "source": attributes.source,
        "type": attributes.type,
        "time": attributes.time,
        "data": event.body if isinstance(event, UnknownEvent) else event.model_dump(mode="json", exclude_none=True),
    }
    id_ = f"{received.partition}-{received.offset}"
    body = orjson.dumps(data, option=orjson.OPT_UTC_Z)
    name = attributes.type.encode()
    return b"id: %s\nevent: %s\ndata: %s\n\n" % (id_.encode(), name, body)


def _types(given: list[str] | None) -> frozenset[str] | None:
    """The wanted types, with or without a version; several at once with commas between.

    Raises:
        ContractError: one is no type of a memory event.
    """
    if given is None:
        return None
    wanted = frozenset(name.strip() for each in given for name in each.split(","))
    if not wanted <= {*_KNOWN, *_KNOWN.values()}:
        raise ContractError("invalid", "types", f"must be of {', '.join(sorted(set(_KNOWN.values())))}")
    return wanted


def _after(text: str | None) -> Position | None:
    """The place of the last event that was seen.

    Raises:
        ContractError: the text is no such id.
    """
    if not text:
        return None
    found = _ID.fullmatch(text)
    if found is None:
        raise ContractError("headers", LAST_EVENT_ID, "must be the id of an event of this stream")
    return Position(int(found[1]), int(found[2]))


ROUTES = (("GET", "/v1/events", events),)
