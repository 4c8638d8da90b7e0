"""Whatever stands in a record, reading it ends in a value or in a ContractError that repeats nothing of it."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
from hypothesis import given
from hypothesis import strategies as st
from support.strategies import commands

from afterturn.schemas.codec import Attributes, body_of, decode_command, decode_event
from afterturn.schemas.commands import COMMAND_TYPES, Command
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import EVENT_TYPES

AT = datetime(2026, 1, 1, tzinfo=UTC)
TYPES = st.sampled_from([*COMMAND_TYPES, *EVENT_TYPES, "turn.started.v1"])
NAMES = st.sampled_from([*dict(Attributes("1", "s", "t", AT).headers()), "traceparent", "afterturn_original_rev"])
HEADERS = st.lists(st.tuples(NAMES | st.text(), st.binary(max_size=40)), max_size=8)
# Texts as json.loads makes them: lone surrogates, NUL and all.
TEXT = st.text(st.characters(), max_size=6)
NUMBERS = st.integers() | st.floats() | st.sampled_from([2**63, -(2**63) - 1, 10**300])
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)


def read(headers: Any, body: bytes | None) -> None:
    """Read a record in every way there is."""
    readers: tuple[Callable[[], object], ...] = (
        lambda: decode_command(headers, body, unknown="ignore"),
        lambda: decode_command(headers, body, unknown="forbid"),
        lambda: decode_event(headers, body),
    )
    for reader in readers:
        fault = fault_of(reader)
        assert fault is None or (len(fault.place) <= 256 and str(fault).isprintable())


def fault_of(reader: Callable[[], object]) -> ContractError | None:
    try:
        reader()
    except ContractError as fault:
        return fault
    return None


def good_headers(type_: str) -> Any:
    return Attributes("1", "shop", type_, AT).headers()


@given(HEADERS, st.none() | st.binary(max_size=80))
def test_any_bytes(headers: Any, body: bytes | None) -> None:
    read(headers, body)


@given(TYPES, HEADERS, st.binary(max_size=80))
def test_any_bytes_under_good_and_bad_headers(type_: str, headers: Any, body: bytes) -> None:
    read((*good_headers(type_), *headers), body)


@given(TYPES, VALUES)
def test_any_json(type_: str, value: Any) -> None:
    read(good_headers(type_), dumps(value))


@given(commands(), st.data())
def test_any_command_with_something_else_in_one_place(command: Command, data: st.DataObject) -> None:
    body = orjson.loads(body_of(command))
    place: Any = body
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[key], dict | list) or not place[key] or data.draw(st.booleans()):
            break
        place = place[key]
    place[key] = data.draw(VALUES)
    if isinstance(place, dict) and data.draw(st.booleans()):
        place[data.draw(TEXT)] = data.draw(VALUES)
    read(good_headers(command.TYPE), dumps(body))


@given(commands(), st.data())
def test_any_command_with_some_bytes_changed(command: Command, data: st.DataObject) -> None:
    body = bytearray(body_of(command))
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(body) - 1))
        body[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=3))
    read(good_headers(command.TYPE), bytes(body))


def dumps(value: Any) -> bytes:
    return json.dumps(value).encode()
