"""The primitive types: what is blank, what texts become, and what Python code may give."""

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pydantic import ValidationError
from support.strategies import contents, turns

from afterturn.schemas.commands import Forget, TurnCompleted
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.parts import Filter, Message, SummaryData
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import clean_text, is_blank
from afterturn.schemas.when import resolve_time

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


BLANK = (
    "",
    " ",
    "\n\t\r",
    "\u00a0\u3000\u2009",
    "\u200b",
    "\u200d\u2060",
    "\ufeff",
    "\u2800",
    "\u3164",
    "\ufe0f",
    "\u00ad",
)
CONTROLS = ("\x00\x1b\x7f\x85", "\u202e\u2066", "\U000e0041", " \u200b\n\ufeff\u2028")


@pytest.mark.parametrize("text", [*BLANK, *CONTROLS])
def test_what_does_not_show_is_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize(
    "text",
    [".", " a ", "\u200b1", "我", "🚗", "\U0001fae8", "\U0001faea", "\ufffd", "\u0301", "\ue000", "\u2801", "️☕"],
)
def test_what_shows_is_not_blank_even_if_python_does_not_know_it_yet(text: str) -> None:
    assert not is_blank(text)


@given(
    st.text(),
    st.text(st.characters(categories=("L", "N", "P", "S"), exclude_characters="\u2800\u3164\uffa0\u115f\u1160")),
)
def test_any_letter_digit_sign_or_symbol_shows(around: str, shown: str) -> None:
    assert is_blank(around + shown) == (is_blank(around) and not shown)


@given(st.text(st.characters()))
def test_cleaned_text_is_utf_8_without_nul_and_cleaning_ends(text: str) -> None:
    cleaned = clean_text(text)
    assert "\0" not in cleaned.encode().decode()
    assert clean_text(cleaned) == cleaned


@given(contents())
def test_clean_text_is_kept_as_it_is(text: str) -> None:
    assert clean_text(text) == text


def turn(**changes: Any) -> dict[str, Any]:
    return {"tenant": "t", "thread": "h", "turn_id": "1", "occurred_at": NOW, "messages": [], **changes}


def test_python_code_gives_lists_or_tuples_models_or_dicts_times_or_texts() -> None:
    given_message, as_dict = (
        Message(role="user", content="x", tags=("a",)),
        {"role": "user", "content": "x", "tags": ["a"]},
    )
    forms = [
        turn(messages=[given_message]),
        turn(messages=(as_dict,), occurred_at="2026-03-01T12:00:00Z"),
        turn(messages=[as_dict], scope=Scope(), occurred_at=NOW.replace(tzinfo=None)),
        turn(messages=(given_message,), scope={}, occurred_at=NOW.astimezone(timezone(timedelta(hours=-7)))),
    ]
    assert len({TurnCompleted(**form).model_dump_json() for form in forms}) == 1
    assert SummaryData(period=[NOW, "2026-03-01T12:00:00Z"], source_count=1, derived_from=[]).period == (NOW, NOW)  # type: ignore[arg-type]


CYCLE: dict[str, Any] = {}
CYCLE["self"] = CYCLE


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"messages": {"role": "user"}}, "messages"),
        ({"messages": ({"role": "user", "content": "x"} for _ in range(1))}, "messages"),
        ({"occurred_at": date(2026, 1, 1)}, "occurred_at"),
        ({"occurred_at": datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}, "occurred_at"),
        ({"tenant": b"t"}, "tenant"),
        ({"tenant": 1.0}, "tenant"),
        ({"tenant": "a\ud83d"}, "tenant"),
        ({"run": {"id": "r", "outcome": "ok", "duration_ms": "1"}}, "run.duration_ms"),
        ({"run": {"id": "r", "outcome": "ok", "duration_ms": True}}, "run.duration_ms"),
        ({"data": CYCLE}, "data"),
        ({"data": {"a": {1, 2}}}, "data"),
        ({"data": {1: 2}}, "data"),
        ({"surprise": 1}, "surprise"),
    ],
)
def test_python_code_is_held_to_the_contract_as_strictly(changes: dict[str, Any], place: str) -> None:
    with pytest.raises(ValidationError) as found:
        TurnCompleted(**turn(**changes))
    fault = from_pydantic(found.value)
    assert fault.reason == "invalid"
    assert fault.place == place or fault.place.startswith(f"{place}.")


def test_an_integer_too_long_for_a_name_is_refused_as_such() -> None:
    with pytest.raises(ValidationError) as found:
        TurnCompleted(**turn(tenant=10**5_000))
    assert str(from_pydantic(found.value)) == "tenant: must have at most 256 characters"


@given(turns())
def test_values_are_frozen_and_hash_or_compare_by_content(command: TurnCompleted) -> None:
    with pytest.raises(ValidationError):
        command.tenant = "other"
    assert command.model_copy() == command


SECRET = "xyzzy"


@pytest.mark.parametrize(
    "changes",
    [{name: SECRET * 100} for name in turn()] + [{"data": {SECRET: object()}}, {"scope": {"user": {SECRET: SECRET}}}],
)
def test_a_translated_fault_repeats_no_value(changes: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as found:
        TurnCompleted(**turn(**changes))
    fault = from_pydantic(found.value)
    assert SECRET not in "".join((str(fault), repr(fault), fault.place, fault.problem))


def test_a_filter_that_leaves_nothing_out_does_not_restrict() -> None:
    assert not Filter().restricts()
    assert not Filter(scope=Scope()).restricts()
    assert Filter(scope=Scope(user="u")).restricts()
    assert Filter(until=NOW).restricts()
    assert Forget(tenant="t", reason="r", filter=Filter(since=NOW)).filter is not None


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-7d", NOW - timedelta(days=7)),
        ("-3h", NOW - timedelta(hours=3)),
        ("-20m", NOW - timedelta(minutes=20)),
        ("2026-01-01T00:00:00+02:00", datetime(2025, 12, 31, 22, tzinfo=UTC)),
        ("2026-01-01", datetime(2026, 1, 1, tzinfo=UTC)),
    ],
)
def test_times_of_a_query_may_be_relative(text: str, expected: datetime) -> None:
    assert resolve_time(text, NOW) == expected


@given(st.text(min_size=1) | st.from_regex(r"-[0-9]+[mhd]") | st.from_regex(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*"))
@example("0000-01-01")
@example("-999999d")
@example("10000-01-01T00:00:00Z")
def test_any_text_is_a_time_in_utc_or_refused(text: str) -> None:
    try:
        found = resolve_time(text, NOW)
    except ContractError:
        return
    assert found.utcoffset() == timedelta(0)


def test_a_refused_time_is_not_repeated() -> None:
    with pytest.raises(ContractError) as found:
        resolve_time("2026-01-01 xyzzy", NOW)
    assert "xyzzy" not in str(found.value)
