"""Fixtures that every test can name."""

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, settings
from support.kafka import NOT_PROVEN, KafkaBroker, start_embedded, start_session_kafka

# A busy machine makes single examples slow, and that says nothing about the law.
settings.register_profile("afterturn", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("afterturn")

_KAFKA = pytest.StashKey[KafkaBroker]()
_KINDS: set[str] = set()
_HERE = Path(__file__).parent


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


def pytest_configure(config: pytest.Config) -> None:
    """All processes of a run choose the same faults."""
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Workers())
        os.environ.setdefault("AFTERTURN_FAULT_SEED", str(random.SystemRandom().randrange(1, 10**6)))


def pytest_report_header() -> str:
    """Said before anything can hang, too."""
    return f"faults: seed {os.environ['AFTERTURN_FAULT_SEED']} (AFTERTURN_FAULT_SEED makes the same again)"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of a module stay in one process, and share what it has made; so do whole stacks. Each fault goes alone."""
    for item in items:
        folders = item.path.relative_to(_HERE).parts
        if folders[0] != "faults":
            item.add_marker(pytest.mark.xdist_group("e2e" if folders[0] == "e2e" else str(item.path)))


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A process of several tells the one that started it which Kafka it had."""
    told: dict[str, str] | None = getattr(session.config, "workeroutput", None)
    if told is not None and (broker := session.config.stash.get(_KAFKA, None)) is not None:
        told["kafka"] = broker.kind


class _Workers:
    """What the processes of a run had."""

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        if "kafka" in (told := getattr(node, "workeroutput", {})):
            _KINDS.add(told["kafka"])


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Say which Kafka the tests ran on, and what that leaves unproven."""
    broker = config.stash.get(_KAFKA, None)
    kinds = _KINDS | ({broker.kind} if broker is not None else set())
    if kinds:
        terminalreporter.write_line(f"Kafka: {', '.join(sorted(kinds))}")
    if "embedded" in kinds:
        terminalreporter.write_line(NOT_PROVEN)
