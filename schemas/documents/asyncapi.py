"""The AsyncAPI 3.0 document: three channels, their messages, headers and Kafka bindings."""

from __future__ import annotations

from typing import Any

from afterturn.schemas.commands import COMMANDS, Collect
from afterturn.schemas.documents.json_schema import Typed, definitions, sorted_json
from afterturn.schemas.events import EVENTS

CONTRACT_VERSION = "1.0.0"
"""The contract's own version: its minor grows with every field or type that is added."""
_BINDING = "0.5.0"
_MIB = 1_048_576
_TURN_BYTES = 9 * _MIB // 4
_DEAD_LETTER_BYTES = _TURN_BYTES + 65_536
_PARTITIONS = 12
Json = dict[str, Any]


def asyncapi() -> Json:
    """The whole document, seen from Afterturn: it receives commands and sends events; an agent does the reverse."""
    commands = {model.TYPE: _message(model) for model in COMMANDS}
    events = {model.TYPE: _message(model) for model in EVENTS}
    document = {
        "asyncapi": "3.0.0",
        "info": _info(),
        "defaultContentType": "application/json",
        "channels": {
            "turns": _channel("afterturn.turns", "The turn log: every write of a tenant.", [*commands], _TURN_BYTES),
            "memoryEvents": _channel(
                "afterturn.memory-events", "One outcome event per command, and memory.recalled.", [*events], _MIB
            ),
            "deadLetter": _channel(
                "afterturn.dead-letter",
                "Records that can never succeed: their bytes untouched, and headers that say why.",
                ["dead-letter"],
                _DEAD_LETTER_BYTES,
            ),
        },
        "operations": {
            "receiveCommands": _operation("receive", "turns", "The recorder applies each command once, in order."),
            "sendMemoryEvents": _operation("send", "memoryEvents", "Subscribers read committed records only."),
            "sendDeadLetters": _operation("send", "deadLetter", "What was wrong is said in the headers."),
        },
        "components": {
            "messages": commands | events | {"dead-letter": _dead_letter()},
            "schemas": _schemas() | {"CloudEventHeaders": _cloud_event(), "DeadLetterHeaders": _dead_letter_headers()},
        },
    }
    return dict(sorted_json(document))


def _info() -> Json:
    return {
        "title": "Afterturn",
        "version": CONTRACT_VERSION,
        "description": "Long-term memory for AI agents: commands on the turn log become memories, MemoryEvents "
        "tell what became of them. Names of topics and the number of partitions are the defaults.",
        "license": {"name": "Apache-2.0"},
    }


def _channel(topic: str, description: str, messages: list[str], max_bytes: int) -> Json:
    return {
        "address": topic,
        "description": description,
        "messages": {name: {"$ref": f"#/components/messages/{name}"} for name in messages},
        "bindings": {
            "kafka": {
                "topic": topic,
                "partitions": _PARTITIONS,
                "topicConfiguration": {"cleanup.policy": ["delete"], "max.message.bytes": max_bytes},
                "bindingVersion": _BINDING,
            }
        },
    }


def _operation(action: str, channel: str, description: str) -> Json:
    return {"action": action, "channel": {"$ref": f"#/channels/{channel}"}, "description": description}


def _message(model: Typed) -> Json:
    found: Json = {
        "name": model.TYPE,
        "title": model.TYPE,
        "summary": " ".join((model.__doc__ or "").split()).replace("``", "`"),
        "contentType": "application/json",
        "headers": {"$ref": "#/components/schemas/CloudEventHeaders"},
        "payload": {"$ref": f"#/components/schemas/{model.__name__}"},
    }
    if model is not Collect:
        found["bindings"] = {"kafka": {"key": _key(), "bindingVersion": _BINDING}}
    return found


def _key() -> Json:
    return {"type": "string", "description": "The tenant in UTF-8, in Unicode's normal form C; the body repeats it."}


def _dead_letter() -> Json:
    return {
        "name": "dead-letter",
        "title": "Dead letter",
        "summary": "A record of the turn log as it came, key and body untouched.",
        "headers": {"$ref": "#/components/schemas/DeadLetterHeaders"},
        "payload": {"description": "The record's bytes, whatever they are."},
        "bindings": {
            "kafka": {"key": {"description": "The record's key, whatever it is."}, "bindingVersion": _BINDING}
        },
    }


def _schemas() -> dict[str, Json]:
    return {name: _as_draft_7(schema) for name, schema in definitions((*COMMANDS, *EVENTS)).items()}


def _as_draft_7(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    """AsyncAPI's own schemas are a superset of draft 7: tuples and references are written its way."""
    if isinstance(value, list):
        return [_as_draft_7(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {("items" if key == "prefixItems" else key): _as_draft_7(item) for key, item in value.items()}
    if isinstance(reference := found.get("$ref"), str):
        found["$ref"] = reference.replace("#/$defs/", "#/components/schemas/")
    return found


def _text(description: str, **more: object) -> Json:
    return {"type": "string", "description": description, **more}


def _cloud_event() -> Json:
    return {
        "type": "object",
        "description": "CloudEvents 1.0 in Kafka's binary mode. Values are UTF-8 text.",
        "properties": {
            "ce_specversion": _text("The version of CloudEvents.", const="1.0"),
            "ce_id": _text("Unique within the source.", minLength=1, maxLength=256),
            "ce_source": _text("The application, not the instance.", minLength=1, maxLength=256),
            "ce_type": _text("What it is, with its major version.", minLength=1, maxLength=256),
            "ce_time": _text("When it was made, by the publisher's clock.", format="date-time"),
            "content-type": _text("Always JSON.", const="application/json"),
            "traceparent": _text("W3C Trace Context; one that is none is ignored."),
            "afterturn_original_rev": _text("Where a replayed dead letter stood first.", pattern="^[0-9]{1,16}$"),
        },
        "required": ["ce_id", "ce_source", "ce_specversion", "ce_time", "ce_type"],
    }


def _dead_letter_headers() -> Json:
    reasons = "empty, headers, not_json, invalid, unsupported, too_large or misrouted; or why it was given up."
    return {
        "type": "object",
        "description": "The record's own headers, and these.",
        "properties": {
            "afterturn_reason": _text(reasons),
            "afterturn_error": _text("The simple name of an error's class."),
            "afterturn_place": _text("The field at fault, as a dotted path; empty for the whole record."),
            "afterturn_problem": _text("What is wrong, without any content."),
            "afterturn_topic": _text("The topic it stood in."),
            "afterturn_partition": _text("Its partition.", pattern="^[0-9]+$"),
            "afterturn_offset": _text("Its offset.", pattern="^[0-9]+$"),
            "afterturn_attempts": _text("How often it was tried.", pattern="^[0-9]+$"),
        },
        "required": ["afterturn_reason"],
    }
