"""What a lane drives, and what it is told: the seam between the log's side of the write path and the store's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from afterturn.streams.errors import Reopen, Retry
from afterturn.streams.records import OutRecord, Record

Ending = Literal["applied", "duplicate", "skipped", "dead_lettered"]
"""How a consumed record ended: consumed = applied + duplicate + skipped + dead-lettered."""


@dataclass(frozen=True, slots=True)
class Applied:
    """What became of a batch.

    Attributes:
        next: the offset after the last record of the batch.
        outgoing: what to announce in the transaction that commits it, each with the offset it is the outcome of.
        endings: how many records ended how.
        skipped: of those left out, how many by operation and reason; ``dead`` of the dead letters by reason.
        unembedded: memories kept without a dense vector.
        phases: seconds spent by step, for metrics.
    """

    next: int
    outgoing: tuple[tuple[int, OutRecord], ...] = ()
    endings: Mapping[Ending, int] = field(default_factory=dict)
    skipped: Mapping[tuple[str, str], int] = field(default_factory=dict)
    dead: Mapping[str, int] = field(default_factory=dict)
    evicted: int = 0
    unembedded: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Start:
    """What a checkpoint says to a lane that opens on it.

    Attributes:
        next: the offset that comes next.
        told: up to where all outcomes are announced; only what lies between the two may not be.
        opens: openings without progress, this one included.
        begun: how often the next record was begun alone, and not a word was heard of it since.
        time_ms: the time of the last record folded in, in milliseconds.
    """

    next: int
    told: int = 0
    opens: int = 1
    begun: int = 0
    time_ms: int | None = None


class Writer(Protocol):
    """Steps 1 to 5 of the write path for one partition."""

    async def open(self) -> Start:
        """Wait until every earlier write has landed; what the checkpoint says then.

        Raises:
            Retry: a dependency is away.
            Stop: the store is another log's, or not what this process can go on with.
        """
        ...

    def recognise(self, record: Record) -> None:
        """Look at the record before the checkpoint, where the log still holds it.

        Raises:
            Stop: it is not the one that was folded in last: this is another log.
        """
        ...

    def heed(self, dead: frozenset[int]) -> None:
        """Fold the records at these offsets as dead letters: that was decided at run time."""
        ...

    async def count(self, opens: int, begun: int) -> None:
        """Keep in the checkpoint how often the lane was opened, and its next record begun alone, without progress.

        Raises:
            Retry: the store is away, or takes nothing.
        """
        ...

    async def told(self, offset: int) -> None:
        """Keep in the checkpoint that everything below an offset is announced.

        Raises:
            Retry: the store is away.
        """
        ...

    async def skip(self, offset: int) -> None:
        """Move the checkpoint on to where the log begins: what lay between is given up."""
        ...

    async def bury(self, record: Record, reason: str, detail_type: str, attempts: int) -> tuple[OutRecord, ...]:
        """What makes a record a dead letter: the letter, and its command's outcome event where it can be read.

        Nothing where that can't be any more: it was applied before, or part of it has landed.
        """
        ...

    def collect(self, log_start: int, now_ms: int) -> OutRecord | None:
        """A look at where the log begins; a command for this partition to publish with the next commit, if due."""
        ...

    async def apply(self, records: Sequence[Record], still_ours: Callable[[], None]) -> Applied:
        """Apply a first part of these records, at least one, in one write; ``still_ours`` raises when not to write.

        Raises:
            Retry: a dependency is away; nothing is known of the last write, start again.
            Reopen: another owner is writing.
            Stop: the store is not what this lane left.
        """
        ...


class LaneObserver(Protocol):
    """Who counts what lanes do. Implementations must not block."""

    def opened(self, partition: int, checkpoint: int, committed: int | None) -> None:
        """A lane opened; where they differ it heals, up to the committed offset, or reports, up to the checkpoint."""
        ...

    def applied(self, partition: int, applied: Applied, seconds: float) -> None:
        """A batch was applied and committed."""
        ...

    def retried(self, partition: int, error: Retry, delay: float) -> None:
        """A dependency is away; the next try is in ``delay`` seconds."""
        ...

    def reopened(self, partition: int, error: Reopen) -> None:
        """A lane closes to open anew."""
        ...

    def waits(self, partition: int, seconds: float) -> None:
        """The store refused record after record, which is our own fault: the lane waits before it tries again."""
        ...

    def moved(self, partition: int, committed: int, position: int, why: str) -> None:
        """The group's committed offset was moved, by nothing of the log's."""
        ...

    def closed(self, partition: int) -> None:
        """A lane closed: its partition was taken away, or the process ends."""
        ...
