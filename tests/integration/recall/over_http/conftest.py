"""The HTTP API whole: a recorder that applies what is written, keys, and callers with them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from support.api import Caller, Keys, ready
from support.kafka import KafkaBroker
from support.log import until
from support.recall_service import Served, prepared, served
from support.recorders import RecorderProcess, service_environment
from support.store import start_store

from afterturn.consumers.recall.access.settings import AccessSettings

Calling = Callable[..., Caller]


@pytest.fixture(scope="session")
def recorded(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of services of their own, with a recorder at work."""
    with start_store(tmp_path_factory.mktemp("over-http-store") / "data") as process:
        environment = service_environment(
            kafka.bootstrap, process.url, f"over{uuid4().hex[:8]}", partitions="3", max_memories="2000"
        )
        asyncio.run(prepared(environment))
        recorder = RecorderProcess(tmp_path_factory.mktemp("over-http"), environment)
        recorder.start()
        yield environment
        recorder.child.stop()


@pytest.fixture
async def api(recorded: dict[str, str], tmp_path: Path) -> AsyncIterator[tuple[Served, Keys]]:
    keys = Keys(tmp_path / "keys.json")
    keys.save()
    async with served(recorded, AccessSettings(keys_file=keys.path)) as running:
        await until(lambda: ready(running), tick=0.05)
        yield running, keys


@pytest.fixture
def caller(api: tuple[Served, Keys], tenant: str) -> Calling:
    """Makes callers of one tenant; ``rights``, ``scope``, ``tenants`` as a key has them."""
    service, keys = api

    def made(**fields: Any) -> Caller:
        usual = {"tenants": (tenant,), "rights": ("read", "write", "erase", "admin")}
        return Caller(service.client, keys.add(**(usual | fields)))

    return made
