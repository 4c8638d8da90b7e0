"""What commands say of what they have seen: numbers, events, answers. Pure."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.consumers.cli.asking import footer, parts_of
from afterturn.consumers.cli.publishing import Published, as_dict, from_line
from afterturn.consumers.cli.watching import in_time, line
from afterturn.consumers.cli.wording import counted, printable
from afterturn.consumers.diagnosis import lag_of
from afterturn.schemas.codec import Attributes
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import Erased, FoundBy, MemoryEvent, Recalled, Recorded, Skipped
from afterturn.schemas.query import Answer, RecalledMemory, ScoreParts
from afterturn.schemas.token import Token
from afterturn.streams.errors import BrokerUnavailable
from afterturn.streams.subscriber import Received

NOON = datetime(2026, 5, 8, 12, tzinfo=UTC)
RECEIPT = "00000000-0000-0000-0000-000000000000"


def received(event: MemoryEvent, partition: int = 0, offset: int = 0, after: float = 0.0) -> Received:
    attributes = Attributes(str(offset), "test", event.TYPE, NOON)
    return Received(event, attributes, partition, offset, NOON + timedelta(seconds=after))


@pytest.mark.parametrize(
    ("count", "noun", "said"),
    [(0, "turn", "0 turns"), (1, "turn", "1 turn"), (1973, "token", "1,973 tokens"), (1, "memory", "1 memory"),
     (2, "memory", "2 memories")],
)  # fmt: skip
def test_numbers_agree_with_what_they_count(count: int, noun: str, said: str) -> None:
    assert counted(count, noun) == said


def test_one_record_waits_in_one_partition() -> None:
    assert lag_of({0: 1}, {0: 0}, {0: 0}).said == "1 record waiting in 1 partition"


@pytest.mark.parametrize(
    ("event", "said"),
    [
        (Recorded(tenant="ada", thread="t", turn_id="7", at=NOON, ms=3, added=2), "t/7 added 2, 3 ms"),
        (Recorded(tenant="ada", at=NOON, evicted=1, unembedded=4), "added 0, evicted 1, unembedded 4, 0 ms"),
        (
            Skipped(tenant="ada", thread="t", turn_id="7", at=NOON, operation="memory.record", reason="duplicate"),
            "t/7 memory.record: duplicate",
        ),
        (Recalled(tenant="ada", at=NOON, ms=1.5), "0 hits, 0 tokens, 1.5 ms"),
        (
            Recalled(tenant="ada", at=NOON, hits=1, tokens=1, found_by=FoundBy(keyword=1), degraded=("vector",)),
            "1 hit (keyword 1), 1 token, 0.0 ms, degraded: vector",
        ),
        (Erased(tenant="ada", at=NOON, erased=9), "erased 9, 0 ms"),
    ],
)
def test_an_event_says_its_turn_its_counts_and_what_it_lacked(event: MemoryEvent, said: str) -> None:
    text = line(received(event)).plain
    assert text.startswith("2026-05-08 12:00:00.000Z ")
    assert text.split("ada", 1)[1].strip() == said


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=40))
async def test_partitions_read_side_by_side_are_printed_in_the_order_of_time(steps: list[tuple[int, int]]) -> None:
    """Each partition is in order by itself; nothing is lost, and the whole is in order."""
    clocks = [0] * 4
    events: list[Received] = []
    for offset, (partition, step) in enumerate(steps):
        clocks[partition] += step
        events.append(received(Erased(tenant="ada", at=NOON), partition, offset, clocks[partition]))

    async def reading() -> AsyncIterator[Received]:
        for each in events:
            yield each

    key = [(e.published_at, e.partition, e.offset) for e in events]
    assert [(e.published_at, e.partition, e.offset) async for e in in_time(reading())] == sorted(key)
    assert sorted([(e.published_at, e.partition, e.offset) async for e in in_time(reading(), held=2)]) == sorted(key)


def memory(**fields: object) -> RecalledMemory:
    base: dict[str, object] = {"id": "1", "text": "Yes.", "kind": "episodic", "type": "episode", "importance": 0.5}
    base |= {"confidence": 1.0, "found_by": ("keyword",), "score": 1.0, "in_text": True}
    return RecalledMemory.model_validate(base | fields)


def test_the_footer_tells_the_list_from_the_prompts_text() -> None:
    text = "[8 May 2026, 13:56]\nAda: [9 May 2026, 10:00]\nBen: Yes.\n[9 May 2026, 10:00]\nAda: No."
    answer = Answer(memories=(memory(),), text=text, tokens=1973, took_ms=2.25, degraded=("vector", "after"))
    assert footer(answer) == (
        "showing 1; the prompt text holds 3 memories, 1,973 tokens; 2.2 ms; degraded: vector, after"
    )
    assert footer(Answer()) == "showing 0; the prompt text holds 0 memories, 0 tokens; 0.0 ms"
    assert footer(Answer(memories=(memory(), memory())), 1).startswith("showing 1;")


def test_a_score_is_explained_by_the_parts_it_has() -> None:
    assert parts_of(memory(parts=ScoreParts(lexical=0.5, neighbour=0.25))) == "lexical 0.50 neighbour 0.25"
    assert parts_of(memory()) == ""


def test_what_was_published_is_told_in_the_order_of_the_input() -> None:
    fault = ContractError("not_json", "", "Invalid JSON: EOF while parsing an object at line 1 column 1")
    published = Published({4: Token(0, 0, 9, RECEIPT), 1: Token(0, 1, 3, RECEIPT)}, {3: fault, 2: fault})
    body = as_dict(published)
    assert body["tokens"] == [
        {"line": 1, "token": f"0-1-3-{RECEIPT}"},
        {"line": 4, "token": f"0-0-9-{RECEIPT}"},
    ]
    assert [(each["line"], each["problem"]) for each in body["refused"]] == [
        (n, "Invalid JSON: EOF while parsing an object at column 1") for n in (2, 3)
    ]
    assert body["recallable"] is False
    assert "not_recallable" not in body


def test_recallable_is_said_of_something_only() -> None:
    assert Published({1: Token(0, 0, 0, RECEIPT)}, missing=0).recallable
    assert not Published({1: Token(0, 0, 0, RECEIPT)}, missing=1).recallable
    assert not Published({1: Token(0, 0, 0, RECEIPT)}).recallable
    assert not Published(missing=0).recallable


def test_where_publishing_ended_early_is_the_first_line_that_may_be_missing() -> None:
    token = Token(0, 0, 0, RECEIPT)
    fault = ContractError("invalid", "thread", "must say something")
    published = Published({1: token, 4: token}, {2: fault}, away=BrokerUnavailable("send", "Timeout"), read=5)
    assert from_line(published) == 3
    assert as_dict(published)["from_line"] == 3
    assert "Kafka is not available" in as_dict(published)["failed"]


def test_what_was_said_cannot_steer_a_terminal() -> None:
    said = "a\x1b[2Jb\x1b]8;;http://evil\x07c\x9bd\r\te\n\u00e9\u6211"
    assert printable(said) == "a\\x1b[2Jb\\x1b]8;;http://evil\\x07c\\x9bd\\x0d\te\n\u00e9\u6211"


def test_what_turns_a_line_around_is_shown_and_not_done() -> None:
    assert printable("a\u202eb\u2066c") == "a\\u202eb\\u2066c"
    assert printable("\u6211 \U0001f44b") == "\u6211 \U0001f44b"
