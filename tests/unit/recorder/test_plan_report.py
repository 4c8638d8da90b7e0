"""What was decided can be told again from the store alone, once for each command, and tells nothing of its content."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fold_checks import event_fields
from support.turn_logs import PARTITION, SETTINGS, TENANTS, Mix, draw_log, others, record, turn
from support.whole_log import fold_log

from afterturn.consumers.recorder.announcing import Announcer, Finished
from afterturn.consumers.recorder.decoding import Rejected, decode
from afterturn.consumers.recorder.fold.plan import Decision, report
from afterturn.schemas.codec import decode_event
from afterturn.schemas.events import Skipped, UnknownEvent
from afterturn.schemas.ids import event_id
from afterturn.streams.kafka import MAX_REQUEST_BYTES, estimated_size
from afterturn.streams.records import OutRecord, Record
from afterturn.streams.topics import TopicNames

RANDOMS = st.randoms(use_true_random=False)
THOROUGH = settings(
    max_examples=40, deadline=None, suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large)
)
TOPICS = TopicNames()
ANNOUNCER = Announcer(TOPICS, SETTINGS)
NO_REPLAYS = Mix(replayed=0, collects=0, erases=0)
"""Without what takes a receipt or its digest away. Whatever stands before such a command is committed before it."""
UNSUPPORTED: tuple[dict[str, Any], ...] = ({"collection": "people"}, {"mode": "ask"})
CANARY = "CANARY"


def told(decision: Decision) -> object:
    return decision.outcome, decision.fault and (decision.fault.reason, decision.fault.place), event_fields(decision)


@given(RANDOMS, st.sets(st.integers(10, 30), max_size=4))
@THOROUGH
def test_below_the_checkpoint_the_same_is_reported(rng: Random, dead: set[int]) -> None:
    batch = [decode(r, SETTINGS) for r in draw_log(rng, 20, NO_REPLAYS)]
    planned = fold_log(batch, SETTINGS, dead=frozenset(dead))
    reported, decided = report(planned.points, batch), planned.decisions
    # What was given up at run time is committed before it is folded: it is never below the checkpoint and untold.
    untold = [n for n, item in enumerate(batch) if item.record.offset not in dead]
    assert [told(reported[n]) for n in untold] == [told(decided[n]) for n in untold]


def test_a_command_below_the_checkpoint_whose_receipt_was_collected_is_a_duplicate() -> None:
    (decision,) = report({}, [decode(record(10, turn()), SETTINGS)])
    assert decision.outcome is not None
    assert decision.outcome.reason == "duplicate"


@given(RANDOMS)
@THOROUGH
def test_reporting_what_was_announced_announces_the_same_again(rng: Random) -> None:
    batch = [decode(r, SETTINGS) for r in draw_log(rng, 15, NO_REPLAYS)]
    planned = fold_log(batch, SETTINGS)
    first = ANNOUNCER.announce(batch, Finished(tuple(planned.decisions), planned.points), {})
    assert ANNOUNCER.announce(batch, Finished(report(planned.points, batch)), {}) == first


@given(RANDOMS)
@THOROUGH
def test_consumed_is_applied_duplicate_skipped_and_dead_lettered(rng: Random) -> None:
    log = draw_log(rng, 20)
    batch = [decode(r, SETTINGS) for r in log]
    applied = ANNOUNCER.announce(batch, Finished(tuple(fold_log(batch, SETTINGS).decisions)), {})
    assert sum(applied.endings.values()) == len(log)
    assert applied.endings.keys() <= {"applied", "duplicate", "skipped", "dead_lettered"}
    letters = [offset for offset, out in applied.outgoing if out.topic == TOPICS.dead_letter]
    assert applied.endings.get("dead_lettered", 0) == len(letters) == len(set(letters))
    assert applied.next == log[-1].offset + 1


@given(RANDOMS)
@THOROUGH
def test_every_command_that_can_be_read_has_one_event_with_an_id_of_its_own(rng: Random) -> None:
    log = draw_log(rng, 20)
    batch = [decode(r, SETTINGS) for r in log]
    applied = ANNOUNCER.announce(batch, Finished(tuple(fold_log(batch, SETTINGS).decisions)), {})
    events = [(offset, out) for offset, out in applied.outgoing if out.topic == TOPICS.memory_events]
    commands = [i if not isinstance(i, Rejected) else i.arrival for i in batch]
    readable = [c.record.offset for c in commands if c and c.tenant]
    assert [offset for offset, _ in events] == readable
    assert len({dict(out.headers)["ce_id"] for _, out in events}) == len(readable)
    by_offset = {c.record.offset: c for c in commands if c}
    for offset, out in events:
        ce_id = event_id(by_offset[offset].attributes.id, SETTINGS.epoch, PARTITION, offset)
        assert dict(out.headers)["ce_id"] == ce_id.encode()
        attributes, event = decode_event(out.headers, out.value)
        assert not isinstance(event, UnknownEvent)
        assert out.key == event.tenant.encode()
        assert attributes.type == event.TYPE


def full_of_canaries(offset: int) -> list[Record]:
    """Records that say CANARY wherever a publisher may say something that is no name."""
    content = CANARY + " " + "x" * 700
    message: dict[str, Any] = {"role": "user", "content": content, "tags": [CANARY], "data": {CANARY: CANARY}}
    bodies: list[dict[str, Any]] = [
        turn(messages=[message, {**message, "author": f"{CANARY}-author"}], tags=[CANARY], data={CANARY: CANARY}),
        turn(messages=[{**message, "importance": CANARY}]),
        turn(messages=[{**message, "role": CANARY}]),
        turn(messages=[{**message, "content": {CANARY: 1}}]),
        turn(messages=CANARY),
        turn(occurred_at=CANARY),
        turn(occurred_at=f"2026-01-01T00:00:00Z {CANARY}"),
        turn(scope={CANARY: CANARY, "user": [CANARY]}),
        turn(tags=[CANARY * 40]),
        turn(data={CANARY: 2**70}),
        turn(data={CANARY: float("nan")}),
        turn(run={"id": "r", "outcome": CANARY, "duration_ms": 1, "tools": [CANARY]}),
        turn(run={"id": "r", "outcome": "ok", "duration_ms": CANARY}),
        turn(replaces={CANARY: CANARY}),
    ]
    kinds = ["turn.completed.v1"] * len(bodies) + [kind for kind, _ in others(TENANTS[0])]
    wrong = {"data": {CANARY: 2**70}, "content": [CANARY], "ids": [CANARY], "reason": {CANARY: CANARY}}
    bodies += [body | wrong for _, body in others(TENANTS[0])]
    made = [record(offset + n, body, kind=kind) for n, (kind, body) in enumerate(zip(kinds, bodies, strict=True))]
    raw = record(offset + len(made), f'{{"tenant": "{TENANTS[0]}", "{CANARY}": {CANARY}'.encode(), key=TENANTS[0])
    return [*made, raw]


def added(out: OutRecord, source: Record) -> object:
    """What the recorder says in a record: all of an event, and of a dead letter the headers it added."""
    if out.topic == TOPICS.memory_events:
        return out.key, out.value, out.headers
    assert (out.key, out.value) == (source.key, source.value)
    assert out.headers[: len(source.headers)] == source.headers
    return out.headers[len(source.headers) :]


def test_nothing_of_a_content_gets_into_events_or_headers() -> None:
    log = full_of_canaries(10)
    batch = [decode(r, SETTINGS) for r in log]
    planned = fold_log(batch, SETTINGS)
    applied = ANNOUNCER.announce(batch, Finished(tuple(planned.decisions), planned.points), {})
    sources = {r.offset: r for r in log}
    assert Counter(out.topic for _, out in applied.outgoing)[TOPICS.dead_letter] >= 15
    for offset, out in applied.outgoing:
        assert CANARY not in str(added(out, sources[offset])), f"offset {offset}"


def test_a_dead_letter_says_why_and_where_it_stood() -> None:
    source = record(17, turn(thread=""))
    item = decode(source, SETTINGS)
    (_, letter), *rest = ANNOUNCER.announce([item], Finished(tuple(fold_log([item], SETTINGS).decisions)), {}).outgoing
    assert not rest
    said = {name: value.decode() for name, value in letter.headers[len(source.headers) :]}
    assert said["afterturn_reason"] == "invalid"
    assert said["afterturn_place"] == "thread"
    assert (said["afterturn_topic"], said["afterturn_partition"], said["afterturn_offset"]) == (source.topic, "0", "17")
    assert said["afterturn_problem"]


@pytest.mark.parametrize(("size", "kept"), [(2_300_000, True), (20_000_000, False)])
def test_a_dead_letter_is_never_too_large_for_its_topic(size: int, kept: bool) -> None:
    """A record may be packed on its way in; unpacked it has any size."""
    source = replace(record(17, turn()), value=b"x" * size)
    item = decode(source, SETTINGS)
    (_, letter), *_ = ANNOUNCER.announce([item], Finished(tuple(fold_log([item], SETTINGS).decisions)), {}).outgoing
    assert estimated_size(letter) <= MAX_REQUEST_BYTES
    said = dict(letter.headers)
    assert (letter.value == source.value) == kept
    assert ("afterturn_left_out" in said) != kept
    assert kept or said["afterturn_value_bytes"] == b"20000000"
    assert said["afterturn_reason"] == b"too_large"


@pytest.mark.parametrize("wanted", UNSUPPORTED)
def test_what_only_a_later_version_applies_is_visibly_unsupported(wanted: dict[str, Any]) -> None:
    body = {"tenant": TENANTS[0], "content": "fact", "source": {"type": "user", "id": "1"}, **wanted}
    item = decode(record(10, body, kind="memory.remember.v1"), SETTINGS)
    planned = fold_log([item], SETTINGS)
    applied = ANNOUNCER.announce([item], Finished(tuple(planned.decisions)), {})
    assert applied.endings == {"dead_lettered": 1}
    assert ANNOUNCER.announce([item], Finished(report(planned.points, [item])), {}) == applied
    published = [out for _, out in applied.outgoing if out.topic == TOPICS.memory_events]
    events = [decode_event(out.headers, out.value)[1] for out in published]
    (event,) = events
    assert isinstance(event, Skipped)
    assert event.reason == "dead_letter"


def test_an_event_holds_no_field_of_a_memory() -> None:
    log = full_of_canaries(10)[:1]
    batch = [decode(r, SETTINGS) for r in log]
    (_, out), *_ = ANNOUNCER.announce(batch, Finished(tuple(fold_log(batch, SETTINGS).decisions)), {}).outgoing
    body = json.loads(out.value or b"")
    assert body.keys() == {
        "tenant", "command", "thread", "turn_id", "at", "ms",
        "added", "evicted", "superseded", "parts", "unembedded", "usage",
    }  # fmt: skip
