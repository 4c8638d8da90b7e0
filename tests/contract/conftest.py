"""What contract tests of more than one module need."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from support.kafka import KafkaBroker
from support.lanes import LaneLog


@pytest.fixture
async def lanes(kafka: KafkaBroker, topic_prefix: str) -> AsyncIterator[LaneLog]:
    """A log of three partitions, and lanes over a store in memory."""
    async with LaneLog.on(kafka, topic_prefix) as it:
        yield it
