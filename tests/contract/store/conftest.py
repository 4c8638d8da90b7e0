"""The store's contract, on the embedded store and on the Qdrant that QDRANT_URL names, if any."""

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from itertools import count
from uuid import uuid4

import pytest
from support.store import start_store
from support.store_points import DIMENSION, fold_settings

from afterturn.consumers.store.client import StoreClient, opened
from afterturn.consumers.store.collection import create_or_check, target
from afterturn.consumers.store.read import ReadStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore

_partitions = count()


@pytest.fixture(scope="session", params=["embedded", "server"])
def store_url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "server":
        url = os.environ.get("QDRANT_URL")
        if not url:
            pytest.skip("QDRANT_URL is not set: not run on a Qdrant server")
        yield url
    else:
        with start_store(tmp_path_factory.mktemp("contract") / "data") as store:
            yield store.url


@pytest.fixture
def settings_for(store_url: str) -> StoreSettings:
    """Settings with an alias of the test's own; nothing goes by it yet."""
    return StoreSettings(url=store_url, alias=f"alias-{uuid4().hex}")


@pytest.fixture
async def unmade(settings_for: StoreSettings) -> AsyncIterator[StoreClient]:
    """A client whose alias stands for nothing yet; what a test makes of it is removed."""
    async with opened(settings_for) as client:
        yield client
        await _remove(client)


@pytest.fixture(scope="session")
def shared(store_url: str) -> Iterator[StoreSettings]:
    """One collection for tests that keep to tenants and partitions of their own: making one takes a second."""
    settings = StoreSettings(url=store_url, alias=f"shared-{uuid4().hex}")

    async def make() -> None:
        async with opened(settings) as client:
            assert await create_or_check(client, fold_settings()) == []

    async def remove() -> None:
        async with opened(settings) as client:
            await _remove(client)

    asyncio.run(make())
    yield settings
    asyncio.run(remove())


@pytest.fixture
async def client(shared: StoreSettings) -> AsyncIterator[StoreClient]:
    async with opened(shared) as client:
        yield client


@pytest.fixture
def writes(client: StoreClient) -> WriteStore:
    return WriteStore(client, dimension=DIMENSION, epoch=0)


@pytest.fixture
def reads(client: StoreClient) -> ReadStore:
    return ReadStore(client, dimension=DIMENSION)


@pytest.fixture
def tenant() -> str:
    """A tenant no other test has."""
    return f"tenant-{uuid4().hex}"


@pytest.fixture
def partition() -> int:
    """A partition no other test has."""
    return next(_partitions)


async def _remove(client: StoreClient) -> None:
    name = await target(client)
    if name is not None:
        await client.api.delete_collection(name)
