"""What a dead letter says, and the records that replay or drop it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.raw_records import headers, turn

from afterturn.consumers.recorder.announcing import dead_letter
from afterturn.consumers.recorder.decoding import Rejected, decode
from afterturn.consumers.recorder.fold.plan import AT_RUN_TIME, Decision, plan
from afterturn.consumers.recorder.fold.view import Snapshot
from afterturn.schemas.codec import Headers, attributes_of
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Receipt
from afterturn.schemas.settings import FoldSettings
from afterturn.streams import dead_letters as core
from afterturn.streams.dead_letters import Letter, LetterId, Marker, Origin, Wanted
from afterturn.streams.kafka import MAX_REQUEST_BYTES
from afterturn.streams.records import OutRecord, Position, Record
from afterturn.streams.topics import TopicNames

TOPICS = TopicNames()
FOLD = FoldSettings(embedder="e", dimension=2, topic=TOPICS.turns, partitions=1, group="g", epoch=3)
SOME = st.binary(max_size=40)
NAMES = st.sampled_from((
    "ce_id", "x", "afterturn_reason", "afterturn_dropped", "afterturn_replayed", "afterturn_original_rev",
    "afterturn_offset", "afterturn_left_out", "afterturn_value_bytes", "",
))  # fmt: skip
HEADERS = st.lists(st.tuples(NAMES, SOME), max_size=8).map(tuple)
GOOD = tuple(headers())
ASK = {"tenant": "t", "content": "c", "mode": "ask", "source": {"type": "user", "id": "1"}}


def body(**fields: Any) -> bytes:
    return orjson.dumps(turn(**fields))


def on_log(value: bytes | None, attributes: Headers = GOOD, key: bytes | None = b"t", offset: int = 7) -> Record:
    return Record(TOPICS.turns, 0, offset, 1_700_000_000_000, key, value, attributes)


def buried(record: Record, fault: ContractError | None = None) -> Record:
    """A record's dead letter as it is read: that of the recorder's own fold, or of a fault."""
    item = decode(record, FOLD)
    decision = plan(Snapshot(), [item], FOLD).decisions[0] if fault is None else Decision(item, None, fault)
    letter = dead_letter(decision, TOPICS, FOLD.epoch)
    assert letter is not None, "it is dead"
    return as_read(letter, offset=41)


def as_read(out: OutRecord, offset: int) -> Record:
    return Record(out.topic, out.partition or 0, offset, 1_700_000_009_000, out.key, out.value, out.headers)


def letter_of(record: Record) -> Letter:
    letter = core.read(record)
    assert isinstance(letter, Letter)
    return letter


@given(st.none() | SOME, HEADERS, st.none() | SOME)
def test_whatever_the_record_was_its_letter_gives_it_back(
    value: bytes | None, attributes: Headers, key: bytes | None
) -> None:
    """Also where a publisher had put headers under our names."""
    record = on_log(value, attributes, key)
    found = buried(record, ContractError("invalid", "messages.0", "must say something"))
    letter = letter_of(found)
    assert core.is_letter(found)
    own = core.own_record(letter, found.value)
    assert (own.topic, own.partition, own.offset) == (record.topic, record.partition, record.offset)
    assert (own.key, own.value, own.headers) == (key, value, attributes)
    assert (letter.id, letter.reason, letter.place) == (LetterId(0, 41), "invalid", "messages.0")
    assert (letter.stood, letter.size) == (Origin(TOPICS.turns, 0, 7, FOLD.epoch), len(value or b""))
    assert letter.left_out == ""


@given(SOME, HEADERS, SOME, st.integers(0, 511), st.integers(0, 2**40))
def test_a_replay_is_the_same_bytes_under_the_same_key_and_says_where_they_stood(
    value: bytes, attributes: Headers, key: bytes, epoch: int, offset: int
) -> None:
    found = buried(on_log(value, attributes, key, offset), ContractError("unsupported", "mode", "not applied"))
    letter = letter_of(found)
    replay = core.replay_of(letter, core.own_record(letter, found.value), rev_of(epoch, offset), "log.turns", 5)
    assert (replay.topic, replay.key, replay.value, replay.partition) == ("log.turns", key, value, 5)
    ours = [(name, told) for name, told in replay.headers if name.startswith("afterturn_")]
    assert ours == [("afterturn_original_rev", str(rev_of(epoch, offset)).encode())]
    assert replay.headers[:-1] == tuple(pair for pair in attributes if not pair[0].startswith("afterturn_"))


def test_the_recorder_reads_a_replays_original_rev() -> None:
    found = buried(on_log(orjson.dumps(ASK), tuple(headers("memory.remember.v1"))))
    letter = letter_of(found)
    replay = core.replay_of(letter, core.own_record(letter, found.value), rev_of(3, 7), TOPICS.turns, 0)
    assert attributes_of(replay.headers).original_rev == rev_of(3, 7)
    arrival = decode(as_read(replay, 50), FOLD)
    assert not isinstance(arrival, Rejected)
    assert arrival.original_rev == decode(on_log(orjson.dumps(ASK), tuple(headers("memory.remember.v1"))), FOLD).rev


DEAD: dict[str, tuple[Record, bool]] = {
    "not JSON": (on_log(b"\xff"), False),
    "no headers": (on_log(body(), ()), False),
    "unknown type": (on_log(body(), tuple(headers("turn.imagined.v1"))), False),
    "misrouted": (on_log(body(tenant="other")), False),
    "too large": (on_log(body(messages=[{"role": "user", "content": "x" * 2_000_001}])), False),
    "not applied": (on_log(orjson.dumps(ASK), tuple(headers("memory.remember.v1"))), True),
    "mode ask": (
        on_log(
            orjson.dumps({"tenant": "t", "content": "c", "mode": "ask", "source": {"type": "user", "id": "1"}}),
            tuple(headers("memory.remember.v1")),
        ),
        True,
    ),
}


@pytest.mark.parametrize(("record", "leaves"), DEAD.values(), ids=DEAD.keys())
def test_a_letter_tells_whether_the_recorder_kept_a_receipt(record: Record, leaves: bool) -> None:
    planned = plan(Snapshot(), [decode(record, FOLD)], FOLD)
    kept = any(isinstance(point, Receipt) and point.dead for point in planned.points.values())
    assert kept is leaves, "what the fold does"
    assert core.leaves_receipt(letter_of(buried(record))) is leaves


def test_a_letter_of_a_record_given_up_at_run_time_left_a_receipt() -> None:
    assert core.leaves_receipt(letter_of(buried(on_log(body()), AT_RUN_TIME)))


def replay_record(first: Record, offset: int) -> Record:
    """The replay of a record's dead letter, as it stands on the log."""
    letter = letter_of(found := buried(first))
    rev = rev_of(FOLD.epoch, first.offset)
    return as_read(core.replay_of(letter, core.own_record(letter, found.value), rev, TOPICS.turns, 0), offset)


def test_no_number_of_replays_gets_past_an_erasure() -> None:
    """What left no receipt says where it stood at the very first."""
    record = on_log(body(), tuple(headers("turn.imagined.v1")))
    for offset in (100, 200, 300):
        record = replay_record(record, offset)
        assert attributes_of(record.headers).original_rev == rev_of(3, 7)


def test_a_replay_that_died_takes_the_place_of_its_own_receipt() -> None:
    record = replay_record(on_log(orjson.dumps(ASK), tuple(headers("memory.remember.v1"))), 100)
    receipts = plan(Snapshot(), [decode(record, FOLD)], FOLD).points.values()
    assert [p.born for p in receipts if isinstance(p, Receipt)] == [rev_of(3, 100)]
    assert attributes_of(replay_record(record, 200).headers).original_rev == rev_of(3, 100)


def test_what_became_of_a_letter_is_said_by_records_that_are_no_letters() -> None:
    letter = letter_of(buried(on_log(body(tenant="other"))))
    for out, marker in (
        (core.dropped(letter, TOPICS.dead_letter), Marker(LetterId(0, 41), "dropped")),
        (
            core.replayed(letter, TOPICS.dead_letter, Position(2, 9)),
            Marker(LetterId(0, 41), "replayed", "2/9"),
        ),
    ):
        assert core.read(as_read(out, 60)) == marker
        assert not core.is_letter(as_read(out, 60))
        assert (out.key, out.value, out.partition) == (letter.key, None, letter.id.partition)
        lettered = {name for name, _ in buried(on_log(body(tenant="other"))).headers}
        assert not lettered & {name for name, _ in out.headers}, "nobody who looks for letters takes it for one"


@pytest.mark.parametrize(
    "attributes",
    [
        (),
        (("x", b"y"),),
        (("afterturn_dropped", b"0-4"),),
        (("afterturn_dropped", b""),),
        (("afterturn_offset", b"1"),),
    ],
)
def test_other_records_are_neither(attributes: Headers) -> None:
    assert core.read(Record(TOPICS.dead_letter, 0, 1, 0, b"k", None, attributes)) is None


def test_a_record_with_a_value_is_no_marker() -> None:
    assert core.read(Record(TOPICS.dead_letter, 0, 1, 0, b"k", b"v", (("afterturn_dropped", b"0/4"),))) is None


def test_a_value_that_was_left_out_is_told_by_its_size_and_digest() -> None:
    record = on_log(b"x" * (MAX_REQUEST_BYTES + 1))
    letter = letter_of(buried(record))
    assert (letter.left_out, letter.size, letter.key) == ("value", MAX_REQUEST_BYTES + 1, b"t")
    assert core.is_whole(letter, record)
    assert not core.is_whole(letter, on_log(b"x"))
    assert not core.is_whole(letter, None)
    bare = letter_of(buried(on_log(b"x" * MAX_REQUEST_BYTES, (("h", b"y" * MAX_REQUEST_BYTES),))))
    assert (bare.left_out, bare.key) == ("value, key, headers", None)


@pytest.mark.parametrize(
    "text", ["", "3", "3/", "/3", "-1/3", "3/4/5", "a/b", "3 / 4", "3/4\n", "٣/4", "9" * 10 + "/1"]
)
def test_what_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ContractError, match="partition/offset"):
        LetterId.parse(text)


def test_an_id_is_read_as_it_is_written() -> None:
    assert LetterId.parse(str(LetterId(3, 17))) == LetterId(3, 17)


def test_a_letter_of_another_program_does_not_say_where_its_record_stood() -> None:
    letter = letter_of(Record(TOPICS.dead_letter, 0, 4, 0, b"t", b"v", (("afterturn_reason", b"invalid"),)))
    assert letter.stood is None


@pytest.mark.parametrize(("epoch", "offset"), [(0, 1), (3, 0), (3, 7)])
def test_a_rev_before_an_offset_is_below_all_that_stands_from_there_on(epoch: int, offset: int) -> None:
    assert core.rev_before(epoch, offset) < rev_of(epoch, offset)
    assert core.rev_before(epoch, offset + 1) == rev_of(epoch, offset)


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (on_log(b"\xff"), "not_json"),
        (on_log(body(), ()), "ce_specversion"),
        (on_log(body(tenant="other")), "its key is not its tenant"),
        (on_log(body(), key=None), "its key is not its tenant"),
        (on_log(orjson.dumps({"partition": 0, "below": 0}), tuple(headers("log.collect.v1")), None), "collection"),
        (on_log(body()), None),
        (on_log(orjson.dumps(ASK), tuple(headers("memory.remember.v1"))), None),
    ],
)
def test_what_would_be_dead_again_is_told_before(record: Record, why: str | None) -> None:
    found = core.dead_again(record)
    assert (found is None) is (why is None)
    assert why is None or why in (found or "")


def test_letters_are_chosen_by_reason_tenant_and_time() -> None:
    letter = letter_of(buried(on_log(body(tenant="other"))))
    at = datetime.fromtimestamp(1_700_000_009, UTC)
    for wanted in (Wanted(), Wanted("misrouted"), Wanted(tenant="t"), Wanted(since=at)):
        assert wanted.takes(letter)
    later = datetime.fromtimestamp(1_700_000_010, UTC)
    for other in (Wanted("invalid"), Wanted(tenant="other"), Wanted(since=later)):
        assert not other.takes(letter)
