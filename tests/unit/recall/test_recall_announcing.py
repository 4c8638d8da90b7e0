"""Events of recall: a full queue and an absent broker cost events, never an answer; every event is counted."""

from datetime import UTC, datetime

import pytest
from prometheus_client import CollectorRegistry

from afterturn.consumers.recall.announcing import EventQueue
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.schemas.events import Recalled
from afterturn.streams.kafka import KafkaSettings, Producer

EVENT = Recalled(tenant="ann", at=datetime(2026, 3, 1, tzinfo=UTC))


def queue(entries: int) -> tuple[EventQueue, CollectorRegistry]:
    registry = CollectorRegistry()
    producer = Producer(KafkaSettings(bootstrap_servers="127.0.0.1:1"))
    return EventQueue(producer, "events", RecallMetrics(registry), entries=entries), registry


def dropped(registry: CollectorRegistry) -> float:
    return registry.get_sample_value("afterturn_recall_events_total", {"ending": "dropped"}) or 0


async def test_what_exceeds_the_queue_is_dropped_and_counted() -> None:
    events, registry = queue(3)
    for _ in range(5):
        events.announce(EVENT)
    assert dropped(registry) == 2
    assert registry.get_sample_value("afterturn_recall_events_waiting") == 3


@pytest.mark.parametrize("seconds", [0.0, 5.0])
async def test_closing_without_a_broker_counts_all_that_waited(seconds: float) -> None:
    events, registry = queue(10)
    for _ in range(4):
        events.announce(EVENT)
    await events.close(seconds)
    assert dropped(registry) == 4
    assert registry.get_sample_value("afterturn_recall_events_waiting") == 0
