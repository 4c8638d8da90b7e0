"""A reader with nothing to read costs next to nothing, whatever the broker does with an empty fetch."""

from __future__ import annotations

import time

import pytest
from support.kafka import KafkaBroker
from support.log import Log

from afterturn.streams.kafka import LogReader


@pytest.mark.parametrize("broker", ["kafka", "embedded_kafka"])
async def test_an_idle_reader_leaves_the_processor_alone(
    broker: str, topic_prefix: str, request: pytest.FixtureRequest
) -> None:
    kafka: KafkaBroker = request.getfixturevalue(broker)
    async with Log.on(kafka, topic_prefix) as log, LogReader(log.settings, log.topic) as reader:
        await reader.assign({0: 0, 1: 0, 2: 0})
        spent, began = time.process_time(), time.monotonic()
        while time.monotonic() - began < 2:
            assert await reader.getmany(timeout=0.2) == {}
        assert time.process_time() - spent < 0.5, "of two seconds; polling without a pause took 1.0"
