"""Every promise in every fault: real processes, a load all the way, and all that is left behind compared."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from faults.scenarios import SCENARIOS
from faults.world import LONG, SHORT, world_on
from support.apache_kafka import start_apache_kafka
from support.docker_kafka import DockerKafka
from support.kafka import ChildBroker, KafkaBroker

pytestmark = pytest.mark.timeout(600)


async def test_what_is_promised_holds_after(
    fault: str, kafka: KafkaBroker, topic_prefix: str, tmp_path: Path, fault_rng: random.Random, long_form: bool
) -> None:
    scenario = SCENARIOS[fault]
    hindrance = scenario.hindrance(kafka.kind)
    if hindrance is not None:
        pytest.skip(hindrance)
    with _broker(kafka, tmp_path / "kafka", own=scenario.broker == "own") as broker:
        async with world_on(broker, tmp_path, topic_prefix, LONG if long_form else SHORT, fault_rng) as world:
            await scenario.run(world)


@contextmanager
def _broker(session: KafkaBroker, folder: Path, *, own: bool) -> Iterator[KafkaBroker]:
    """The session's broker, or one of the same kind that may be killed."""
    if not own:
        yield session
        return
    if session.kind == "docker":
        container = DockerKafka()
        broker = KafkaBroker(container.bootstrap, "docker", container)
    else:
        child, address = start_apache_kafka(folder)
        broker = KafkaBroker(address, "apache", ChildBroker(child))
    try:
        yield broker
    finally:
        broker.stop()
