"""Records of every type as they stand on the log: older bytes are read as they were meant, and written as they were."""

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from afterturn.schemas.codec import attributes_of, decode_command, decode_event, encode
from afterturn.schemas.commands import COMMAND_TYPES
from afterturn.schemas.documents import json_schemas
from afterturn.schemas.events import EVENT_TYPES, UnknownEvent

GOLDEN = Path(__file__).parents[2] / "data" / "golden"
TYPES = COMMAND_TYPES | EVENT_TYPES


def example(type_: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((GOLDEN / f"{type_}.json").read_text(encoding="utf-8"))
    return found


def headers_of(golden: dict[str, Any]) -> tuple[tuple[str, bytes], ...]:
    return tuple((name, value.encode()) for name, value in golden["headers"].items())


def read(type_: str, golden: dict[str, Any]) -> Any:
    headers, body = headers_of(golden), golden["body"].encode()
    return (decode_command(headers, body, unknown="forbid") if type_ in COMMAND_TYPES else decode_event(headers, body))[
        1
    ]


def test_every_type_has_an_example() -> None:
    assert {path.stem for path in GOLDEN.glob("*.json")} == {*TYPES, "ids"}


@pytest.mark.parametrize("type_", TYPES)
def test_an_example_is_read_as_it_was_meant(type_: str) -> None:
    golden = example(type_)
    found = read(type_, golden)
    assert not isinstance(found, UnknownEvent)
    assert found == TYPES[type_].model_validate(golden["decoded"])


@pytest.mark.parametrize("type_", TYPES)
def test_an_example_is_written_as_it_was(type_: str) -> None:
    golden = example(type_)
    record = encode(read(type_, golden), attributes_of(headers_of(golden)))
    assert record.value.decode() == golden["body"]
    assert record.headers == headers_of(golden)
    assert record.key == (None if golden["key"] is None else golden["key"].encode())


@pytest.mark.parametrize("type_", TYPES)
def test_an_example_is_valid_by_its_schema_alone_and_in_its_envelope(type_: str) -> None:
    schemas, body = json_schemas(), json.loads(example(type_)["body"])
    Draft202012Validator(schemas[type_]).validate(body)
    union = schemas["command" if type_ in COMMAND_TYPES else "event"]
    Draft202012Validator(union).validate({"type": type_, "data": body})


@pytest.mark.parametrize("type_", TYPES)
def test_an_example_shows_every_field_its_type_had(type_: str) -> None:
    absent = {name for name, value in example(type_)["decoded"].items() if value is None}
    one_of_two = {"memory.forget.v1": {"ids"}, "memory.recalled.v1": {"command", "thread", "turn_id"}}
    assert absent == one_of_two.get(type_, set())
