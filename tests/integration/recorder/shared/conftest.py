"""One recorder for all tests of a module; each counts from where it begins, for a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from uuid import uuid4

import pytest
import pytest_asyncio
from support.kafka import KafkaBroker
from support.recording import Recording, recording


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    request: pytest.FixtureRequest, kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Recording]:
    """A recorder with one partition, or as many as the module's ``PARTITIONS``."""
    partitions = str(getattr(request.module, "PARTITIONS", 1))
    folder = tmp_path_factory.mktemp("recorder")
    async with recording(kafka, f"shared-{uuid4().hex[:8]}", folder, partitions=partitions) as made:
        yield made


@pytest_asyncio.fixture(loop_scope="module")
async def it(running: Recording) -> Recording:
    """The module's recorder, counting from here."""
    await running.mark(f"tenant-{uuid4().hex[:8]}")
    return running
