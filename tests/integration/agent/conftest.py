"""A recorder and a recall service for all tests of a module; each test has a tenant of its own."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
from support.kafka import KafkaBroker
from support.recalls import RecallProcess
from support.recorders import service_environment
from support.recording import Recording, recording

from afterturn.streams import KafkaSettings, TurnPublisher
from afterturn.streams.agent import AgentMemory, AgentSettings


@dataclass(frozen=True)
class Services:
    """What an agent's memory stands on, and the tenant of a test."""

    recording: Recording
    recall: RecallProcess
    tenant: str

    def publisher(self, kafka: KafkaSettings | None = None) -> TurnPublisher:
        """A publisher on this log, or one that looks for it elsewhere."""
        return TurnPublisher(kafka or self.recording.kafka, source="agent", topics=self.recording.service.topics)

    def memory(self, *, kafka: KafkaSettings | None = None, url: str | None = None, **options: Any) -> AgentMemory:
        """An agent's memory; settings among the options are told apart by name."""
        fields = {name: options.pop(name) for name in list(options) if name in AgentSettings.model_fields}
        settings = AgentSettings.model_validate(
            {"recall_url": url or self.recall.url, "after_wait": 20, "recall_timeout": 30, "record_timeout": 20}
            | fields
        )
        if settings.record_over == "kafka":
            options["publisher"] = self.publisher(kafka)
        everything: dict[str, Any] = {"tenant": self.tenant, **options}
        return AgentMemory(settings, **everything)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running(
    kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[Recording, RecallProcess]]:
    folder = tmp_path_factory.mktemp("agent")
    async with recording(kafka, f"agent-{uuid4().hex[:8]}", folder, partitions="3") as made:
        environment = service_environment(kafka.bootstrap, made.store.url, made.service.topic_prefix, partitions="3")
        recall = RecallProcess(folder, environment)
        await asyncio.to_thread(recall.start)
        yield made, recall
        await asyncio.to_thread(recall.child.stop)


@pytest_asyncio.fixture(loop_scope="module")
async def services(running: tuple[Recording, RecallProcess]) -> Services:
    """The module's services, and a tenant of the test's own."""
    made, recall = running
    await made.mark(f"tenant-{uuid4().hex[:8]}")
    return Services(made, recall, made.tenant)
