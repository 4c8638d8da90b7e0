"""What a lane asks of its checkpoint before it goes on from there."""

from __future__ import annotations

from typing import Protocol

from afterturn.consumers.recorder.announcing import last_of
from afterturn.consumers.recorder.fold.plan import PLAN_VERSION
from afterturn.schemas.ids import position_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Stop
from afterturn.streams.lanes.seam import Start
from afterturn.streams.records import Record


class Checkpoints(Protocol):
    """What of the store an opening needs."""

    async def checkpoint(self, partition: int) -> Checkpoint | None:
        """The partition's checkpoint."""
        ...

    async def open_checkpoint(self, partition: int) -> Checkpoint:
        """Count an opening by a write of our own; what is read after it."""
        ...

    async def settle(self, partition: int) -> None:
        """Return once every earlier write has landed."""
        ...


async def settled_checkpoint(store: Checkpoints, partition: int) -> Checkpoint:
    """The checkpoint once readings before and after a write of our own agree: then earlier writes have landed whole."""
    before = await store.checkpoint(partition)
    after = await store.open_checkpoint(partition)
    while before is None or before.next != after.next:
        before = after
        await store.settle(partition)
        again = await store.checkpoint(partition)
        if again is None:
            raise Stop(f"The checkpoint of partition {partition} vanished while its lane was opening.")
        after = again
    return after


def check_checkpoint(checkpoint: Checkpoint, fold: FoldSettings) -> None:
    """Whether a lane may go on from this checkpoint.

    Raises:
        Stop: it was written by a newer plan, belongs to another epoch of the log, or is marked as spoilt.
    """
    where = f"The checkpoint of partition {checkpoint.partition}"
    if checkpoint.spoilt:
        raise Stop(
            f"{where} is marked spoilt: an old copy of the store was put back under a running recorder, and what it "
            "wrote since cannot be told apart. Stop all recorders, restore the copy again, and start them."
        )
    if checkpoint.plan_version > PLAN_VERSION:
        raise Stop(
            f"{where} was written by plan version {checkpoint.plan_version}; this recorder knows {PLAN_VERSION}. "
            "Run the newer version."
        )
    epoch, _ = position_of(checkpoint.next)
    if epoch != fold.epoch:
        raise Stop(f"{where} is of epoch {epoch} of the log, the collection's metadata say {fold.epoch}.")


def start_of(checkpoint: Checkpoint, fold: FoldSettings) -> Start:
    """What a lane is told of its checkpoint; what was announced in an earlier epoch is nothing of this one."""
    epoch, told = position_of(checkpoint.told or 0)
    return Start(
        next=position_of(checkpoint.next)[1],
        told=told if epoch == fold.epoch else 0,
        opens=checkpoint.opens,
        begun=checkpoint.begun,
        time_ms=checkpoint.time,
    )


def check_last_record(checkpoint: Checkpoint | None, record: Record) -> None:
    """Whether a record is the last one a checkpoint has folded in; one that keeps nothing of it fits any.

    Raises:
        Stop: it is another: the topic was made anew, or this is another log.
    """
    if checkpoint is None or checkpoint.key is None:
        return
    if (checkpoint.key, checkpoint.time) != last_of(record):
        raise Stop(
            f"The record at offset {record.offset} of partition {record.partition} of {record.topic} is not the one "
            "the store has folded in there: the topic was made anew, or this is another log. Use the log the store was "
            "made from, or another collection (QDRANT_ALIAS) and group (AFTERTURN_GROUP) for this one.",
            command_that_helps="afterturn doctor",
        )
