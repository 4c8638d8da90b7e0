"""The bare loop that throughput is held against: embed, upsert, embed, upsert, of points that are made beforehand.

The same points in the same batches as the recorder writes. No Kafka, no reads, no decoding, no plan, no events.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import count

from afterturn.consumers.recorder.embedding import embed
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.schemas.commands import TurnCompleted
from bench.lanes import WARM, Place, plain_store
from bench.workload import batches, write

_numbers = count()


async def raw_rate(there: Place, turns: Sequence[TurnCompleted]) -> float:
    """Messages a second of the bare loop, from the first fifth on; its collection is removed afterwards."""
    settings = there.store.model_copy(update={"alias": f"{there.store.alias}-raw-{next(_numbers)}"})
    fold = there.service.fold(there.embedder)
    prepared = list(batches(turns, fold))
    first = int(len(prepared) * WARM)
    async with opened(settings) as client:
        await create_or_check(client, fold)
        memories = plain_store(client, fold)
        began, done, before = time.perf_counter(), 0, {partition: 0 for partition, _, _ in prepared}
        for number, (partition, following, points) in enumerate(prepared):
            if number == first:
                began = time.perf_counter()
            await write(memories, partition, (await embed(points, there.embedder)).writes, following)
            done += following - before[partition] if number >= first else 0
            before[partition] = following
        spent = time.perf_counter() - began
        async with client.call("removing a collection") as api:
            for each in (await api.get_collection_aliases(settings.alias)).aliases:
                await api.delete_collection(each.collection_name)
    return done / spent
