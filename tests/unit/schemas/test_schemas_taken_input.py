"""Odd input that is taken: what it becomes, byte for byte where nothing is wrong with it."""

import json
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from support.raw_records import accepted, message, turn

from afterturn.schemas.commands import Command, TurnCompleted


def content_of(text: str) -> str:
    found: str = accepted(turn(messages=[message(content=text)])).messages[0].content
    return found


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("hi \ud83d", "hi \ufffd"),
        ("\udc4b hi", "\ufffd hi"),
        ("\udc4b\ud83d", "\ufffd\ufffd"),
        ("\ud83d👋🔥", "\ufffd👋🔥"),
        ("👋\ud83d🔥", "👋\ufffd🔥"),
        ("Hello 👋🔥", "Hello 👋🔥"),
        ("👨\u200d👩\u200d👧 e\u0301 İ ﬁ", "👨\u200d👩\u200d👧 e\u0301 İ ﬁ"),
        ("a\0b", "ab"),
        ("\0", ""),
        ("a\u2028b\r\n\tc\x7f", "a\u2028b\r\n\tc\x7f"),
        ("", ""),
    ],
)
def test_content_is_kept_but_for_what_no_store_takes(given: str, kept: str) -> None:
    assert content_of(given) == kept
    assert TurnCompleted.model_validate(turn(messages=[message(content=given)])).messages[0].content == kept


def test_surrogates_written_as_bytes_are_mended_too() -> None:
    body = json.dumps(turn(messages=[message(content="WAVE")])).encode()
    assert accepted(body.replace(b"WAVE", b"\xed\xa0\xbd\xed\xb1\x8b")).messages[0].content == "👋"
    assert accepted(body.replace(b"WAVE", b"\xed\xa0\xbd!")).messages[0].content == "\ufffd!"


def test_texts_beside_content_are_mended_as_well() -> None:
    found = accepted(
        turn(
            tags=["half \ud83d", "\0a"],
            data={"k\ud83d\0": ["\udc4b", {"x": "\0"}]},
            run={"id": "r", "outcome": "ok", "duration_ms": 1, "tools": ["t\ud83d\0"]},
        )
    )
    assert found.tags == ("half \ufffd", "a")
    assert found.data == {"k\ufffd": ["\ufffd", {"x": ""}]}
    assert found.run.tools == ("t\ufffd",)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("2025-07-25T02:00:00Z", datetime(2025, 7, 25, 2, tzinfo=UTC)),
        ("2025-01-01T00:00:00", datetime(2025, 1, 1, tzinfo=UTC)),
        ("2025-01-01T00:00:00+09:00", datetime(2024, 12, 31, 15, tzinfo=UTC)),
        ("2025-01-01 00:00", datetime(2025, 1, 1, tzinfo=UTC)),
        ("2025-01-01t00:00:00.123456789z", datetime(2025, 1, 1, 0, 0, 0, 123_456, tzinfo=UTC)),
        ("0001-01-01T00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("9999-12-31T23:59:59.999999Z", datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)),
    ],
)
def test_times_are_kept_in_utc(given: str, kept: datetime) -> None:
    found = accepted(turn(occurred_at=given)).occurred_at
    assert found == kept
    assert found.utcoffset().total_seconds() == 0


def test_integers_are_taken_as_identifiers() -> None:
    body = turn(tenant=1, thread=-7, turn_id=2**64, scope={"user": 1}, messages=[message(author=0)])
    found = accepted(body)
    assert (found.tenant, found.thread, found.turn_id, found.scope.user) == ("1", "-7", str(2**64), "1")
    assert found.messages[0].author == "0"


def test_identifiers_are_kept_in_nfc() -> None:
    assert accepted(turn(tenant="e\u0301")) == accepted(turn(tenant="é"))
    assert accepted(turn(tenant="é")) != accepted(turn(tenant="É"))


@pytest.mark.parametrize("messages", [[], [message(content="")], [message(content="   ")], [message(content="\0")]])
def test_blank_turns_are_accepted_to_be_skipped_with_their_event(messages: list[Any]) -> None:
    assert len(accepted(turn(messages=messages)).messages) == len(messages)


def test_of_a_field_given_twice_the_last_counts() -> None:
    body = json.dumps(turn()).encode()[:-1] + b',"tenant":"t2"}'
    assert accepted(body).tenant == "t2"
    assert accepted(body.replace(b'"x"', b'"\\ud83d"')).tenant == "t2"


def test_a_byte_order_mark_does_no_harm() -> None:
    assert accepted(b"\xef\xbb\xbf" + json.dumps(turn()).encode()) == accepted(turn())


def test_the_largest_message_is_taken() -> None:
    found: Command = accepted(orjson.dumps(turn(messages=[message(content="ä" * 990_000)])))
    assert isinstance(found, TurnCompleted)
    assert len(found.messages[0].content) == 990_000
