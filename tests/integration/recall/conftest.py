"""A store and an embedder; each test keeps to tenants of its own."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from uuid import uuid4

import pytest
from support.kafka import KafkaBroker
from support.recall_bench import Bench, bench_on, make_collection
from support.recall_service import prepared
from support.recalls import RecallProcess
from support.recorders import service_environment
from support.store import StoreProcess, start_store

from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder


@pytest.fixture(scope="session")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreProcess]:
    """A store for all tests that leave it alone."""
    with start_store(tmp_path_factory.mktemp("recall-store") / "data") as process:
        asyncio.run(make_collection(StoreSettings(url=process.url)))
        yield process


@pytest.fixture
def own_store(tmp_path: Path) -> Iterator[StoreProcess]:
    """A store for a test that ends or stops it."""
    with start_store(tmp_path / "data") as process:
        asyncio.run(make_collection(StoreSettings(url=process.url)))
        yield process


@pytest.fixture
def tenant() -> str:
    """A tenant no other test has."""
    return f"tenant-{uuid4().hex}"


@pytest.fixture
async def embedder() -> AsyncIterator[Embedder]:
    loaded = await open_embedder("wordllama")
    yield loaded
    await loaded.close()


@pytest.fixture
async def bench(store: StoreProcess, embedder: Embedder) -> AsyncIterator[Bench]:
    async with bench_on(StoreSettings(url=store.url), embedder) as made:
        yield made


@pytest.fixture
async def own_bench(own_store: StoreProcess, embedder: Embedder) -> AsyncIterator[Bench]:
    async with bench_on(StoreSettings(url=own_store.url), embedder) as made:
        yield made


@pytest.fixture(scope="session")
def http_environment(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of services on a store of their own, their topics and collection made."""
    with start_store(tmp_path_factory.mktemp("http-store") / "data") as process:
        prefix = f"http{uuid4().hex[:8]}"
        environment = service_environment(kafka.bootstrap, process.url, prefix, partitions="3")
        asyncio.run(prepared(environment))
        yield environment


@pytest.fixture(scope="session")
def service(http_environment: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecallProcess]:
    """A recall process, ready."""
    process = RecallProcess(tmp_path_factory.mktemp("service"), http_environment)
    process.start()
    yield process
    process.child.stop()
