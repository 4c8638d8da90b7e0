"""Where a batch is cut, and how a command too large for one write is chunked. Pure.

Results never depend on it: each command's outcome is the same however the log is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from afterturn.consumers.recorder.decoding import Arrival, Rejected
from afterturn.consumers.recorder.fold.sweeps import selects
from afterturn.consumers.recorder.wanted import named_memories
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.commands import Review, TurnCompleted
from afterturn.schemas.points import Memory, StoredPoint
from afterturn.schemas.settings import FoldSettings

PAYLOAD_BYTES = 900
"""A memory's payload without its content, as JSON."""
NUMBER_BYTES = 22
"""One number of a dense vector as JSON."""
CONTENT_FACTOR = 6
"""Bytes a character of content may come to: escaped in the payload, and its tokens in the lexical vector."""


@dataclass(frozen=True, slots=True)
class BatchLimits:
    """How much one write takes: points, without the checkpoint, and bytes of JSON."""

    points: int = 400
    bytes: int = 12 * 2**20


LIMITS = BatchLimits()


def cut(
    decoded: Iterable[Arrival | Rejected], at: int, fold: FoldSettings, limits: BatchLimits = LIMITS
) -> list[Arrival | Rejected]:
    """The first records that go together: on one side of the checkpoint ``at``, within the limits, at least one."""
    batch: list[Arrival | Rejected] = []
    points = size = 0
    for item in decoded:
        if batch and ((item.rev < at) != (batch[0].rev < at) or _alone(item)):
            break
        more_points, more_size = _estimate(item, fold)
        points, size = points + more_points, size + more_size
        if batch and (points > limits.points or size > limits.bytes):
            break
        batch.append(item)
        if _alone(item):
            break
    return batch


def fits(points: Mapping[str, StoredPoint], fold: FoldSettings, limits: BatchLimits = LIMITS) -> bool:
    """Whether a plan's points go into one write."""
    return len(points) <= limits.points and sum(_bytes_of(p, fold) for p in points.values()) <= limits.bytes


def chunks(
    writes: Sequence[PointWrite], receipt: str, fold: FoldSettings, limits: BatchLimits = LIMITS
) -> list[Sequence[PointWrite]]:
    """The writes a plan is made in: one, or for a command too large for one, several.

    The last one holds the state points and the receipt: until it is there, the command has not happened.
    """
    if fits({w.id: w.point for w in writes}, fold, limits):
        return [writes]
    last = [w for w in writes if w.id == receipt or not isinstance(w.point, Memory)]
    first = [w for w in writes if w.id != receipt and isinstance(w.point, Memory)]
    return [*_split(first, fold, limits), last]


def _split(writes: Sequence[PointWrite], fold: FoldSettings, limits: BatchLimits) -> list[Sequence[PointWrite]]:
    parts: list[Sequence[PointWrite]] = []
    part: list[PointWrite] = []
    size = 0
    for write in writes:
        more = _bytes_of(write.point, fold)
        if part and (len(part) == limits.points or size + more > limits.bytes):
            parts.append(part)
            part, size = [], 0
        part.append(write)
        size += more
    return [*parts, part] if part else parts


def _alone(item: Arrival | Rejected) -> bool:
    return isinstance(item, Arrival) and selects(item.command)


def _estimate(item: Arrival | Rejected, fold: FoldSettings) -> tuple[int, int]:
    if isinstance(item, Rejected):
        return 0, 0
    if not isinstance(item.command, TurnCompleted):
        named = max(1, len(named_memories(item.command)))
        if isinstance(item.command, Review):
            named *= 3  # each may come with the state of its key, and the memory that this stood for
        return named + 2, CONTENT_FACTOR * item.size + (named + 2) * PAYLOAD_BYTES + NUMBER_BYTES * fold.dimension
    memories = sum(1 + len(m.content) // fold.recording.max_chars for m in item.command.messages)
    return memories + 2, CONTENT_FACTOR * item.size + memories * (PAYLOAD_BYTES + NUMBER_BYTES * fold.dimension)


def _bytes_of(point: StoredPoint, fold: FoldSettings) -> int:
    if not isinstance(point, Memory) or point.content is None:
        return PAYLOAD_BYTES
    return PAYLOAD_BYTES + CONTENT_FACTOR * len(point.content.encode()) + NUMBER_BYTES * fold.dimension
