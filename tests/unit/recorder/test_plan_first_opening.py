"""A lane opens only on a checkpoint behind which everything has landed."""

from __future__ import annotations

from random import Random

import pytest
from support.memory_store import MemoryStore
from support.turn_logs import PARTITION, TENANTS

from afterturn.consumers.recorder.opening import settled_checkpoint
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.points import Checkpoint, Outcome, Receipt


def receipt(offset: int) -> Receipt:
    outcome = Outcome(event="memory.skipped.v1", operation="memory.record", reason="blank")
    return Receipt(partition=PARTITION, born=offset, rev=offset, tenant=TENANTS[0], outcome=outcome, digest="d")


@pytest.mark.parametrize("there", [True, False], ids=["the checkpoint is there", "the first opening of all"])
def test_what_is_before_the_checkpoint_has_landed_when_a_lane_opens(*, there: bool) -> None:
    """Another lane opens and writes its first batch at the same time; nothing of it may be missing afterwards."""
    missing = [seed for seed in range(200) if not nothing_missing(Random(seed), there=there)]
    assert not missing


def nothing_missing(rng: Random, *, there: bool) -> bool:
    store = MemoryStore(rng=rng, scheduled=True)
    if there:
        store.checkpoints[PARTITION] = Checkpoint(partition=PARTITION, next=0)
    writes = [PointWrite(f"0000000{n}-0000-5000-8000-000000000000", receipt(n)) for n in range(6)]
    found: list[bool] = []

    async def other() -> None:
        at = await settled_checkpoint(store, PARTITION)
        following = Checkpoint(partition=PARTITION, next=len(writes))
        await store.write(writes, previous=at.next, next_=following.next, checkpoint=following)

    async def ours() -> None:
        opened = await settled_checkpoint(store, PARTITION)
        found.append(len(store.content) >= opened.next)

    lanes = [other(), ours()]
    while lanes:
        store.step()
        chosen = rng.choice(lanes)
        try:
            chosen.send(None)
        except StopIteration:
            lanes.remove(chosen)
    return found == [True]
