"""Bad input at the recorder: each is recorded, skipped with its event, or a dead letter that names reason and place."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.naive_model import naive_fold
from support.turn_logs import PARTITION, SETTINGS, STRANGER, TENANTS, record, turn
from support.whole_log import fold_log

from afterturn.consumers.recorder.announcing import Announcer, Finished, ending_of, last_of
from afterturn.consumers.recorder.decoding import decode
from afterturn.consumers.recorder.fold.plan import Decision, plan
from afterturn.consumers.recorder.fold.view import Snapshot
from afterturn.schemas.ids import checkpoint_id, tenant_id
from afterturn.schemas.points import Checkpoint, Memory, Receipt, ThreadState
from afterturn.schemas.settings import Bounds, Recording
from afterturn.streams.records import Record
from afterturn.streams.topics import TopicNames

TENANT = TENANTS[0]
TOPICS = TopicNames()
NEXT = record(11, turn(turn_id="next", thread="another", messages=[{"role": "user", "content": "the next record"}]))


@dataclass(frozen=True)
class Result:
    """What became of one bad record that is followed by a good one."""

    decision: Decision
    memories: list[Memory]
    receipts: list[Receipt]
    headers: dict[str, str]
    naive: Any


def outcome_of(bad: Record, settings: Any = SETTINGS) -> Result:
    """Fold a bad record and a good one; the good one must go on whatever the bad one is."""
    batch = [decode(r, settings) for r in (bad, NEXT)]
    planned = plan(Snapshot(), batch, settings)
    assert ending_of(planned.decisions[1]) == "applied", "the next record goes on"
    announced = Announcer(TOPICS, settings).announce(batch, Finished(planned.decisions, planned.points), {})
    letters = [out for offset, out in announced.outgoing if out.topic == TOPICS.dead_letter]
    others = [p for p in planned.points.values() if p.rev == batch[0].rev]
    return Result(
        planned.decisions[0],
        [p for p in others if isinstance(p, Memory)],
        [p for p in others if isinstance(p, Receipt)],
        {name: value.decode() for name, value in letters[0].headers[len(bad.headers) :]} if letters else {},
        naive_fold([bad, NEXT], settings).ended[0],
    )


def told(*messages: Any, **fields: Any) -> Record:
    return record(10, turn(messages=list(messages), **fields))


def raw(text: str) -> Record:
    """A body as it stands in a string: what ``json.dumps`` would not write."""
    return record(10, text.encode("utf-8", "surrogatepass"), key=TENANT)


def hello(**fields: Any) -> dict[str, Any]:
    return {"role": "user", "content": "Good morning.", **fields}


def without(name: str) -> Record:
    return record(10, {k: v for k, v in turn().items() if k != name}, key=TENANT)


def headed(name: str, value: bytes | None) -> Record:
    good = record(10, turn())
    others = tuple(pair for pair in good.headers if pair[0] != name)
    return replace(good, headers=others if value is None else (*others, (name, value)))


BODY = json.dumps(turn())
UNREADABLE = {
    "not JSON": (record(10, b"\xff\x00not-json", key=TENANT), "not_json", ""),
    "half a body": (record(10, BODY.encode()[:-3], key=TENANT), "not_json", ""),
    "no body": (replace(record(10, turn()), value=None), "empty", ""),
    "an empty body": (replace(record(10, turn()), value=b""), "empty", ""),
    "a list": (record(10, b"[1, 2]", key=TENANT), "invalid", ""),
    "nested without end": (record(10, b'{"tenant":' + b"[" * 100_000, key=TENANT), "not_json", ""),
    "an unknown type": (record(10, turn(), kind="turn.started.v1"), "unsupported", "ce_type"),
    "a wrong version": (record(10, turn(), kind="turn.completed.v2"), "unsupported", "ce_type"),
    "no type": (headed("ce_type", None), "headers", "ce_type"),
    "no id": (headed("ce_id", None), "headers", "ce_id"),
    "an id of 300 characters": (headed("ce_id", b"x" * 300), "headers", "ce_id"),
    "an id with a line break": (headed("ce_id", b"a\nb"), "headers", "ce_id"),
    "another version of CloudEvents": (headed("ce_specversion", b"0.3"), "headers", "ce_specversion"),
    "a time that is none": (headed("ce_time", b"yesterday"), "headers", "ce_time"),
    "headers that are not UTF-8": (headed("ce_source", b"\xff\xfe"), "headers", "ce_source"),
    "no headers at all": (replace(record(10, turn()), headers=()), "headers", "ce_specversion"),
    "no tenant": (without("tenant"), "invalid", "tenant"),
    "an empty tenant": (record(10, turn(""), key=TENANT), "invalid", "tenant"),
    "an empty thread": (told(hello(), thread=""), "invalid", "thread"),
    "a thread of 257 characters": (told(hello(), thread="x" * 257), "invalid", "thread"),
    "a thread with a line break": (told(hello(), thread="a\nb"), "invalid", "thread"),
    "a thread that is true": (told(hello(), thread=True), "invalid", "thread"),
    "no turn_id": (without("turn_id"), "invalid", "turn_id"),
    "an empty user": (told(hello(), scope={"user": ""}), "invalid", "scope.user"),
    "no time": (without("occurred_at"), "invalid", "occurred_at"),
    "a time in year 0": (told(hello(), occurred_at="0000-01-01T00:00:00Z"), "invalid", "occurred_at"),
    "a time in year 10,000": (told(hello(), occurred_at="10000-01-01T00:00:00Z"), "invalid", "occurred_at"),
    "a time before year 1 in UTC": (told(hello(), occurred_at="0001-01-01T00:00:00+05:00"), "invalid", "occurred_at"),
    "a time as a number": (told(hello(), occurred_at=1_700_000_000), "invalid", "occurred_at"),
    "no messages": (without("messages"), "invalid", "messages"),
    "257 messages": (told(*[hello()] * 257), "invalid", "messages"),
    "an unknown role": (told(hello(role="robot")), "invalid", "messages.0.role"),
    "an importance of NaN": (told(hello(), hello(importance=float("nan"))), "invalid", "messages.1.importance"),
    "an importance of 7": (told(hello(importance=7)), "invalid", "messages.0.importance"),
    "an importance below 0": (told(hello(importance=-0.1)), "invalid", "messages.0.importance"),
    "a content that is null": (told(hello(content=None)), "invalid", "messages.0.content"),
    "tags that are null": (told(hello(), tags=None), "invalid", "tags"),
    "65 tags": (told(hello(), tags=["a"] * 65), "invalid", "tags"),
    "an integer beyond 64 bits": (told(hello(), data={"n": 2**64}), "invalid", "data"),
    "data of 17 KiB": (told(hello(), data={"n": "x" * 17_000}), "invalid", "data"),
    "data nine levels deep": (told(hello(), data={"a": [[[[[[[[1]]]]]]]]}), "invalid", "data"),
    "3 MB": (told(hello(content="word " * 600_000)), "too_large", ""),
}


@pytest.mark.parametrize(("bad", "reason", "place"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_what_cannot_be_read_is_a_dead_letter_and_writes_nothing(bad: Record, reason: str, place: str) -> None:
    result = outcome_of(bad)
    assert (result.headers["afterturn_reason"], result.headers["afterturn_place"]) == (reason, place)
    assert result.headers["afterturn_offset"] == "10"
    assert not result.memories
    assert not result.receipts
    assert result.decision.outcome is None
    assert result.naive.ending == "dead_lettered"
    assert result.naive.reason in (reason, "not_json" if reason == "invalid" else reason)


MISROUTED = {
    "a key that is not its tenant": record(10, turn(), key=TENANTS[1]),
    "no key": replace(record(10, turn()), key=None),
    "a key in another normal form": record(10, turn(TENANTS[1]), key="be\u0301a" + TENANTS[1][3:]),
    "a wrong partition": record(10, turn(STRANGER)),
}


@pytest.mark.parametrize("bad", MISROUTED.values(), ids=MISROUTED.keys())
def test_a_command_in_the_wrong_place_is_a_dead_letter_with_an_event(bad: Record) -> None:
    result = outcome_of(bad)
    assert result.headers["afterturn_reason"] == "misrouted"
    assert result.decision.outcome is not None
    assert result.decision.outcome.reason == "dead_letter"
    assert not result.memories
    assert not result.receipts
    assert (result.naive.ending, result.naive.reason) == ("dead_lettered", "misrouted")


BLANK = {
    "no message": (),
    "an empty content": (hello(content=""),),
    "spaces": (hello(content="   "),),
    "characters that don't show": (hello(content="\u200b\u00ad\ufeff\u3164\u2800"),),
    "NUL alone": (hello(content="\x00"),),
    "only roles that are not recorded": (hello(role="system"), hello(role="tool")),
}


@pytest.mark.parametrize("messages", BLANK.values(), ids=BLANK.keys())
def test_a_turn_that_says_nothing_is_skipped_as_blank(messages: tuple[dict[str, Any], ...]) -> None:
    result = outcome_of(told(*messages))
    assert result.decision.outcome is not None
    assert (ending_of(result.decision), result.decision.outcome.reason) == ("skipped", "blank")
    (receipt,) = result.receipts
    assert receipt.outcome == result.decision.outcome
    assert not result.memories
    assert not result.headers


RECORDED = {
    "an unknown field": (told(hello(unknown=1), unknown={"deep": 1}, scope={"planet": "x"}), "Good morning."),
    "half an emoji": (told(hello(content="hi \ud83d")), "hi \ufffd"),
    "half an emoji as bytes": (raw(BODY.replace("Good morning.", "hi \ud83d")), None),
    "an emoji in two halves": (told(hello(content="\ud83d\udc4b")), "\U0001f44b"),
    "an emoji": (told(hello(content="Hello \U0001f44b\U0001f525")), "Hello \U0001f44b\U0001f525"),
    "NUL": (told(hello(content="a\x00b")), "ab"),
    "an integer as a thread": (told(hello(), thread=5), "Good morning."),
    "a null importance": (told(hello(importance=None)), "Good morning."),
    "a naive time": (told(hello(), occurred_at="2025-01-01T00:00:00"), "Good morning."),
    "a header without a value": (record(10, turn(), extra=[("x", b"")]), "Good morning."),
    "a traceparent that is not UTF-8": (record(10, turn(), extra=[("traceparent", b"\xff")]), "Good morning."),
    "two threads in one body": (raw(BODY[:-1] + ', "thread": "second"}'), "Good morning."),
}


@pytest.mark.parametrize(("odd", "content"), RECORDED.values(), ids=RECORDED.keys())
def test_what_can_be_mended_is_recorded(odd: Record, content: str | None) -> None:
    result = outcome_of(odd)
    assert ending_of(result.decision) == "applied"
    (memory,) = result.memories
    assert content is None or memory.content == content
    (memory.content or "").encode()
    if content is not None:
        assert result.naive.ending == "applied"


def test_two_megabytes_in_one_message_are_kept_whole() -> None:
    text = "A sentence about nothing in particular. " * 49_500
    settings = SETTINGS.model_copy(update={"recording": Recording(), "bounds": Bounds(max_memories=10_000)})
    memories = outcome_of(told(hello(content=text)), settings).memories
    assert "".join(m.content or "" for m in sorted(memories, key=lambda m: m.ordinal)) == text
    assert {m.position for m in memories} == {0}
    assert len(memories) > 400
    assert all(len(m.content or "") <= 4_000 for m in memories)


def test_the_same_turn_again_is_a_duplicate_and_with_other_content_a_conflict() -> None:
    log = [record(10, turn()), record(11, turn()), record(12, turn(messages=[hello(content="other")]))]
    planned = plan(Snapshot(), [decode(r, SETTINGS) for r in log], SETTINGS)
    reasons = [d.outcome.reason for d in planned.decisions if d.outcome]
    assert reasons == [None, "duplicate", "conflict"]
    assert [ending_of(d) for d in planned.decisions] == ["applied", "duplicate", "skipped"]
    assert {p.rev for p in planned.points.values()} == {10}


def test_only_the_own_replay_takes_the_key_of_a_dead_letter_back() -> None:
    header = [("afterturn_original_rev", b"10")]
    log = [record(10, turn()), record(11, turn()), record(12, turn(), extra=header), record(13, turn(), extra=header)]
    batch = [decode(r, SETTINGS) for r in log]
    planned = plan(Snapshot(), batch, SETTINGS, frozenset({10}))
    assert [ending_of(d) for d in planned.decisions] == ["dead_lettered", "duplicate", "applied", "duplicate"]
    (memory,) = [p for p in planned.points.values() if isinstance(p, Memory)]
    assert (memory.born, memory.rev) == (12, 12)


def test_what_was_erased_does_not_come_back_by_a_dead_letter_of_a_dead_letter() -> None:
    """A replay that came too late already, and was given up at run time, is no way around the erasure."""
    first, second = [[("afterturn_original_rev", rev)] for rev in (b"10", b"12")]
    erase = {"tenant": TENANTS[0], "confirm": TENANTS[0], "reason": "r"}
    log = [
        record(10, turn()),
        record(11, erase, kind="tenant.erase.v1"),
        record(12, turn(), extra=first),
        record(13, turn(), extra=second),
    ]
    whole = fold_log([decode(r, SETTINGS) for r in log], SETTINGS, dead=frozenset({10, 12}))
    assert [ending_of(d) for d in whole.decisions] == ["dead_lettered", "applied", "dead_lettered", "duplicate"]
    assert not [p for p in whole.points.values() if isinstance(p, Memory)]


@pytest.mark.parametrize(("field", "value"), [("collection", "people"), ("mode", "ask")])
def test_a_fact_of_a_later_version_is_visibly_unsupported(field: str, value: str) -> None:
    fact = {"tenant": TENANTS[0], "content": "c", "source": {"type": "user", "id": "1"}, field: value}
    result = outcome_of(record(10, fact, kind="memory.remember.v1"))
    assert (result.headers["afterturn_reason"], result.headers["afterturn_place"]) == ("unsupported", field)
    assert [receipt.dead for receipt in result.receipts] == [True]


def test_a_command_that_names_the_checkpoint_or_a_state_changes_nothing_of_them() -> None:
    ids = [checkpoint_id(PARTITION), tenant_id(TENANTS[0])]
    log = [record(10, turn()), record(11, {"tenant": TENANTS[0], "ids": ids, "reason": "r"}, kind="memory.forget.v1")]
    whole = fold_log([decode(r, SETTINGS) for r in log], SETTINGS)
    outcome = whole.decisions[1].outcome
    assert outcome is not None
    assert outcome.counts == {"forgotten": 0, "derived": 0, "unknown": 2}


@pytest.mark.parametrize("timestamp_ms", [-1, 2**62])
def test_a_time_no_broker_gives_stops_nothing(timestamp_ms: int) -> None:
    odd = replace(record(10, turn()), timestamp_ms=timestamp_ms)
    assert ending_of(outcome_of(odd).decision) == "applied"
    key, time = last_of(odd)
    assert Checkpoint(partition=PARTITION, next=11, key=key, time=time).time == max(timestamp_ms, 0)


def test_a_time_beyond_the_calendar_is_no_expiry() -> None:
    body = {"tenant": TENANTS[0], "ttl_s": {"episodic": 60}}
    late = replace(record(11, turn()), timestamp_ms=2**62)
    whole = fold_log([decode(r, SETTINGS) for r in (record(10, body, kind="tenant.configure.v1"), late)], SETTINGS)
    assert [p.expires_at for p in whole.points.values() if isinstance(p, Memory)] == [None]


def test_positions_count_what_is_recorded_and_parts_share_theirs() -> None:
    long = hello(content="word " * 300)
    messages = (hello(content=" "), hello(), hello(role="system"), long, hello(role="assistant"))
    batch = [decode(told(*messages), SETTINGS)]
    points = plan(Snapshot(), batch, SETTINGS.model_copy(update={"bounds": Bounds(max_memories=99)})).points
    memories = sorted((p for p in points.values() if isinstance(p, Memory)), key=lambda m: m.ordinal)
    assert [(m.ordinal, m.position, m.part, m.parts) for m in memories] == [
        (0, 0, 0, 1), (1, 1, 0, 3), (2, 1, 1, 3), (3, 1, 2, 3), (4, 2, 0, 1),
    ]  # fmt: skip
    assert [p.next_position for p in points.values() if isinstance(p, ThreadState)] == [3]
