"""Every bad input, on a running recorder: recorded right, skipped with its event, or a dead letter that says why."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import orjson
import pytest
import pytest_asyncio
from support.kafka import KafkaBroker
from support.recording import ANYONE, Recording, recording

from afterturn.schemas.codec import Attributes
from afterturn.schemas.commands import Remember
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import Recorded, Skipped
from afterturn.schemas.parts import Source

AT = "2026-01-01T00:00:00Z"
CANARY = "canary-7f3a"


def turn(turn_id: str = "1", content: Any = f"hello {CANARY}", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "author": "Ann", "content": content}]
    return {"tenant": ANYONE, "thread": "t", "turn_id": turn_id, "occurred_at": AT, "messages": messages} | fields


def headers(type_: str = "turn.completed.v1") -> tuple[tuple[str, bytes], ...]:
    return Attributes("id", "test", type_, datetime(2026, 1, 1, tzinfo=UTC)).headers()


def json_of(body: dict[str, Any]) -> bytes:
    return orjson.dumps(body)


def with_message(**fields: Any) -> bytes:
    return json_of(turn(messages=[{"role": "user", "content": CANARY} | fields]))


POISON: dict[str, tuple[bytes | None, tuple[tuple[str, bytes], ...], str, str]] = {
    "not JSON (I-18c)": (b"\xff\x00not-json", headers(), "not_json", ""),
    "no body": (None, headers(), "empty", ""),
    "no headers": (json_of(turn()), (), "headers", "ce_specversion"),
    "unknown type": (json_of(turn()), headers("turn.imagined.v1"), "unsupported", "ce_type"),
    "newer version": (json_of(turn()), headers("turn.completed.v2"), "unsupported", "ce_type"),
    "no tenant": (json_of({k: v for k, v in turn().items() if k != "tenant"}), headers(), "invalid", "tenant"),
    "empty thread": (json_of(turn(thread="")), headers(), "invalid", "thread"),
    "control character": (json_of(turn(thread="a\nb")), headers(), "invalid", "thread"),
    "year 0": (json_of(turn(occurred_at="0000-01-01T00:00:00Z")), headers(), "invalid", "occurred_at"),
    "year 10000": (json_of(turn(occurred_at="10000-01-01T00:00:00Z")), headers(), "invalid", "occurred_at"),
    "importance 7": (with_message(importance=7), headers(), "invalid", "messages.0.importance"),
    "importance NaN": (
        with_message(importance="x").replace(b'"x"', b"NaN"), headers(), "invalid", "messages.0.importance",
    ),
    "unknown role": (with_message(role="robot"), headers(), "invalid", "messages.0.role"),
    "key is not its tenant": (json_of(turn(tenant="ben")), headers(), "misrouted", "key"),
    "more than 2 MB": (json_of(turn(content="x" * 2_100_000)), headers(), "too_large", ""),
}  # fmt: skip


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def shared(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Recording]:
    """One recorder for all of them."""
    async with recording(kafka, f"t{uuid4().hex[:12]}", tmp_path_factory.mktemp("recorder")) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def it(shared: Recording) -> Recording:
    """The recorder, for a tenant that has nothing yet."""
    await shared.mark(f"tenant-{uuid4().hex[:8]}")
    return shared


async def test_each_poison_record_is_a_dead_letter_that_says_why_and_the_next_goes_on(it: Recording) -> None:
    places = [await it.raw(value, attributes) for value, attributes, _, _ in POISON.values()]
    first = places[0].offset
    await it.publish(turn("after"))
    await it.consumed(len(POISON) + 1)
    letters = await it.dead_letters()
    assert len(letters) == len(POISON)
    for letter, (name, (value, attributes, reason, place)) in zip(letters, POISON.items(), strict=True):
        said = dict(letter.headers)
        assert letter.value == it.own_bytes(value), name
        assert letter.headers[: len(attributes)] == attributes, "the record's own headers come first, untouched"
        assert said["afterturn_reason"].decode() == reason, name
        assert said["afterturn_place"].decode() == place, name
        assert said["afterturn_error"] == b"ContractError"
        assert int(said["afterturn_offset"]) == first + list(POISON).index(name)
        assert not any(CANARY.encode() in v for k, v in letter.headers if k.startswith("afterturn_")), name
    assert [p["content"] for p in await it.memories()] == [f"hello {CANARY}"]
    assert it.endings() == {"dead_lettered": len(POISON), "applied": 1}
    events = await it.events()
    assert [type(e) for e in events] == [Skipped, Recorded], "the misrouted one could be read; the others could not"
    log = it.recorder.child.log_text()
    assert CANARY not in log
    assert CANARY not in str([e.model_dump_json() for e in events])


async def test_what_can_be_read_is_recorded_as_it_should_be(it: Recording) -> None:
    body = orjson.dumps(turn("half", "half")).replace(b'"half"}', b'"hi \\ud83d \xf0\x9f\x91\x8b\xf0\x9f\x94\xa5"}')
    await it.raw(body, headers())  # I-42, I-43
    await it.raw(json_of(turn("nul", "a\0b")), headers())  # I-45
    await it.raw(json_of(turn("unknown field", colour="blue")), headers())
    await it.raw(json_of(turn() | {"turn_id": 5}), headers())  # I-46i
    await it.consumed(4)
    contents = [p["content"] for p in await it.memories()]
    assert contents == ["hi \ufffd \U0001f44b\U0001f525", "ab", f"hello {CANARY}", f"hello {CANARY}"]
    assert (await it.memories())[3]["turn_id"] == "5"


async def test_blank_turns_are_skipped_with_their_event(it: Recording) -> None:
    """I-46."""
    blanks: list[list[dict[str, str]]] = [[], [{"role": "user", "content": ""}], [{"role": "user", "content": "   "}]]
    for number, messages in enumerate(blanks):
        await it.raw(json_of(turn(str(number), messages=messages)), headers())
    await it.consumed(3)
    assert await it.memories() == []
    events = await it.events()
    assert [e.reason for e in events if isinstance(e, Skipped)] == ["blank"] * 3
    assert it.endings() == {"skipped": 3}


async def test_the_same_turn_again_is_a_duplicate_and_with_other_content_a_conflict(it: Recording) -> None:
    await it.publish(turn(), turn(), turn(content="something else"))
    await it.consumed(3)
    assert [p["content"] for p in await it.memories()] == [f"hello {CANARY}"]
    assert [getattr(e, "reason", "recorded") for e in await it.events()] == ["recorded", "duplicate", "conflict"]


async def test_two_users_threads_of_one_name_are_two_threads(it: Recording) -> None:
    """I-33."""
    await it.publish(turn(scope={"user": "u1"}), turn(scope={"user": "u2"}), turn("2", scope={"user": "u1"}))
    await it.consumed(3)
    placed = [(p["scope"]["user"], p["position"]) for p in await it.memories()]
    assert placed == [("u1", 0), ("u2", 0), ("u1", 1)]


async def test_two_megabytes_in_one_message_are_kept_in_parts(it: Recording) -> None:
    """I-08; a turn too large for one write goes alone, in chunks."""
    text = "".join(f"Sentence number {n} says something. " for n in range(52_000))
    await it.publish(turn(content=text), turn("after"))
    await it.consumed(2, seconds=150)
    memories = await it.memories()
    parts = [p for p in memories if p["turn_id"] == "1"]
    assert len(parts) > 400
    assert "".join(p["content"] for p in sorted(parts, key=lambda p: p["ordinal"])) == text
    assert [p["ordinal"] for p in parts] == list(range(len(parts)))
    assert {p["position"] for p in parts} == {0}
    assert memories[-1]["position"] == 1
    assert [e.added for e in await it.events() if isinstance(e, Recorded)] == [len(parts), 1]


async def test_commands_of_later_versions_are_dead_letters_that_can_be_seen(it: Recording) -> None:
    source = Source(type="user", id="1")
    await it.publisher.publish_command(Remember(tenant=it.tenant, content="c", mode="ask", source=source))
    await it.publisher.publish_command(Remember(tenant=it.tenant, content="c", collection="people", source=source))
    await it.consumed(2)
    events = await it.events()
    assert [e.operation for e in events if isinstance(e, Skipped)] == ["memory.record", "memory.record"]
    assert {e.reason for e in events if isinstance(e, Skipped)} == {"dead_letter"}
    places = [dict(letter.headers)["afterturn_place"] for letter in await it.dead_letters()]
    assert places == [b"mode", b"collection"]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        (turn(thread=""), "thread"),
        ({k: v for k, v in turn().items() if k != "tenant"}, "tenant"),
        (turn(colour="blue"), "colour"),
        (turn(occurred_at="10000-01-01T00:00:00Z"), "occurred_at"),
        (turn(messages=[]), "messages"),
        (turn(content=" \t"), "messages"),
        (turn(content=None), "messages.0.content"),
        (turn(content="x" * 2_100_000), ""),
        (turn(messages=[{"role": "user", "content": "x", "importance": float("nan")}]), "messages.0.importance"),
    ],
)
async def test_the_publisher_refuses_earlier_and_names_the_field(
    it: Recording, body: dict[str, Any], place: str
) -> None:
    with pytest.raises(ContractError) as refused:
        await it.publisher.publish(body)
    assert refused.value.place == place
    assert CANARY not in str(refused.value)


async def test_times_are_kept_in_utc_whatever_they_were_written_in(it: Recording) -> None:
    """I-48, I-50, I-51."""
    times = ["2025-07-25T02:00:00Z", "2025-01-01T00:00:00", "2025-01-01T00:00:00+09:00"]
    await it.publish(*(turn(str(n), occurred_at=at) for n, at in enumerate(times)))
    await it.consumed(3)
    memories = await it.memories()
    assert [p["occurred_at"] for p in memories] == [
        "2025-07-25T02:00:00Z", "2025-01-01T00:00:00Z", "2024-12-31T15:00:00Z",
    ]  # fmt: skip
    assert all(p["recorded_at"] > "2026" for p in memories), "when it was recorded is kept apart"


async def test_retries_from_everywhere_leave_one_memory(it: Recording) -> None:
    """I-04, I-05: the same turn from producers that do not hear whether it arrived."""
    await asyncio.gather(*(it.publisher.publish(it.own(turn("same"))) for _ in range(20)))
    await it.consumed(20)
    assert len(await it.memories()) == 1
    assert Counter(type(e) for e in await it.events()) == {Recorded: 1, Skipped: 19}


async def test_eight_threads_at_once_are_all_there(it: Recording) -> None:
    """I-07."""
    await asyncio.gather(*(it.publisher.publish(it.own(turn(str(n), f"marker {n}", thread=f"s{n}"))) for n in range(8)))
    await it.consumed(8)
    assert {p["content"] for p in await it.memories()} == {f"marker {n}" for n in range(8)}
