"""When the recorder asks for a collection: once the log's start has passed an offset for long enough. Pure.

What stands below it can't come again from the log, nor, after that time, from a producer that was still at it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.commands import Collect
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.records import OutRecord

SOURCE = "afterturn/recorder"


@dataclass(frozen=True, slots=True)
class LogStart:
    """Where a partition's log was seen to begin, and when (ms); ``collected`` is what was asked for last."""

    offset: int
    seen_ms: int
    collected: int = 0


def log_start_of(checkpoint: Checkpoint | None) -> LogStart | None:
    """What a checkpoint keeps of it, so that a restart doesn't begin to wait anew."""
    if checkpoint is None or checkpoint.log_start is None or checkpoint.log_start_seen is None:
        return None
    return LogStart(checkpoint.log_start, checkpoint.log_start_seen, checkpoint.collected)


def look(known: LogStart | None, start: int, now_ms: int, after_ms: int) -> tuple[LogStart, int | None]:
    """What to keep of a look at the log's start, and below which offset to collect now, if so."""
    if known is None:
        return LogStart(start, now_ms), None
    if now_ms - known.seen_ms < after_ms:
        return known, None
    if known.offset <= known.collected:
        return LogStart(start, now_ms, known.collected), None
    return LogStart(start, now_ms, known.offset), known.offset


def collect_record(fold: FoldSettings, partition: int, below: int, now_ms: int) -> OutRecord:
    """The command, as it goes onto its own partition; asked for twice it is applied once."""
    command = Collect(partition=partition, below=below)
    at = datetime.fromtimestamp(now_ms / 1_000, UTC)
    id_ = f"collect-{fold.epoch}-{partition}-{below}"
    encoded = encode(command, Attributes(id_, SOURCE, command.TYPE, at))
    return OutRecord(fold.topic, None, encoded.value, encoded.headers, partition)
