"""How dead letters are shown: hostile names made harmless, and never content."""

from __future__ import annotations

from datetime import UTC, datetime

import orjson
import pytest

from afterturn.consumers.cli.letters import as_dict, name_of, show_letter, show_table, state_of, why_of
from afterturn.streams.dead_letters import Letter, LetterId, Origin
from afterturn.streams.letter_log import Listed

HOSTILE = b"\x1b[2J[bold]a\nb\r\t\xff\xe2\x80\xae\x00"


def letter(key: bytes | None = HOSTILE, **fields: object) -> Letter:
    base: dict[str, object] = {
        "id": LetterId(3, 17),
        "at": datetime(2026, 5, 8, 13, 56, tzinfo=UTC),
        "reason": "misrouted",
        "error": "ContractError",
        "place": "key",
        "problem": "the record's key is not its tenant",
        "attempts": "1",
        "stood": Origin("afterturn.turns", 3, 1042),
        "size": 1_234,
        "key": key,
    }
    return Letter(**(base | fields))  # type: ignore[arg-type]


@pytest.mark.parametrize("raw", [HOSTILE, b"\xe2\x80\xaeevil", "\ud800".encode("utf-8", "surrogatepass"), b"\x9b31m"])
def test_a_name_is_one_printable_line(raw: bytes) -> None:
    assert name_of(raw).isprintable()
    assert len(name_of(raw * 50, 32)) == 32
    assert name_of(None) == ""


def test_a_table_shows_hostile_names_as_they_are(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([Listed(letter(reason="[red]x\x1b")), Listed(letter(None), "replayed", "2/9")], of=2, dropped=1)
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert "[red]x" in said, "brackets are no markup"
    for told in ("3/17", "2026-05-08 13:56Z", "3/1042", "1,234", "2 dead letters of afterturn.turns; 1 dropped"):
        assert told in said


def test_letters_of_two_logs_name_theirs(capsys: pytest.CaptureFixture[str]) -> None:
    show_table([Listed(letter(b"a")), Listed(letter(b"b", stood=Origin("x", 0, 5)))], of=9, dropped=0)
    said = capsys.readouterr().out
    assert "x 0/5" in said
    assert "9 dead letters; the newest 2 are shown" in said


def test_an_error_is_told_where_it_says_more() -> None:
    assert why_of(letter()) == "misrouted"
    assert why_of(letter(reason="refused", error="StoreRefused")) == "refused (StoreRefused)"


def test_all_that_is_said_of_a_letter_is_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    show_letter(Listed(letter(headers=(("x\x1b\n", b"a\nb"), ("ce_id", b"1")), left_out="value")))
    said = capsys.readouterr().out
    assert "\x1b" not in said
    assert said.splitlines()[-2:] == ["header    x\\x1b\\n = a\\nb", "header    ce_id = 1"]


def test_json_of_a_letter_is_one_line_without_content() -> None:
    listed = Listed(letter(headers=(("h", b"v"),)), "replayed", "2/9")
    told = as_dict(listed)
    assert "headers" not in told
    assert (told["id"], told["partition"], told["offset"], told["replayed_as"]) == ("3/17", 3, 1042, "2/9")
    assert as_dict(listed, headers=True)["headers"] == [["h", "v"]]
    assert b"\n" not in orjson.dumps(told)
    assert as_dict(Listed(letter(stood=None)))["offset"] is None
    assert state_of(listed) == "replayed as 2/9"
