from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import httpx
import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store import StoreProcess, connect, start_store
from support.store_collection import make_collection


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreProcess]:
    """One store for all tests that do not end it; each test has a collection of its own."""
    with start_store(tmp_path_factory.mktemp("store") / "data") as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


@pytest.fixture
async def client(store: StoreProcess) -> AsyncIterator[AsyncQdrantClient]:
    async with connect(store.url) as connected:
        yield connected


@pytest.fixture
async def http(store: StoreProcess) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=store.url) as connected:
        yield connected


SHARED = "memories-shared"  # making one with all its indexes takes most of a second


@pytest.fixture
async def name(client: AsyncQdrantClient) -> str:
    """An empty collection of the kind our store makes, under strict mode."""
    if await client.collection_exists(SHARED):
        await client.delete(SHARED, m.FilterSelector(filter=m.Filter()), wait=True)
    else:
        await make_collection(client, SHARED)
    return SHARED


@pytest.fixture
async def own(client: AsyncQdrantClient) -> str:
    """A collection of the test's own, without indexes and strict mode."""
    chosen = f"memories-{uuid4().hex}"
    await make_collection(client, chosen, None, {})
    return chosen
