"""What is published and stored: turns of about 200 bytes, and the points they fold to."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

from afterturn.consumers.recorder.cutting import cut
from afterturn.consumers.recorder.decoding import Arrival, Rejected, decode
from afterturn.consumers.recorder.embedding import embed
from afterturn.consumers.recorder.fold.plan import plan
from afterturn.consumers.recorder.fold.view import Snapshot
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.parts import Message
from afterturn.schemas.points import Checkpoint, Memory, StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import Record

WORDS = "harbour lantern meeting budget garden violin invoice release tomato ticket holiday server".split()
WORDS += "mountain recipe deadline piano customer bridge passport coffee window engine library winter".split()
WORDS += "contract doctor bicycle market painting station birthday mirror river teacher keyboard".split()
START = datetime(2026, 1, 1, tzinfo=UTC)


def text(rng: random.Random, size: int = 200) -> str:
    """About ``size`` characters of words."""
    said: list[str] = []
    length = 0
    while length < size:
        word = rng.choice(WORDS) + (str(rng.randint(1, 999)) if rng.random() < 0.2 else "")
        said.append(word)
        length += len(word) + 1
    return " ".join(said)


def turns(count: int, tenants: int, *, first: int = 0, seed: int = 1) -> Iterator[TurnCompleted]:
    """Turns of one message each, round robin over the tenants, which are numbered from ``first``."""
    rng = random.Random(seed)
    for number in range(count):
        message = Message(role="user", author=rng.choice(["Ada", "Ben", "Cleo"]), content=text(rng))
        yield TurnCompleted(
            tenant=f"tenant-{first + number % tenants}",
            thread=f"thread-{number // tenants // 40}",
            turn_id=str(number),
            occurred_at=START + timedelta(minutes=number),
            messages=(message,),
        )


def records(made: Sequence[TurnCompleted], fold: FoldSettings) -> dict[int, list[Record]]:
    """The turns as they stand on the log, by partition."""
    log: dict[int, list[Record]] = {}
    for turn in made:
        encoded = encode(turn, Attributes(turn.turn_id, "bench", turn.TYPE, turn.occurred_at))
        key = turn.tenant.encode()
        partition = partition_for(key, fold.partitions, fold.partitioner)
        stack = log.setdefault(partition, [])
        stack.append(Record(fold.topic, partition, len(stack), 1_767_225_600_000, key, encoded.value, encoded.headers))
    return log


def batches(made: Sequence[TurnCompleted], fold: FoldSettings) -> Iterator[tuple[int, int, dict[str, StoredPoint]]]:
    """What the recorder writes for these turns, batch by batch: partition, the next offset, the changed points."""
    for partition, log in records(made, fold).items():
        state: dict[str, StoredPoint] = {}
        live: dict[str, dict[str, Memory]] = {}
        waiting = [decode(record, fold) for record in log]
        at = 0
        while at < len(waiting):
            part = cut(islice(waiting, at, None), 0, fold)
            at += len(part)
            planned = plan(Snapshot(state, _tails(part, live)), part, fold)
            state.update(planned.points)
            _follow(live, planned.points)
            yield partition, part[-1].record.offset + 1, dict(planned.points)


def _tails(part: Sequence[Arrival | Rejected], live: dict[str, dict[str, Memory]]) -> dict[str, list[str]]:
    """The live memories of the batch's tenants, lowest first: what leaves where a tenant is at its cap."""
    tenants = {item.tenant for item in part if isinstance(item, Arrival)}
    return {name: sorted(live.get(name, {}), key=lambda id_: live[name][id_].evict_key or 0) for name in tenants}


def _follow(live: dict[str, dict[str, Memory]], points: Mapping[str, StoredPoint]) -> None:
    for id_, point in points.items():
        if not isinstance(point, Memory):
            continue
        of_tenant = live.setdefault(point.tenant, {})
        if point.status in ("candidate", "active", "superseded"):
            of_tenant[id_] = point
        else:
            of_tenant.pop(id_, None)


async def store_all(store: WriteStore, embedder: Embedder, made: Sequence[TurnCompleted], fold: FoldSettings) -> None:
    """Put the turns' memories into the store, without Kafka."""
    for partition, following, points in batches(made, fold):
        writes = (await embed(points, embedder)).writes
        await write(store, partition, writes, following)


async def write(store: WriteStore, partition: int, writes: Sequence[PointWrite], following: int) -> None:
    """One write as the recorder makes it."""
    checkpoint = Checkpoint(partition=partition, next=following)
    await store.write(list(writes), previous=0, next_=following, checkpoint=checkpoint)
