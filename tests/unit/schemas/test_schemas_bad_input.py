"""Bad input ends in a fault with its reason and its place, and none of the content; never in anything else."""

import json
import pickle
import time
from typing import Any

import pytest
from support.raw_records import TURN, accepted, headers, message, turn

from afterturn.schemas.codec import decode_command, decode_event
from afterturn.schemas.errors import ContractError

CANARY = "xyzzy plugh"
ORIGINAL = "afterturn_original_rev"


def refused(body: Any, *, unknown: Any = "ignore", type_: str = TURN, given: Any = None) -> ContractError:
    raw = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    with pytest.raises(ContractError) as found:
        decode_command(given or headers(type_), raw, unknown=unknown)
    return found.value


def fault_of(raw: bytes, given: Any) -> ContractError | None:
    """What a recorder finds wrong with a record, if anything; any other error is the test's failure."""
    try:
        decode_command(given, raw, unknown="ignore")
    except ContractError as fault:
        return fault
    return None


NO_RECORD_OF_OURS: list[tuple[str, Any, Any, str, str]] = [
    ("no body", headers(), None, "empty", ""),
    ("an empty body", headers(), b"", "empty", ""),
    ("not JSON", headers(), b"\xff\x00not-json", "not_json", ""),
    ("half a body", headers(), b'{"tenant":"t"', "not_json", ""),
    ("UTF-16", headers(), json.dumps(turn()).encode("utf-16"), "not_json", ""),
    ("two bodies", headers(), json.dumps(turn()).encode() * 2, "not_json", ""),
    ("null", headers(), b"null", "invalid", ""),
    ("a list", headers(), b"[]", "invalid", ""),
    ("a text", headers(), b'"\\ud83d"', "invalid", ""),
    ("no headers", [("none", b"")], b"{}", "headers", "ce_specversion"),
    ("no type", headers(ce_type=None), b"{}", "headers", "ce_type"),
    ("no id", headers(ce_id=b""), b"{}", "headers", "ce_id"),
    ("no source", headers(ce_source=None), b"{}", "headers", "ce_source"),
    ("an id of 257 characters", headers(ce_id=b"x" * 257), b"{}", "headers", "ce_id"),
    ("an id with a line break", headers(ce_id=b"a\nb"), b"{}", "headers", "ce_id"),
    ("an id that is not UTF-8", headers(ce_id=b"\xff"), b"{}", "headers", "ce_id"),
    ("another CloudEvents", headers(ce_specversion=b"0.3"), b"{}", "headers", "ce_specversion"),
    ("no time", headers(ce_time=b"yesterday"), b"{}", "headers", "ce_time"),
    ("year 0", headers(ce_time=b"0000-01-01T00:00:00Z"), b"{}", "headers", "ce_time"),
    ("year 0 by its offset", headers(ce_time=b"0001-01-01T00:00:00+05:00"), b"{}", "headers", "ce_time"),
    ("a rev of 5,000 digits", headers(**{ORIGINAL: b"9" * 5_000}), b"{}", "headers", ORIGINAL),
    ("a rev beyond all epochs", headers(**{ORIGINAL: b"9007199254740992"}), b"{}", "headers", ORIGINAL),
    ("an unknown type", headers("turn.started.v1"), b"{}", "unsupported", "ce_type"),
    ("an unknown version", headers("turn.completed.v2"), b"{}", "unsupported", "ce_type"),
    ("an event", headers("memory.recorded.v1"), b"{}", "unsupported", "ce_type"),
    ("3 MB", headers(), b" " * 3_000_000, "too_large", ""),
]  # fmt: skip


@pytest.mark.parametrize(
    ("given", "body", "reason", "place"),
    [case[1:] for case in NO_RECORD_OF_OURS],
    ids=[c[0] for c in NO_RECORD_OF_OURS],
)
def test_no_record_of_ours(given: Any, body: Any, reason: str, place: str) -> None:
    fault = refused(body, given=given)
    assert (fault.reason, fault.place) == (reason, place)


DEEP = "[" * 100 + "]" * 100
FIELDS: list[tuple[str, dict[str, Any], str]] = [
    ("no tenant", turn(tenant=...), "tenant"),
    ("an empty tenant", turn(tenant=""), "tenant"),
    ("no tenant but null", turn(tenant=None), "tenant"),
    ("an empty thread", turn(thread=""), "thread"),
    ("a thread of 257 characters", turn(thread="x" * 257), "thread"),
    ("a number of 400 digits as user", turn(scope={"user": 10**400}), "scope.user"),
    ("true as user", turn(scope={"user": True}), "scope.user"),
    ("a line break in a thread", turn(thread="a\nb"), "thread"),
    ("NUL in a thread", turn(thread="a\0b"), "thread"),
    ("half an emoji in a thread", turn(thread="a\ud83d"), "thread"),
    ("half an emoji in a tenant and NUL", turn(tenant="a\0\ud83d"), "tenant"),
    ("a control character beyond ASCII", turn(thread="ä\x85"), "thread"),
    ("an object as scope value", turn(scope={"user": {"$ne": ""}}), "scope.user"),
    ("no time", turn(occurred_at=...), "occurred_at"),
    ("a date", turn(occurred_at="2026-01-01"), "occurred_at"),
    ("a number as time", turn(occurred_at=1_700_000_000), "occurred_at"),
    ("year 0", turn(occurred_at="0000-01-01T00:00:00Z"), "occurred_at"),
    ("year 10000", turn(occurred_at="10000-01-01T00:00:00Z"), "occurred_at"),
    ("year 0 by its offset", turn(occurred_at="0001-01-01T00:00:00+00:01"), "occurred_at"),
    ("year 10000 by its offset", turn(occurred_at="9999-12-31T23:59:59-00:01"), "occurred_at"),
    ("30 February", turn(occurred_at="2026-02-30T00:00:00Z"), "occurred_at"),
    ("importance NaN", turn(messages=[message(importance=float("nan"))]), "messages.0.importance"),
    ("importance infinite", turn(messages=[message(importance=float("inf"))]), "messages.0.importance"),
    ("importance 7", turn(messages=[message(importance=7)]), "messages.0.importance"),
    ("importance -1", turn(messages=[message(importance=-1)]), "messages.0.importance"),
    ("importance true", turn(messages=[message(importance=True)]), "messages.0.importance"),
    ("importance as text", turn(messages=[message(importance=".5")]), "messages.0.importance"),
    ("an unknown role", turn(messages=[message(), message(role="robot")]), "messages.1.role"),
    ("content null", turn(messages=[message(content=None)]), "messages.0.content"),
    ("content as a list", turn(messages=[message(content=["x"])]), "messages.0.content"),
    ("messages as a text", turn(messages="hello"), "messages"),
    ("257 messages", turn(messages=[message()] * 257), "messages"),
    ("65 tags", turn(tags=["x"] * 65), "tags"),
    ("a tag of 129 characters", turn(tags=["x" * 129]), "tags.0"),
    ("an empty tag", turn(tags=["\0"]), "tags.0"),
    ("data 9 levels deep", turn(data={"a": json.loads("[" * 8 + "]" * 8)}), "data"),
    ("data 100 levels deep", turn(data={"a": json.loads(DEEP)}), "data"),
    ("data of 17 KB", turn(data={"a": "x" * 17_000}), "data"),
    ("data with 2^63", turn(data={"a": 2**63}), "data"),
    ("data with 70 bits", turn(data={"a": [{"b": 2**70}]}), "data"),
    ("data with NaN", turn(data={"a": float("nan")}), "data"),
    ("data with infinity", turn(data={"a": [float("-inf")]}), "data"),
    ("data as a list", turn(data=[]), "data"),
    ("a duration of 70 bits", turn(run={"id": "r", "outcome": "ok", "duration_ms": 2**70}), "run.duration_ms"),
    ("a negative duration", turn(run={"id": "r", "outcome": "ok", "duration_ms": -1}), "run.duration_ms"),
    ("a duration of 1.5", turn(run={"id": "r", "outcome": "ok", "duration_ms": 1.5}), "run.duration_ms"),
]


@pytest.mark.parametrize(("body", "place"), [case[1:] for case in FIELDS], ids=[case[0] for case in FIELDS])
@pytest.mark.parametrize("unknown", ["forbid", "ignore"])
def test_a_bad_field_is_named(body: dict[str, Any], place: str, unknown: str) -> None:
    fault = refused(body, unknown=unknown)
    assert (fault.reason, fault.place) == ("invalid", place)


SOURCE = {"type": "user", "id": "u"}
FORGET = {"tenant": "t", "reason": "r"}
ID = "00000000-0000-4000-8000-000000000000"
OTHERS: list[tuple[str, str, dict[str, Any], str]] = [
    ("a blank fact", "memory.remember.v1", {"tenant": "t", "content": "\u200b ", "source": SOURCE}, ""),
    ("forget nothing named", "memory.forget.v1", FORGET, ""),
    ("forget both ways", "memory.forget.v1", {**FORGET, "ids": [ID], "filter": {"threads": ["h"]}}, ""),
    ("forget by an empty filter", "memory.forget.v1", {**FORGET, "filter": {}}, ""),
    ("forget by an empty scope", "memory.forget.v1", {**FORGET, "filter": {"scope": {}}}, ""),
    ("forget by an empty list", "memory.forget.v1", {**FORGET, "filter": {"threads": []}}, "filter"),
    ("an upper-case id", "memory.pin.v1", {"tenant": "t", "ids": [ID.replace("0", "A")]}, "ids.0"),
    ("pin nothing", "memory.pin.v1", {"tenant": "t", "ids": []}, "ids"),
    ("erase another name", "tenant.erase.v1", {"tenant": "t", "confirm": "T", "reason": "r"}, ""),
    ("an unknown kind's time to live", "tenant.configure.v1", {"tenant": "t", "ttl_s": {CANARY: 1}}, "ttl_s.?.[key]"),
    ("a word as kind", "tenant.configure.v1", {"tenant": "t", "ttl_s": {"xyzzy": 1}}, "ttl_s.?.[key]"),
    ("3,000 years to live", "tenant.configure.v1", {"tenant": "t", "ttl_s": {"episodic": 10**11}}, "ttl_s.episodic"),
    ("a negative partition", "log.collect.v1", {"partition": -1, "below": 0}, "partition"),
]  # fmt: skip


@pytest.mark.parametrize(("type_", "body", "place"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_a_bad_command_is_refused(type_: str, body: dict[str, Any], place: str) -> None:
    fault = refused(body, type_=type_)
    assert (fault.reason, fault.place) == ("invalid", place)


def summary_of(content: str) -> dict[str, Any]:
    data = {"source_count": 1, "derived_from": [ID]}
    summary = {"kind": "reflection", "content": content, "confidence": 1, "importance": 1, "level": 1, "data": data}
    sources = [{"id": ID, "rev": 1}]
    fixed = {"policy": "p", "group": "g", "min_sources": 1, "source_ttl_s": 0, "based_on": 1}
    return {"tenant": "t", "summary": summary, "sources": sources, **fixed}


def test_a_blank_summary_is_refused() -> None:
    assert accepted(summary_of("They moved."), type_="memory.consolidate.v1")
    assert refused(summary_of(" \ufeff"), type_="memory.consolidate.v1").place == "summary"


def test_a_users_own_names_for_fields_are_not_repeated_where_they_may_be_content() -> None:
    for name, place in (("added_later", "added_later"), (CANARY, "?"), ("x" * 65, "?"), ("a\nb", "?"), ("ä", "?")):
        fault = refused(turn(**{name: 1}), unknown="forbid")
        assert (fault.reason, fault.place, fault.problem) == ("invalid", place, "unknown field")


ODD_TURNS = [turn(**{field: value}) for field in turn() for value in (CANARY, [CANARY], {CANARY: CANARY}, 1.5, True)]
ODD_MESSAGES = [
    turn(messages=[message(**{field: value})])
    for field in ("role", "author", "tags", "data")
    for value in (CANARY, [CANARY], {"a": CANARY * 2_000}, 7)
]


@pytest.mark.parametrize(
    ("body", "type_"),
    [*((body, TURN) for body in ODD_TURNS + ODD_MESSAGES), *((body, type_) for _, type_, body, _ in OTHERS)],
)
def test_no_fault_repeats_what_was_sent(body: dict[str, Any], type_: str) -> None:
    fault = fault_of(json.dumps(body).encode(), headers(type_))
    if fault is not None:
        assert CANARY not in " ".join((str(fault), repr(fault), fault.place, fault.problem))
        assert fault.__cause__ is None
        assert fault.__context__ is None or fault.__suppress_context__


NESTED = [b"[" * 100_000, b"[" * 100_000 + b"]" * 100_000, b'{"a":' * 100_000 + b"1" + b"}" * 100_000]


@pytest.mark.parametrize(
    "bomb", [*NESTED, b"9" * 100_000, b"1e" + b"9" * 1_000, b"-", b'"' + b"\\ud83d" * 50_000 + b'"']
)
@pytest.mark.parametrize("where", ["body", "data", "tenant", "content", "unknown"])
def test_bombs_are_refused_or_taken(bomb: bytes, where: str) -> None:
    body = json.dumps(turn(content="?", unknown="?", data={"a": "?"})).encode()
    marked = {"tenant": body.replace(b'"t"', bomb, 1), "data": body.replace(b'{"a": "?"}', b'{"a":' + bomb + b"}")}
    raw = marked.get(
        where, bomb if where == "body" else body.replace(b'"x"' if where == "content" else b'"?"', bomb, 1)
    )
    fault = fault_of(raw, headers())
    assert fault is None or (fault.reason in {"not_json", "invalid"} and len(str(fault)) < 400)


def test_many_faults_cost_little_more_than_one() -> None:
    before = time.process_time()
    assert refused(turn(tags=[1] * 600_000)).place == "tags.0"
    assert refused(turn(messages=[message(tags=[1] * 3_000)] * 200)).place == "messages.0.tags.0"
    assert time.process_time() - before < 2


@pytest.mark.parametrize("body", [None, b"", b"null", b"[]", b'"x"', b"\xff", b'{"a":"\\ud83d"}', b"[" * 100_000])
def test_subscribers_meet_only_contract_errors(body: bytes | None) -> None:
    for type_ in ("memory.recorded.v1", "memory.dreamt.v1"):
        with pytest.raises(ContractError) as found:
            decode_event(headers(type_), body)
        assert found.value.reason in {"not_json", "invalid"}


def test_a_fault_survives_a_process_boundary() -> None:
    fault = refused(turn(thread=""))
    copied = pickle.loads(pickle.dumps(fault))
    assert (copied.reason, copied.place, copied.problem, str(copied)) == (
        fault.reason,
        fault.place,
        fault.problem,
        str(fault),
    )
