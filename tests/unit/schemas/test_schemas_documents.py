"""The documents say what the models do, are valid by their own rules, and are up to date."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from jsonschema import Draft7Validator, Draft202012Validator
from jsonschema.protocols import Validator
from support.strategies import checkpoints, commands, events, points, queries

from afterturn.schemas.codec import body_of
from afterturn.schemas.commands import COMMAND_TYPES, COMMANDS, Command
from afterturn.schemas.documents import asyncapi, check, json_schemas, write
from afterturn.schemas.documents.__main__ import main
from afterturn.schemas.documents.descriptions import OF_ALL, OF_ONE, describe
from afterturn.schemas.documents.json_schema import DIALECT
from afterturn.schemas.events import EVENT_TYPES, EVENTS, MemoryEvent
from afterturn.schemas.partitioners import CLIENTS, markdown_table
from afterturn.schemas.points import Checkpoint, StoredPoint
from afterturn.schemas.query import Query

ROOT = Path(__file__).parents[3]
CONTRACTS = ROOT / "docs" / "contracts"
SCHEMAS = json_schemas()
ASYNCAPI = asyncapi()
VALIDATORS: dict[str, Validator] = {name: Draft202012Validator(schema) for name, schema in SCHEMAS.items()}


def test_the_documents_in_the_repository_are_up_to_date() -> None:
    assert check(CONTRACTS) == [], "python -m afterturn.schemas.documents docs/contracts"


def test_writing_removes_what_is_gone_and_keeps_what_is_not_generated(tmp_path: Path) -> None:
    folder = tmp_path / "contracts"
    write(folder)
    assert check(folder) == []
    (folder / "memory.dreamt.v1.json").write_text("{}")
    (folder / "README.md").write_text("kept")
    (folder / "query.json").unlink()
    (folder / "answer.json").write_text("{}")
    assert check(folder) == ["answer.json", "memory.dreamt.v1.json", "query.json"]
    write(folder)
    assert check(folder) == []
    assert (folder / "README.md").read_text() == "kept"


def test_the_command_line_checks_and_names_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path)]) == 0
    assert main(["--check", str(tmp_path)]) == 0
    (tmp_path / "query.json").unlink()
    assert main(["--check", str(tmp_path)]) == 1
    assert "query.json" in capsys.readouterr().err


def test_there_is_a_schema_of_everything() -> None:
    kinds = {"point.key", "point.memory", "point.receipt", "point.thread", "point.tenant", "point.checkpoint"}
    assert set(SCHEMAS) == {*COMMAND_TYPES, *EVENT_TYPES, *kinds, "query", "answer", "accepted", "command", "event"}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_is_valid_by_its_dialect(name: str) -> None:
    schema = SCHEMAS[name]
    assert schema["$schema"] == DIALECT
    assert schema["$id"] == f"urn:afterturn:schema:{name}"
    Draft202012Validator.check_schema(schema)


def objects(value: Any) -> list[dict[str, Any]]:
    """Every JSON object within a value that describes fields."""
    if isinstance(value, list):
        return [found for item in value for found in objects(item)]
    if not isinstance(value, dict):
        return []
    inner = [found for item in value.values() for found in objects(item)]
    return [value, *inner] if isinstance(value.get("properties"), dict) else inner


@pytest.mark.parametrize("name", [*SCHEMAS, "asyncapi"])
def test_every_model_and_field_is_described(name: str) -> None:
    for found in objects(SCHEMAS.get(name, ASYNCAPI)):
        assert found["description"], found
        for field, schema in found["properties"].items():
            assert "$ref" in schema or schema["description"].endswith((".", "…")), field


def test_no_description_is_of_a_field_that_is_gone() -> None:
    titled = [found for schema in SCHEMAS.values() for found in objects(schema) if "title" in found]
    fields = {(found["title"], field) for found in titled for field in found["properties"]}
    assert set(OF_ONE) <= {f"{model}.{field}" for model, field in fields}
    assert set(OF_ALL) == {field for model, field in fields if f"{model}.{field}" not in OF_ONE}
    with pytest.raises(LookupError, match=r"Memory\.nothing"):
        describe("Memory", "nothing")


@pytest.mark.parametrize("name", SCHEMAS)
def test_what_is_sent_to_us_is_closed_and_what_we_send_is_open(name: str) -> None:
    closed = name in {*COMMAND_TYPES, "query"}
    for found in objects(SCHEMAS[name]):
        if "title" in found and name not in {"command", "event"}:
            assert (found.get("additionalProperties") is False) == closed


@settings(max_examples=60)
@given(commands())
def test_every_command_is_valid_by_its_schema_and_in_its_envelope(command: Command) -> None:
    body = json.loads(body_of(command))
    VALIDATORS[command.TYPE].validate(body)
    VALIDATORS["command"].validate({"type": command.TYPE, "data": body})


@settings(max_examples=60)
@given(events())
def test_every_event_is_valid_by_its_schema_and_in_its_envelope(event: MemoryEvent) -> None:
    body = json.loads(body_of(event))
    VALIDATORS[event.TYPE].validate({**body, "added_later": 1})
    VALIDATORS["event"].validate({"type": event.TYPE, "data": body})


@settings(max_examples=60)
@given(points() | checkpoints())
def test_every_payload_is_valid_by_its_schema(point: StoredPoint | Checkpoint) -> None:
    VALIDATORS[f"point.{point.point}"].validate(json.loads(json.dumps(point.payload())))


@settings(max_examples=60)
@given(queries())
def test_every_query_is_valid_by_its_schema(query: Query) -> None:
    VALIDATORS["query"].validate(json.loads(body_of(query)))


def test_a_schema_refuses_what_the_models_refuse() -> None:
    body = json.loads((ROOT / "tests/data/golden/turn.completed.v1.json").read_text(encoding="utf-8"))["body"]
    turn = json.loads(body)
    changes: list[dict[str, Any]] = [
        {"tenant": ""},
        {"thread": "a\nb"},
        {"tags": ["x"] * 65},
        {"surprise": 1},
        {"messages": [{}]},
    ]
    for change in changes:
        assert not VALIDATORS["turn.completed.v1"].is_valid({**turn, **change})
        assert not VALIDATORS["command"].is_valid({"type": "turn.completed.v1", "data": {**turn, **change}})
    assert not VALIDATORS["command"].is_valid({"type": "memory.pin.v1", "data": turn})


METASCHEMA: dict[str, Any] = json.loads((ROOT / "tests/data/asyncapi-3.0.0.json").read_text(encoding="utf-8"))


def test_the_asyncapi_document_is_valid_by_asyncapis_own_schema() -> None:
    Draft7Validator(METASCHEMA).validate(ASYNCAPI)
    for name, schema in ASYNCAPI["components"]["schemas"].items():
        Draft7Validator.check_schema(schema)
        assert "$defs" not in schema, name


def _broken(path: str, value: object) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(json.dumps(ASYNCAPI))
    *way, last = path.split("/")
    place = document
    for key in way:
        place = place[key]
    place[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("asyncapi", "2.6.0"),
        ("operations/receiveCommands/action", "publish"),
        ("channels/turns/bindings/kafka/partitions", 0),
        ("channels/turns/bindings/kafka/topicConfiguration/cleanup.policy", "delete"),
        ("components/messages/turn.completed.v1/bindings/kafka/surprise", 1),
        ("components/schemas/Scope/properties", []),
    ],
)
def test_asyncapis_own_schema_would_find_a_fault(path: str, value: object) -> None:
    assert not Draft7Validator(METASCHEMA).is_valid(_broken(path, value))


def references(value: Any) -> set[str]:
    if isinstance(value, list):
        return {found for item in value for found in references(item)}
    if not isinstance(value, dict):
        return set()
    own = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
    return own | {found for item in value.values() for found in references(item)}


@pytest.mark.parametrize("name", [*SCHEMAS, "asyncapi"])
def test_every_reference_leads_somewhere_within_its_document(name: str) -> None:
    document = SCHEMAS.get(name, ASYNCAPI)
    for reference in references(document):
        place: Any = document
        for step in reference.removeprefix("#/").split("/"):
            place = place[step]


def test_the_channels_carry_every_message_by_its_key() -> None:
    channels, messages = ASYNCAPI["channels"], ASYNCAPI["components"]["messages"]
    assert set(channels["turns"]["messages"]) == set(COMMAND_TYPES)
    assert set(channels["memoryEvents"]["messages"]) == set(EVENT_TYPES)
    assert {channel["bindings"]["kafka"]["partitions"] for channel in channels.values()} == {12}
    keyed = {name for name, found in messages.items() if "key" in found.get("bindings", {}).get("kafka", {})}
    assert keyed == set(messages) - {"log.collect.v1"}


def test_the_headers_are_described_as_they_are_written() -> None:
    schema = ASYNCAPI["components"]["schemas"]["CloudEventHeaders"]
    golden = json.loads((ROOT / "tests/data/golden/memory.revise.v1.json").read_text(encoding="utf-8"))
    Draft7Validator(schema).validate(golden["headers"])
    assert set(schema["properties"]) == set(golden["headers"])
    with_less = {name: value for name, value in golden["headers"].items() if name != "ce_id"}
    assert not Draft7Validator(schema).is_valid(with_less)


@pytest.mark.parametrize("model", [*COMMANDS, *EVENTS])
def test_an_asyncapi_payload_says_the_same_as_the_json_schema(model: type[Command] | type[MemoryEvent]) -> None:
    payload = ASYNCAPI["components"]["schemas"][model.__name__]
    assert payload["properties"].keys() == SCHEMAS[model.TYPE]["properties"].keys()
    assert payload.get("required") == SCHEMAS[model.TYPE].get("required")


def test_the_documents_are_the_same_every_time_and_in_order() -> None:
    assert json.dumps(json_schemas()) == json.dumps(SCHEMAS)
    assert json.dumps(SCHEMAS, sort_keys=True) == json.dumps(SCHEMAS)
    assert json.dumps(ASYNCAPI, sort_keys=True) == json.dumps(asyncapi())


def test_the_page_shows_every_clients_partitioner_setting() -> None:
    page = (CONTRACTS / "README.md").read_text(encoding="utf-8")
    shown = page.split("<!-- partitioners -->\n")[1].split("\n<!-- /partitioners -->")[0]
    assert shown == markdown_table()
    assert all("|" not in text for found in CLIENTS for text in (found.client, found.setting, found.note))
    assert len({found.client for found in CLIENTS}) == len(CLIENTS)


def test_the_page_names_every_file_header_and_reason() -> None:
    page = (CONTRACTS / "README.md").read_text(encoding="utf-8")
    schemas = ASYNCAPI["components"]["schemas"]
    headers = schemas["CloudEventHeaders"]["properties"].keys() - {"afterturn_original_rev"}
    for name in (*headers, *schemas["DeadLetterHeaders"]["properties"], "misrouted", "unsupported", "too_large"):
        assert f"`{name}`" in page, name
    for channel in ASYNCAPI["channels"].values():
        assert f"`{channel['address']}`" in page
