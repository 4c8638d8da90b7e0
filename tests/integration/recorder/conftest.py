"""A recorder process on the session's Kafka and an embedded store, with topics of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.kafka import KafkaBroker
from support.recording import Recording, recording


@pytest.fixture
async def it(kafka: KafkaBroker, topic_prefix: str, tmp_path: Path) -> AsyncIterator[Recording]:
    """A recorder with one partition."""
    async with recording(kafka, topic_prefix, tmp_path) as made:
        yield made
