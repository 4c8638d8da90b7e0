"""The store goes away and comes back: one error says so, and the same client goes on."""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.store import StoreProcess, start_store
from support.store_points import DIMENSION, fold_settings, memory, pid, put

from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check, require
from afterturn.consumers.store.errors import StoreAway
from afterturn.consumers.store.read import ReadStore, Search
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.points import Checkpoint
from afterturn.streams.errors import Retry


@pytest.fixture
def process(tmp_path: Path) -> Iterator[StoreProcess]:
    with start_store(tmp_path / "data") as running:
        yield running


async def test_killed_it_is_away_and_afterwards_everything_acknowledged_is_there(process: StoreProcess) -> None:
    ours = fold_settings()
    async with opened(StoreSettings(url=process.url)) as client:
        await create_or_check(client, ours)
        writes, reads = WriteStore(client, dimension=DIMENSION, epoch=0), ReadStore(client, dimension=DIMENSION)
        batch = [put("a", memory("t", 1, 9), [1.0, 0.0, 0.0, 0.0])]
        written = Checkpoint(partition=0, next=10)
        await writes.write(batch, previous=0, next_=10, checkpoint=written)
        process.kill()
        with pytest.raises(StoreAway) as away:
            await writes.write(batch, previous=0, next_=10, checkpoint=written)
        assert isinstance(away.value, Retry)
        assert away.value.dependency == "qdrant"
        with pytest.raises(StoreAway):
            await reads.search(Search(tenant="t"), [1.0, 0.0, 0.0, 0.0], ([1], [1.0]))
        with pytest.raises(StoreAway):
            await require(client, ours)
        process.restart()
        await require(client, ours)
        assert await writes.checkpoint(0) == written
        found = await reads.search(Search(tenant="t"), [1.0, 0.0, 0.0, 0.0], None)
        assert [hit.id for hit in found.dense] == [pid("a")]


async def test_frozen_it_is_away_within_the_timeout(process: StoreProcess) -> None:
    async with opened(StoreSettings(url=process.url, timeout=0.3)) as client:
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        started = time.monotonic()
        try:
            with pytest.raises(StoreAway, match="TimeoutError"):
                await WriteStore(client, dimension=DIMENSION, epoch=0).checkpoint(0)
        finally:
            os.kill(process.pid, signal.SIGCONT)
        assert time.monotonic() - started < 5
