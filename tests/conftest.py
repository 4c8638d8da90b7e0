"""Fixtures that every test can name."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from support.kafka import NOT_PROVEN, KafkaBroker, start_embedded, start_session_kafka

# A busy machine makes single examples slow, and that says nothing about the law.
settings.register_profile("afterturn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("afterturn")

_KAFKA = pytest.StashKey[KafkaBroker]()


@pytest.fixture(scope="session")
def kafka(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Iterator[KafkaBroker]:
    """The session's Kafka: named by the environment, in Docker, Apache's with Java, or the embedded broker."""
    broker = start_session_kafka(tmp_path_factory.mktemp("kafka"))
    request.config.stash[_KAFKA] = broker
    yield broker
    broker.stop()


@pytest.fixture(scope="session")
def embedded_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """The embedded broker, whatever the session's Kafka is."""
    broker = start_embedded(tmp_path_factory.mktemp("embedded-kafka"))
    yield broker
    broker.stop()


@pytest.fixture
def topic_prefix() -> str:
    """A prefix for topics, groups and transactional ids that no other test has."""
    return f"t{uuid4().hex[:12]}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which Kafka the tests ran on, and what that leaves unproven."""
    broker = config.stash.get(_KAFKA, None)
    if broker is not None:
        terminalreporter.write_line(f"Kafka: {broker.kind} at {broker.bootstrap}")
        if broker.kind == "embedded":
            terminalreporter.write_line(NOT_PROVEN)
