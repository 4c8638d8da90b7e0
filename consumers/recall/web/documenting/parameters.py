"""Parameters that several operations take."""

from __future__ import annotations

from typing import get_args

from afterturn.consumers.recall.web.documenting.examples import Table
from afterturn.consumers.store.browse import SHOWN
from afterturn.schemas.browsing import MAX_LIMIT, MAX_MESSAGES, Sort
from afterturn.schemas.query import TENANT_HEADER
from afterturn.schemas.scope import DIMENSIONS
from afterturn.schemas.settings import Kind, Role

_NAME: Table = {"type": "string", "minLength": 1, "maxLength": 256, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]*$"}
_WHEN: Table = {"type": "string", "maxLength": 64}
_SHARE: Table = {"type": "number", "minimum": 0, "maximum": 1}
_FLAG: Table = {"type": "boolean", "default": False}


def query(name: str, description: str, schema: Table) -> Table:
    """A query parameter; a list is given by naming it several times."""
    found: Table = {"name": name, "in": "query", "description": description, "schema": schema}
    return found | {"style": "form", "explode": True} if schema.get("type") == "array" else found


def in_path(name: str, description: str, example: str) -> Table:
    """A part of the path."""
    schema = {"type": "string", "minLength": 1, "maxLength": 256}
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": description,
        "schema": schema,
        "example": example,
    }


def _list(name: str, description: str, item: Table) -> Table:
    return query(
        name, description, {"type": "array", "items": item, "minItems": 1, "maxItems": 4 if "enum" in item else 64}
    )


def _limit(most: int) -> Table:
    schema = {"type": "integer", "minimum": 1, "default": 50}
    return query("limit", f"How many at most; more than {most:,} is taken as that", schema)


TENANT: Table = {
    "name": TENANT_HEADER,
    "in": "header",
    "description": "The tenant, in UTF-8; may be left out where the credential is for one tenant only",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
    "example": "acme",
}
IDEMPOTENCY: Table = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key again, by the same caller, is the same write: it is applied once",
    "schema": {"type": "string", "minLength": 1, "maxLength": 256},
}
WAIT = query("wait", "Seconds to wait for what becomes of it", {"type": "number", "minimum": 0, "maximum": 30})
SCOPE = tuple(query(f"scope.{dimension}", f"Only of this {dimension}", _NAME) for dimension in DIMENSIONS)
CURSOR = query("cursor", "Where the last page ended", {"type": "string", "minLength": 1, "maxLength": 1_024})
BROWSE = (
    _list("status", "Of one of these; active ones without it", {"type": "string", "enum": list(SHOWN)}),
    _list("kinds", "Of one of these kinds", {"type": "string", "enum": list(get_args(Kind))}),
    _list("types", "Of one of these types", _NAME),
    _list("tags_any", "With any of these tags", {"type": "string", "minLength": 1, "maxLength": 128}),
    _list("tags_all", "With all of these tags", {"type": "string", "minLength": 1, "maxLength": 128}),
    _list("threads", "Of one of these threads", _NAME),
    _list("exclude_threads", "Of none of these threads", _NAME),
    _list("authors", "Of one of these authors", _NAME),
    _list("roles", "Of one of these roles", {"type": "string", "enum": list(get_args(Role))}),
    query("since", "From this time on: RFC 3339, or -7d, -3h, -20m", _WHEN),
    query("until", "Before this time", _WHEN),
    query("min_importance", "At least as important", _SHARE),
    query("min_confidence", "At least as certain", _SHARE),
    query("include_expired", "Also what no longer holds", _FLAG),
    query("sort", "The order; the id decides between equals", {"type": "string", "enum": list(get_args(Sort))}),
    *SCOPE,
    _limit(MAX_LIMIT),
)
THREAD = (*SCOPE, query("from", "The first position", {"type": "integer", "minimum": 0}), _limit(MAX_MESSAGES))
EVENTS = (
    _list("types", "Only of these types, as memory.recorded", {"type": "string"}),
    {
        "name": "Last-Event-ID",
        "in": "header",
        "description": "The id of the last event that was seen: the stream goes on after it",
        "schema": {"type": "string", "pattern": "^[0-9]{1,6}-[0-9]{1,15}$"},
    },
)
TENANTS = (query("all", "Also tenants without memories", _FLAG), _limit(MAX_LIMIT), CURSOR)
