"""Dead letters as values: what one says, which are wanted, and the records that replay or drop one. Pure.

A letter is the record's own key, headers and bytes, and then headers of the recorder's that say why and where it
stood. What became of a letter is said by a marker, a record without a value in the letter's own partition: it names
the letter in ``afterturn_dropped`` or ``afterturn_replayed`` and has none of the letters' headers, so that whoever
looks for letters by where their records stood takes no marker for one.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from afterturn.schemas.codec import decode_command
from afterturn.schemas.commands import Collect
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.streams.records import Headers, OutRecord, Position, Record

REASON, DROPPED, REPLAYED, REPLAYED_AS = (
    "afterturn_reason", "afterturn_dropped", "afterturn_replayed", "afterturn_replayed_as",
)  # fmt: skip
ORIGINAL_REV = "afterturn_original_rev"
OURS = "afterturn_"
"""Headers of this prefix are Afterturn's own: a replay goes without those its letter has."""

State = Literal["waiting", "replayed", "dropped"]
_ID = re.compile(r"(\d{1,9})/(\d{1,18})", re.ASCII)
_NUMBER = re.compile(rb"\d{1,18}")
_EPOCH = re.compile(r"\d{1,3}", re.ASCII)
_AT_RUN_TIME = frozenset({"refused", "crash"})
_UNKNOWN_TYPE = "no command of this type and version is known here"


@dataclass(frozen=True, slots=True, order=True)
class LetterId:
    """Where a letter stands in the dead-letter topic, written ``partition/offset``."""

    partition: int
    offset: int

    def __str__(self) -> str:
        return f"{self.partition}/{self.offset}"

    @classmethod
    def parse(cls, text: str) -> LetterId:
        """An id from its text.

        Raises:
            ContractError: the text is none.
        """
        found = _ID.fullmatch(text)
        if found is None:
            raise ContractError("invalid", "ID", "must be partition/offset, as 3/17; dead-letters list has them")
        return cls(int(found[1]), int(found[2]))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where the record stood before it was a dead letter; the epoch of its log, where the letter says it."""

    topic: str
    partition: int
    offset: int
    epoch: int | None = None

    def __str__(self) -> str:
        return f"{self.topic} {self.partition}/{self.offset}"


@dataclass(frozen=True, slots=True)
class Letter:
    """What is said of a dead letter; never its value.

    Attributes:
        key: the record's own, None where it had none or was left out.
        headers: the record's own, before those that made it a letter.
        size: bytes of its value.
        left_out: what of the record the letter does not hold, empty where it holds all.
        sha256: of a value that was left out.
        stood: None where the letter doesn't say it: another program wrote it.
    """

    id: LetterId
    at: datetime
    reason: str
    error: str
    place: str
    problem: str
    attempts: str
    stood: Origin | None
    size: int
    key: bytes | None = field(repr=False)
    headers: Headers = field(default=(), repr=False)
    left_out: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Marker:
    """What became of a letter; ``replayed_as`` is where its replay stands on the turn log."""

    letter: LetterId
    state: State
    replayed_as: str = ""


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which letters are wanted; None wants all."""

    reason: str | None = None
    tenant: str | None = None
    since: datetime | None = None

    def takes(self, letter: Letter) -> bool:
        """Whether a letter is wanted: its key is taken for its tenant."""
        if self.reason is not None and letter.reason != self.reason:
            return False
        if self.tenant is not None and letter.key != self.tenant.encode("utf-8", "surrogateescape"):
            return False
        return self.since is None or letter.at >= self.since


def read(record: Record) -> Letter | Marker | None:
    """What a record of the dead-letter topic is; None where it is nothing of ours."""
    names = [name for name, _ in record.headers]
    if REASON not in names:
        return _marker(record)
    # The recorder's headers come last and begin with the reason: what a publisher had put under such names is before.
    begin = len(names) - 1 - names[::-1].index(REASON)
    said = {name: value.decode("utf-8", "replace") for name, value in record.headers[begin:]}
    left_out = ", ".join(v.decode("utf-8", "replace") for n, v in record.headers[begin:] if n == "afterturn_left_out")
    size = said.get("afterturn_value_bytes", "")
    return Letter(
        id=LetterId(record.partition, record.offset),
        at=record.appended_at,
        reason=said[REASON],
        error=said.get("afterturn_error", ""),
        place=said.get("afterturn_place", ""),
        problem=said.get("afterturn_problem", ""),
        attempts=said.get("afterturn_attempts", ""),
        stood=_origin(said),
        size=int(size) if left_out and _NUMBER.fullmatch(size.encode()) else len(record.value or b""),
        key=record.key,
        headers=record.headers[:begin],
        left_out=left_out,
        sha256=said.get("afterturn_value_sha256", "") if left_out else "",
    )


def is_letter(record: Record) -> bool:
    """Whether a record of the dead-letter topic is a letter, and no marker."""
    return any(name == REASON for name, _ in record.headers)


def own_record(letter: Letter, value: bytes | None) -> Record:
    """The record as it was before it was a letter, with the letter's value; what was left out of it is missing."""
    stood = letter.stood or Origin("", letter.id.partition, letter.id.offset)
    at_ms = int(letter.at.timestamp() * 1_000)
    return Record(stood.topic, stood.partition, stood.offset, at_ms, letter.key, value, letter.headers)


def is_whole(letter: Letter, found: Record | None) -> bool:
    """Whether a record that was found on the turn log is the one whose value the letter leaves out."""
    return found is not None and hashlib.sha256(found.value or b"").hexdigest() == letter.sha256


def dead_again(own: Record) -> str | None:
    """Why a replay of this record would be a dead letter again, as far as this version can tell; None where it can't.

    A command that can be read and that no recorder of this version applies is not told apart here.
    """
    try:
        command = decode_command(own.headers, own.value, unknown="ignore")[1]
    except ContractError as fault:
        return f"{fault.reason}, {fault}"
    if isinstance(command, Collect):
        return "a collection has its place on its partition; the recorder asks for it again by itself"
    if own.key != command.tenant.encode():
        return "misrouted, its key is not its tenant"
    return None


def replay_of(letter: Letter, own: Record, stood_rev: int, topic: str, partition: int) -> OutRecord:
    """The record that replays a letter: the same key and bytes, the record's own headers, and where it stood first.

    ``stood_rev`` is where the letter's record stood, as a rev in the order of its tenant.
    """
    rev = original_rev(letter, own, stood_rev)
    kept = tuple((name, value) for name, value in own.headers if not name.startswith(OURS))
    return OutRecord(topic, own.key, own.value, (*kept, (ORIGINAL_REV, str(rev).encode())), partition)


def original_rev(letter: Letter, own: Record, stood_rev: int) -> int:
    """Where a replay says that its record stood first, as a rev: what was erased since is compared with it.

    Of a record that is a replay itself it is where the first one stood, so that no number of replays gets past an
    erasure; but where it left a dead receipt it is the receipt's own rev, since only that takes the receipt's place.
    """
    earlier = dict(own.headers).get(ORIGINAL_REV, b"")
    if leaves_receipt(letter) or not _NUMBER.fullmatch(earlier):
        return stood_rev
    return min(stood_rev, int(earlier))


def rev_before(epoch: int, offset: int) -> int:
    """The rev just before an offset: of a record that stood elsewhere while a partition had come to that offset."""
    return max(0, rev_of(epoch, offset) - 1)


def leaves_receipt(letter: Letter) -> bool:
    """Whether the recorder kept a dead receipt: the command could be read, and stood where it belongs."""
    if letter.reason in _AT_RUN_TIME:
        return True
    return letter.reason == "unsupported" and letter.problem != _UNKNOWN_TYPE


def replayed(letter: Letter, topic: str, position: Position) -> OutRecord:
    """The marker that a letter was replayed, and where its replay stands."""
    said = {REPLAYED: str(letter.id), REPLAYED_AS: f"{position.partition}/{position.offset}"}
    return _mark(letter, topic, said)


def dropped(letter: Letter, topic: str) -> OutRecord:
    """The marker that a letter was dropped: Kafka deletes no single record."""
    return _mark(letter, topic, {DROPPED: str(letter.id)})


def _mark(letter: Letter, topic: str, said: Mapping[str, str]) -> OutRecord:
    headers = tuple((name, value.encode()) for name, value in said.items())
    return OutRecord(topic, letter.key, None, headers, letter.id.partition)


def _marker(record: Record) -> Marker | None:
    said = {name: value.decode("utf-8", "replace") for name, value in record.headers}
    states: dict[str, State] = {DROPPED: "dropped", REPLAYED: "replayed"}
    for name, state in states.items():
        if name in said and (found := _ID.fullmatch(said[name])) is not None and record.value is None:
            return Marker(LetterId(int(found[1]), int(found[2])), state, said.get(REPLAYED_AS, ""))
    return None


def _origin(said: Mapping[str, str]) -> Origin | None:
    topic, partition, offset = (said.get(f"afterturn_{name}", "") for name in ("topic", "partition", "offset"))
    if not topic or not _NUMBER.fullmatch(partition.encode()) or not _NUMBER.fullmatch(offset.encode()):
        return None
    epoch = said.get("afterturn_epoch", "")
    return Origin(topic, int(partition), int(offset), int(epoch) if _EPOCH.fullmatch(epoch) else None)
