"""What is written is read back as it was, by every reader."""

import pickle
from datetime import UTC, datetime, timedelta, timezone

import orjson
import pytest
from hypothesis import given
from support.strategies import attributes, checkpoints, commands, events, queries

from afterturn.schemas.codec import (
    Attributes,
    Encoded,
    attributes_of,
    body_of,
    decode_command,
    decode_event,
    encode,
    parse,
)
from afterturn.schemas.commands import Collect, Command, TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import MemoryEvent, UnknownEvent
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.query import MAX_TEXT, Query

AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
SENT = Attributes(id="1", source="shop", type="", time=AT)


@given(commands(), attributes())
def test_a_command_comes_back_equal(command: Command, sent: Attributes) -> None:
    record = encode(command, sent)
    found, decoded = decode_command(record.headers, record.value, unknown="forbid")
    assert decoded == command
    assert (found.id, found.source, found.type, found.time) == (sent.id, sent.source, command.TYPE, sent.time)
    assert (found.traceparent, found.original_rev) == (sent.traceparent, sent.original_rev)
    assert encode(decoded, found) == record
    assert key_of(command) == record.key


def key_of(command: Command) -> bytes | None:
    return None if isinstance(command, Collect) else command.tenant.encode()


@given(events(), attributes())
def test_an_event_comes_back_equal(event: MemoryEvent, sent: Attributes) -> None:
    record = encode(event, sent)
    found, decoded = decode_event(record.headers, record.value)
    assert decoded == event
    assert encode(event, found) == record


@given(queries())
def test_a_query_comes_back_equal(query: Query) -> None:
    assert parse(Query, body_of(query)) == query


@given(commands())
def test_a_command_read_without_half_its_optional_fields_has_their_defaults(command: Command) -> None:
    bare = orjson.dumps(command.model_dump(mode="json", exclude_defaults=True))
    assert parse(type(command), bare) == command


@given(checkpoints())
def test_a_checkpoint_comes_back_equal(checkpoint: Checkpoint) -> None:
    payload = checkpoint.payload()
    assert Checkpoint.model_validate(payload, extra="ignore") == checkpoint
    assert None not in payload.values()
    assert {"next", "opens", "point", "plan_version"} <= payload.keys()
    assert "rev" not in payload


def _turn(**changes: object) -> dict[str, object]:
    return {
        "tenant": "t",
        "thread": "h",
        "turn_id": "1",
        "occurred_at": "2026-01-01T00:00:00Z",
        "messages": [{"role": "user", "content": "x"}],
        **changes,
    }


def test_unknown_fields_are_refused_by_publishers_and_ignored_by_the_recorder() -> None:
    body = orjson.dumps(_turn(added_later=1, scope={"user": "u", "planet": "earth"}))
    headers = Attributes("1", "shop", TurnCompleted.TYPE, AT).headers()
    with pytest.raises(ContractError, match="unknown field") as refused:
        decode_command(headers, body, unknown="forbid")
    assert refused.value.place in {"added_later", "scope.planet"}
    _, command = decode_command(headers, body, unknown="ignore")
    assert command == TurnCompleted.model_validate(_turn(scope={"user": "u"}))


def test_the_text_of_an_error_names_no_field_that_the_contract_does_not_know() -> None:
    """It goes into logs; the name is the sender's own words, and goes back to the sender alone."""
    for changes, text in (({"secret": 1}, "unknown field"), ({"scope": {"secret": "x"}}, "scope: unknown field")):
        with pytest.raises(ContractError) as refused:
            parse(TurnCompleted, orjson.dumps(_turn(**changes)))
        for error in (refused.value, pickle.loads(pickle.dumps(refused.value))):
            assert str(error) == text
            assert error.named.endswith("secret: unknown field")
            assert "secret" not in f"{error}{error!s}"


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ({"text": "x" * (MAX_TEXT + 1)}, "text: must have at most 100000 characters"),
        ({"tags_any": ["x"] * 65}, "tags_any: must have at most 64 items"),
    ],
)
def test_what_is_too_long_is_said_in_plain_words(query: dict[str, object], text: str) -> None:
    with pytest.raises(ContractError) as refused:
        parse(Query, orjson.dumps(query))
    assert str(refused.value) == text


def test_an_unknown_event_that_cannot_be_passed_on_is_malformed() -> None:
    headers = Attributes("1", "afterturn", "memory.dreamt.v1", AT).headers()
    with pytest.raises(ContractError, match="nested too deep"):
        decode_event(headers, b'{"tenant":"t","dreams":' + b"[" * 500 + b"]" * 500 + b"}")


def test_subscribers_ignore_unknown_fields_and_pass_unknown_types_through() -> None:
    headers = Attributes("1", "afterturn", "memory.dreamt.v1", AT).headers()
    _, event = decode_event(headers, b'{"tenant":"t","dreams":3}')
    assert event == UnknownEvent(type="memory.dreamt.v1", tenant="t", body={"tenant": "t", "dreams": 3})
    known = Attributes("1", "afterturn", "tenant.configured.v1", AT).headers()
    _, configured = decode_event(known, b'{"tenant":"t","at":"2026-01-01T00:00:00Z","added_later":1}')
    assert configured.tenant == "t"


def test_a_time_without_a_zone_is_utc_and_others_are_turned_into_it() -> None:
    east = timezone(timedelta(hours=9))
    for given_time, expected in ((AT.replace(tzinfo=None), AT), (AT.astimezone(east), AT)):
        sent = Attributes("1", "shop", "", given_time)
        assert attributes_of(encode(TurnCompleted.model_validate(_turn()), sent).headers).time == expected


@pytest.mark.parametrize("traceparent", ["", "00-abc", "00-" + "G" * 32 + "-" + "0" * 16 + "-01", "x" * 5_000])
def test_a_traceparent_that_is_none_is_left_out(traceparent: str) -> None:
    sent = Attributes("1", "shop", "t.v1", AT, traceparent=traceparent)
    assert "traceparent" not in dict(sent.headers())
    raw = (*sent.headers(), ("traceparent", traceparent.encode() + b"\xff"))
    assert attributes_of(raw).traceparent is None


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"id": ""}, "ce_id"),
        ({"id": "x" * 257}, "ce_id"),
        ({"id": "a\nb"}, "ce_id"),
        ({"source": "half \ud83d"}, "ce_source"),
        ({"source": "e\u0301"}, "ce_source"),
        ({"time": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))}, "ce_time"),
    ],
)
def test_a_publisher_is_refused_what_a_recorder_would_dead_letter(changes: dict[str, object], place: str) -> None:
    given_attributes: dict[str, object] = {"id": "1", "source": "shop", "type": "", "time": AT, **changes}
    with pytest.raises(ContractError) as refused:
        encode(TurnCompleted.model_validate(_turn()), Attributes(**given_attributes))  # type: ignore[arg-type]
    assert (refused.value.reason, refused.value.place) == ("headers", place)


def test_a_body_of_two_million_bytes_goes_and_one_more_does_not() -> None:
    def of_size(size: int) -> Encoded:
        empty = TurnCompleted.model_validate(_turn(messages=[{"role": "user", "content": ""}]))
        content = "x" * (size - len(body_of(empty)))
        return encode(TurnCompleted.model_validate(_turn(messages=[{"role": "user", "content": content}])), SENT)

    record = of_size(2_000_000)
    assert len(record.value) == 2_000_000
    decode_command(record.headers, record.value, unknown="forbid")
    with pytest.raises(ContractError) as refused:
        of_size(2_000_001)
    assert refused.value.reason == "too_large"
    with pytest.raises(ContractError) as refused:
        decode_command(record.headers, record.value + b" ", unknown="ignore")
    assert refused.value.reason == "too_large"
