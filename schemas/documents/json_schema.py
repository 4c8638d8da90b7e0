"""JSON Schemas (2020-12) of commands, events, points, queries and answers, made from the models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any

from pydantic import BaseModel

from afterturn.schemas.commands import COMMANDS, Command
from afterturn.schemas.documents.descriptions import describe
from afterturn.schemas.events import EVENTS, MemoryEvent
from afterturn.schemas.points import Checkpoint, KeyState, Memory, Receipt, TenantState, ThreadState
from afterturn.schemas.query import Accepted, Answer, Query

DIALECT = "https://json-schema.org/draft/2020-12/schema"
Schema = dict[str, Any]
Typed = type[Command] | type[MemoryEvent]

CLOSED: Mapping[str, type[BaseModel]] = {**{model.TYPE: model for model in COMMANDS}, "query": Query}
"""What is sent to Afterturn: unknown fields are refused."""
OPEN: Mapping[str, type[BaseModel]] = {
    **{model.TYPE: model for model in EVENTS},
    "accepted": Accepted,
    "answer": Answer,
    "point.checkpoint": Checkpoint,
    "point.key": KeyState,
    "point.memory": Memory,
    "point.receipt": Receipt,
    "point.tenant": TenantState,
    "point.thread": ThreadState,
}
"""What Afterturn sends or stores: a later minor version may add fields, so readers ignore what they don't know."""


def json_schemas() -> dict[str, Schema]:
    """A JSON Schema per command, event, point, query and answer, and of the unions ``command`` and ``event``."""
    found = {name: schema_of(name, model) for name, model in {**CLOSED, **OPEN}.items()}
    found["command"] = _union("command", COMMANDS, "Any command, as an envelope of its type and its body.")
    found["event"] = _union("event", EVENTS, "Any MemoryEvent, as an envelope of its type and its body.")
    return {name: sorted_json(found[name]) for name in sorted(found)}


def schema_of(name: str, model: type[BaseModel]) -> Schema:
    """One model's schema, complete in itself."""
    schema, parts = _tidied(model, closed=name in CLOSED)
    defined = {"$defs": parts} if parts else {}
    return {"$schema": DIALECT, "$id": f"urn:afterturn:schema:{name}", **schema, **defined}


def definitions(models: Iterable[Typed]) -> dict[str, Schema]:
    """The schemas of these models and all they are made of, by class name; they refer to each other in ``$defs``.

    A part of commands and events alike is open.
    """
    found: dict[str, Schema] = {}
    for model in models:
        schema, parts = _tidied(model, closed=model.TYPE in CLOSED)
        for name, definition in {**parts, model.__name__: schema}.items():
            if name not in found or "additionalProperties" in found[name]:
                found[name] = definition
    return found


def _union(name: str, models: Sequence[Typed], description: str) -> Schema:
    envelopes = {f"{model.__name__}Envelope": _envelope(model) for model in models}
    references = {model.TYPE: f"#/$defs/{model.__name__}Envelope" for model in models}
    return {
        "$schema": DIALECT,
        "$id": f"urn:afterturn:schema:{name}",
        "title": name.capitalize(),
        "description": description,
        "oneOf": [{"$ref": reference} for reference in references.values()],
        "discriminator": {"propertyName": "type", "mapping": references},
        "$defs": definitions(models) | envelopes,
    }


def _envelope(model: Typed) -> Schema:
    return {
        "type": "object",
        "description": " ".join((model.__doc__ or "").split()).replace("``", "`"),
        "properties": {
            "type": {"const": model.TYPE, "description": "The CloudEvents type, which names the major version."},
            "data": {"$ref": f"#/$defs/{model.__name__}"},
        },
        "required": ["type", "data"],
        "additionalProperties": False,
    }


@cache
def _tidied(model: type[BaseModel], *, closed: bool) -> tuple[Schema, dict[str, Schema]]:
    """A model's schema, and those of its parts by name. Nobody changes them."""
    schema = model.model_json_schema()
    parts = {name: _object(name, part, closed=closed) for name, part in schema.pop("$defs", {}).items()}
    return _object(model.__name__, schema, closed=closed), parts


def _object(name: str, schema: Schema, *, closed: bool) -> Schema:
    """One model's schema with descriptions, without the noise: field titles and nulls as defaults."""
    if "properties" not in schema:
        return {"description": "Any JSON value.", **schema}
    fields = {field: _field(name, field, found) for field, found in schema["properties"].items()}
    kept = {key: value for key, value in schema.items() if closed or key != "additionalProperties"}
    return kept | {"properties": fields, "description": " ".join(schema["description"].split()).replace("``", "`")}


def _field(model: str, field: str, schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key != "title"}
    default = kept.pop("default", None)
    if isinstance(default, dict):
        default = {key: value for key, value in default.items() if value is not None}
    if default is not None:
        kept["default"] = default
    return kept | {"description": describe(model, field)}


def sorted_json(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """A JSON value with the keys of every object in order."""
    if isinstance(value, dict):
        return {key: sorted_json(value[key]) for key in sorted(value)}
    return [sorted_json(item) for item in value] if isinstance(value, list) else value
