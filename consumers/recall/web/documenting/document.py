"""The document, OpenAPI 3.1."""

from __future__ import annotations

from functools import cache

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from afterturn.consumers.recall.web.documenting import examples
from afterturn.consumers.recall.web.documenting.examples import Table
from afterturn.consumers.recall.web.documenting.operations import OPERATIONS, Operation
from afterturn.consumers.recall.web.documenting.parameters import EVENTS, TENANT
from afterturn.schemas.query import TENANT_HEADER

_REF = "#/components/schemas/{model}"
_EVERY = ("401", "403", "408", "421", "422", "429", "503")
_OF_BODIES = ("400", "413", "415")
_MEANS = {
    "400": "The connection ended within the body",
    "401": "No credential, or one that isn't known or has expired",
    "403": "The credential doesn't give this right, tenant or scope",
    "404": "There is no such thing, or it is not the caller's",
    "409": "It is there, and not in the state this is for",
    "408": "The body did not come in time",
    "413": "The body is too large",
    "415": "The body is compressed, or no JSON",
    "421": "Without authentication: the request was meant for another host",
    "422": "A field breaks the contract, or `memory unavailable`: a dimension of the scope is missing",
    "429": "Over the quota: try again after `Retry-After` seconds",
    "503": "What this needs is away, or too many wait: try again after `Retry-After` seconds",
}
_HEADERS = {
    "401": {"WWW-Authenticate": {"required": True, "schema": {"type": "string"}}},
    "429": {"Retry-After": {"required": True, "schema": {"type": "string", "pattern": "^[0-9]+$"}}},
}
_PROBLEM: Table = {
    "type": "object",
    "title": "Problem",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["field", "problem"],
            "properties": {
                "field": {"type": "string", "description": "dotted path, or a header's name; empty for the whole"},
                "problem": {"type": "string", "description": "what is wrong; never a value of the request"},
            },
        }
    },
}


@cache
def document() -> Table:
    """The document, of every route there is."""
    paths: Table = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method] = _operation(operation)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Afterturn recall",
            "version": "1",
            "description": "What an agent asks before a turn, and tells after it; and what is kept of it.",
        },
        "paths": {
            **paths,
            "/v1/events": {"get": _events()},
            "/health/live": {"get": _plain("Whether the process runs", {"200": "it does"})},
            "/health/ready": {"get": _plain("What it waits for", {"200": "nothing", "503": "what is in `missing`"})},
            "/metrics": {"get": _metrics()},
        },
        "components": {
            "schemas": _schemas(),
            "securitySchemes": {
                "bearer": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key (`aft_…`), or a token of the identity provider. Where neither is "
                    "configured the service listens on loopback only and asks nobody.",
                }
            },
        },
    }


def _operation(operation: Operation) -> Table:
    found: Table = {
        "operationId": operation.summary.lower().replace(" ", "_"),
        "summary": operation.summary,
        "description": f"{operation.description} {_right(operation.right)}".strip(),
        "security": [{"bearer": []}, {}],
        "parameters": list(operation.parameters),
    }
    statuses = [*_EVERY, *operation.also]
    if operation.body is not None:
        model, example = operation.body
        found["requestBody"] = {"required": True, "content": _content(model.__name__, example)}
        statuses += _OF_BODIES
    answers = {
        status: {"description": text, "content": _content(model.__name__, example)}
        for status, (text, model, example) in operation.answers.items()
    }
    return found | {"responses": {**answers, **{status: _problem(status) for status in sorted(statuses)}}}


def _right(right: str | None) -> str:
    return "" if right is None else f"Right: `{right}`."


def _problem(status: str) -> Table:
    found: Table = {"description": _MEANS[status], "content": _content("Problem", examples.PROBLEM)}
    return found | ({"headers": _HEADERS[status]} if status in _HEADERS else {})


def _content(model: str, example: Table) -> Table:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}, "example": example}}


def _schemas() -> Table:
    kinds: dict[type[BaseModel], JsonSchemaMode] = {}
    for operation in OPERATIONS:
        kinds |= {model: "validation" for _, model, _ in operation.answers.values()}
        if operation.body is not None:
            kinds[operation.body[0]] = "validation"
    _, made = models_json_schema(list(kinds.items()), ref_template=_REF)
    schemas: Table = made["$defs"]
    for schema in schemas.values():
        tenant = schema.get("properties", {}).get("tenant")
        if tenant is not None and tenant.get("default") == "":
            del tenant["default"]
            tenant["description"] = f"may be left out; else it must be the credential's, or that of {TENANT_HEADER}"
    return {**schemas, "Problem": _PROBLEM}


def _events() -> Table:
    """A stream, which has no one schema."""
    content = {"text/event-stream": {"schema": {"type": "string"}, "example": examples.EVENT}}
    return {
        "operationId": "follow_memory_events",
        "summary": "Follow memory events",
        "description": "Server-sent events of the caller's tenant, from now on or after `Last-Event-ID`; counts and "
        "names, never content. A credential that is bound to a scope sees none. Right: `read`.",
        "security": [{"bearer": []}, {}],
        "parameters": [TENANT, *EVENTS],
        "responses": {
            "200": {"description": "Events, as long as the connection holds", "content": content},
            **{status: _problem(status) for status in _EVERY},
        },
    }


def _plain(summary: str, answers: dict[str, str]) -> Table:
    content = {"application/json": {"schema": {"type": "object"}}}
    responses = {status: {"description": text, "content": content} for status, text in answers.items()}
    return {"operationId": summary.lower().replace(" ", "_"), "summary": summary, "responses": responses}


def _metrics() -> Table:
    content = {"text/plain": {"schema": {"type": "string"}}}
    found = _plain("Metrics in Prometheus' text format", {"200": "the metrics"})
    return found | {"responses": {"200": {"description": "the metrics", "content": content}}}
