"""The OpenAPI document of the service, made of the contract's own schemas."""

from __future__ import annotations

from functools import cache
from typing import Any

from pydantic import BaseModel
from pydantic.json_schema import JsonSchemaMode, models_json_schema

from afterturn.consumers.recall.access.principals import TENANT_HEADER
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.query import Accepted, Answer, Query

Table = dict[str, Any]
_REF = "#/components/schemas/{model}"

ASK = {
    "text": "Where does Ada want to travel in spring?",
    "scope": {"user": "ada"},
    "since": "-90d",
    "limit": 10,
    "max_tokens": 1_000,
}
ANSWER = {
    "memories": [
        {
            "id": "5b0c7c2e-5d0e-5b1f-9a53-0f4f5c3c1f10",
            "text": "I would love to see the cherry trees in Kyoto.",
            "kind": "episodic",
            "type": "conversation",
            "author": "Ada",
            "role": "user",
            "thread": "trips",
            "turn_id": "17",
            "position": 34,
            "occurred_at": "2026-01-31T09:30:00Z",
            "importance": 0.5,
            "confidence": 1.0,
            "tags": [],
            "found_by": ["vector", "keyword"],
            "score": 1.62,
            "in_text": True,
        }
    ],
    "text": "[31 January 2026, 09:30]\nAda: I would love to see the cherry trees in Kyoto.",
    "tokens": 19,
    "degraded": [],
    "took_ms": 4.2,
}
TURN = {
    "scope": {"user": "ada"},
    "thread": "trips",
    "turn_id": "17",
    "occurred_at": "2026-01-31T09:30:00Z",
    "messages": [
        {"role": "user", "author": "Ada", "content": "I would love to see the cherry trees in Kyoto."},
        {"role": "assistant", "content": "They bloom there from late March to early April."},
    ],
}
ACCEPTED = {
    "status": "accepted",
    "event_id": "0d4f1a52-8a55-4e39-8a0e-3c2a7c5b9e77",
    "token": "0-3-1042-5b0c7c2e-5d0e-5b1f-9a53-0f4f5c3c1f10",
}
PROBLEM = {"error": {"field": "messages.0.role", "problem": "Input should be 'user', 'assistant', 'system' or 'tool'"}}

_PROBLEM_SCHEMA: Table = {
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
    """The document, OpenAPI 3.1."""
    schemas = _schemas()
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Afterturn recall",
            "version": "1",
            "description": "What an agent asks before a turn, and tells after it.",
        },
        "paths": {
            "/v1/recall": {"post": _recall()},
            "/v1/turns": {"post": _turns()},
            "/health/live": {"get": _plain("Whether the process runs", {"200": "it does"})},
            "/health/ready": {"get": _plain("What it waits for", {"200": "nothing", "503": "what is in `missing`"})},
            "/metrics": {"get": _plain("Metrics in Prometheus' text format", {"200": "the metrics"})},
        },
        "components": {"schemas": schemas},
    }


def _schemas() -> Table:
    models: list[tuple[type[BaseModel], JsonSchemaMode]] = [
        (Query, "validation"),
        (Answer, "serialization"),
        (TurnCompleted, "validation"),
        (Accepted, "serialization"),
    ]
    _, made = models_json_schema(models, ref_template=_REF)
    schemas: Table = made["$defs"]
    turn: Table = schemas["TurnCompleted"]
    turn["required"] = [name for name in turn["required"] if name != "tenant"]
    turn["properties"]["tenant"]["description"] = f"may be left out; else it must be that of {TENANT_HEADER}"
    return {**schemas, "Problem": _PROBLEM_SCHEMA}


def _recall() -> Table:
    return {
        "summary": "Ask what is known",
        "description": (
            "Answers with what could be had: `degraded` names what could not (after, healing, vector, keyword, "
            "neighbour, search). Without `text`, the memories that happened last."
        ),
        **_request("Query", ASK),
        "responses": {"200": _response("The answer", "Answer", ANSWER), **_problems("413", "415", "422", "429", "503")},
    }


def _turns() -> Table:
    return {
        "summary": "Publish a turn",
        "description": "For agents that speak no Kafka. Posting the same turn again is safe: it is recorded once.",
        **_request("TurnCompleted", TURN),
        "responses": {
            "202": _response("It is on the turn log, not stored yet", "Accepted", ACCEPTED),
            **_problems("413", "415", "422", "429", "503"),
        },
    }


def _request(model: str, example: Table) -> Table:
    tenant = {
        "name": TENANT_HEADER,
        "in": "header",
        "required": True,
        "description": "The tenant, in UTF-8",
        "schema": {"type": "string", "minLength": 1, "maxLength": 256},
        "example": "acme",
    }
    return {"parameters": [tenant], "requestBody": {"required": True, "content": _content(model, example)}}


def _response(description: str, model: str, example: Table) -> Table:
    return {"description": description, "content": _content(model, example)}


def _content(model: str, example: Table) -> Table:
    return {"application/json": {"schema": {"$ref": _REF.format(model=model)}, "example": example}}


def _problems(*statuses: str) -> Table:
    what = {
        "413": "The body is too large",
        "415": "The body is compressed, or no JSON",
        "422": "A field breaks the contract",
        "429": "The tenant is over its quota: try again after `Retry-After` seconds",
        "503": "What this needs is away: try again after `Retry-After` seconds",
    }
    return {status: _response(what[status], "Problem", PROBLEM) for status in statuses}


def _plain(summary: str, answers: dict[str, str]) -> Table:
    return {"summary": summary, "responses": {status: {"description": text} for status, text in answers.items()}}
