"""When a log is drained, and what it is moved to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from afterturn.consumers.repartitioning import MAX_EPOCH, Drained, lacks_of, target_of
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Checkpoint
from afterturn.schemas.settings import FoldSettings

FOLD = FoldSettings(embedder="e", dimension=2, topic="a.turns", partitions=2, group="g", epoch=3)
DRAINED = Drained(
    ends={0: 12, 1: 0},
    committed={0: 11, 1: None},  # a transaction's marker stands behind the last record
    unread={0: 0, 1: 0},
    checkpoints={0: Checkpoint(partition=0, next=rev_of(3, 11)), 1: None},
)


def test_a_drained_log_lacks_nothing() -> None:
    assert lacks_of(DRAINED, FOLD) == ()
    opened = {**DRAINED.checkpoints, 1: Checkpoint(partition=1, next=rev_of(3, 0))}
    assert lacks_of(replace(DRAINED, checkpoints=opened, committed={0: 11, 1: 0}), FOLD) == ()


@pytest.mark.parametrize(
    ("found", "lack"),
    [
        (replace(DRAINED, members=1), "the group g has 1 member at work: end it"),
        (replace(DRAINED, members=2), "the group g has 2 members at work: end every recorder"),
        (replace(DRAINED, unread={0: 1, 1: 0}), "partition 0: 1 not recorded (committed 11, the log ends at 12)"),
        (replace(DRAINED, unread={0: 0, 1: 4}, ends={0: 12, 1: 4}), "partition 1: 4 not recorded (committed 0"),
        (replace(DRAINED, committed={0: 12, 1: None}), "partition 0: the store is at 11, the group has committed 12"),
        (
            replace(DRAINED, checkpoints={0: None, 1: None}),
            "partition 0: the store is at 0, the group has committed 11",
        ),
        (
            replace(DRAINED, checkpoints={0: Checkpoint(partition=0, next=rev_of(2, 11)), 1: None}),
            "partition 0: the store is in epoch 2, not 3",
        ),
        (
            replace(DRAINED, checkpoints={0: Checkpoint(partition=0, next=rev_of(3, 11), spoilt=True), 1: None}),
            "partition 0: its checkpoint is marked spoilt",
        ),
    ],
)
def test_what_a_log_lacks_is_said_by_partition(found: Drained, lack: str) -> None:
    (said,) = lacks_of(found, FOLD)
    assert said.startswith(lack)


def test_the_target_is_the_next_epoch_of_another_topic() -> None:
    to = target_of(FOLD, 5, "b")
    assert (to.topic, to.partitions, to.epoch) == ("b.turns", 5, 4)
    assert {name for name, _, _ in FOLD.differences(to)} == {"topic", "partitions", "epoch"}
    with pytest.raises(ContractError, match="--prefix"):
        target_of(FOLD, 5, "a")
    with pytest.raises(ContractError, match="last epoch"):
        target_of(FOLD.model_copy(update={"epoch": MAX_EPOCH}), 5, "b")
