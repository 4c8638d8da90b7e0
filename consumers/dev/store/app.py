"""HTTP: which call means what, answers in the server's envelope, refusals with their status."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from time import perf_counter
from typing import Any, TypeAlias
from urllib.parse import parse_qsl

import orjson
from starlette.types import Receive, Scope, Send

from afterturn.consumers.dev.store import calls
from afterturn.consumers.dev.store.calls import Call
from afterturn.consumers.dev.store.catalog import Catalog
from afterturn.consumers.dev.store.errors import Refused, malformed, unsupported

log = logging.getLogger("afterturn.dev.store")
MAX_BODY = 32 * 1024 * 1024
TITLE = "afterturn embedded store - a Qdrant-compatible server over the embedded Qdrant engine"
VERSION = "1.19.0"  # the server this one answers like

_HEALTH = ("healthz", "livez", "readyz")
PLAIN: Mapping[str, bytes] = {  # without the envelope
    "/": orjson.dumps({"title": TITLE, "version": VERSION}),
    **{f"/{name}": f"{name} check passed".encode() for name in _HEALTH},
}
Route: TypeAlias = tuple[str, ...]
Handler: TypeAlias = Callable[[Catalog, Call], object]

_WRITE = frozenset({"wait", "ordering", "timeout"})
_READ = frozenset({"consistency", "timeout"})
_ADMIN = frozenset({"timeout"})
# (method, path with {} for the collection's name) -> (handler, allowed query parameters)
ROUTES: Mapping[Route, tuple[Handler, frozenset[str]]] = {
    ("GET", "collections"): (calls.list_collections, frozenset()),
    ("GET", "aliases"): (calls.list_aliases, frozenset()),
    ("POST", "collections", "aliases"): (calls.change_aliases, _ADMIN),
    ("GET", "collections", "{}"): (calls.collection_info, frozenset()),
    ("PUT", "collections", "{}"): (calls.create_collection, _ADMIN),
    ("PATCH", "collections", "{}"): (calls.update_collection, _ADMIN),
    ("DELETE", "collections", "{}"): (calls.delete_collection, _ADMIN),
    ("GET", "collections", "{}", "exists"): (calls.collection_exists, frozenset()),
    ("GET", "collections", "{}", "aliases"): (calls.collection_aliases, frozenset()),
    ("PUT", "collections", "{}", "index"): (calls.create_index, _WRITE),
    ("PUT", "collections", "{}", "points"): (calls.upsert, _WRITE),
    ("POST", "collections", "{}", "points"): (calls.retrieve, _READ),
    ("POST", "collections", "{}", "points", "batch"): (calls.batch, _WRITE),
    ("POST", "collections", "{}", "points", "payload"): (calls.set_payload, _WRITE),
    ("POST", "collections", "{}", "points", "delete"): (calls.delete, _WRITE),
    ("POST", "collections", "{}", "points", "scroll"): (calls.scroll, _READ),
    ("POST", "collections", "{}", "points", "count"): (calls.count, _READ),
    ("POST", "collections", "{}", "points", "query"): (calls.query, _READ),
    ("POST", "collections", "{}", "points", "query", "batch"): (calls.query_batch, _READ),
    ("POST", "collections", "{}", "facet"): (calls.facet, _READ),
}


class App:
    """The ASGI application over one catalog. Calls run to their end one after another, so each sees a whole state."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            return
        body = await _read(receive)
        if body is None:
            return
        started = perf_counter()
        status, answer = self._answer(scope, body, started)
        headers = [(b"content-type", b"application/json"), (b"content-length", str(len(answer)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": answer})

    def _answer(self, scope: Scope, body: bytes, started: float) -> tuple[int, bytes]:
        try:
            if scope["method"] == "GET" and scope["path"] in PLAIN:
                return 200, PLAIN[scope["path"]]
            result = self._call(scope, body)
        except Refused as refused:
            log.debug("%s %s: %s", scope["method"], scope["path"], refused)
            if refused.status >= 500:
                log.warning("%s %s: %s", scope["method"], scope["path"], refused)
            answer: dict[str, Any] = {"status": {"error": refused.text}, "time": perf_counter() - started}
            return refused.status, orjson.dumps(answer)
        return 200, orjson.dumps({"result": result, "status": "ok", "time": perf_counter() - started})

    def _call(self, scope: Scope, body: bytes) -> object:
        parts = tuple(scope["path"].strip("/").split("/"))
        handler, name, allowed = _route(scope["method"], parts)
        params = _params(scope["query_string"], allowed)
        if len(body) > MAX_BODY:
            raise Refused(413, f"Payload error: JSON payload is larger than allowed (limit: {MAX_BODY} bytes)")
        try:
            value = orjson.loads(body) if body else None
        except orjson.JSONDecodeError as error:
            raise malformed(f"{error.msg} at line {error.lineno} column {error.colno}") from None
        return handler(self._catalog, Call(name, params, value))


def _route(method: str, parts: Route) -> tuple[Handler, str, frozenset[str]]:
    exact = ROUTES.get((method, *parts))
    if exact:
        return exact[0], "", exact[1]
    if len(parts) > 1:
        found = ROUTES.get((method, parts[0], "{}", *parts[2:]))
        if found:
            return found[0], parts[1], found[1]
    raise unsupported(f"the call {method} /{'/'.join(parts)}")


def _params(query: bytes, allowed: frozenset[str]) -> dict[str, str]:
    given = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))
    for name in given.keys() - allowed:
        raise unsupported(f"the query parameter {name}")
    return given


async def _read(receive: Receive) -> bytes | None:
    """The request's body, or nothing where the client has gone; beyond the limit the rest is dropped."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        chunk: bytes = message.get("body", b"")
        size += len(chunk)
        if size - len(chunk) <= MAX_BODY:
            chunks.append(chunk)
        if not message.get("more_body", False):
            return chunks[0] if len(chunks) == 1 else b"".join(chunks)
