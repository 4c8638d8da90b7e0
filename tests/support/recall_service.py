"""The recall service within a test's own loop, and what it needs made for it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass

import httpx

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.preparing import prepare
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.consumers.recall.server import serve_recall
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams.errors import Stop
from afterturn.streams.kafka import KafkaSettings
from support.log import until
from support.recorders import service_settings


@dataclass
class Served:
    """A service that runs, and how to ask it."""

    client: httpx.AsyncClient
    task: asyncio.Task[None]
    stop: asyncio.Event

    async def missing(self) -> dict[str, str]:
        """What keeps it from being ready."""
        answer = await self.client.get("/health/ready")
        missing: dict[str, str] = answer.json()["missing"]
        assert answer.status_code == (503 if missing else 200)
        return missing

    async def live(self) -> bool:
        """Whether it answers at all; the error of one that ended is raised."""
        if self.task.done():
            self.task.result()
        try:
            return (await self.client.get("/health/live")).is_success
        except httpx.TransportError:
            return False


async def prepared(environment: Mapping[str, str]) -> None:
    """Make the topics and the collection of an environment."""
    kafka = KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"], request_timeout_s=30)
    made = await prepare(service_settings(environment), kafka, StoreSettings(url=environment["QDRANT_URL"]))
    assert made.fine, made


@asynccontextmanager
async def served(
    environment: Mapping[str, str], access: AccessSettings | None = None, **settings: object
) -> AsyncIterator[Served]:
    """The service in this environment, as soon as it answers; it ends in order."""
    port, stop = free_port(), asyncio.Event()
    running = serve_recall(
        service_settings(environment),
        KafkaSettings(bootstrap_servers=environment["KAFKA_BOOTSTRAP_SERVERS"], request_timeout_s=2),
        StoreSettings(url=environment["QDRANT_URL"], timeout=2),
        RecallSettings.model_validate({"port": port, "watch_seconds": 0.5} | settings),
        stop,
        access,
    )
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        service = Served(client, asyncio.create_task(running), stop)
        try:
            await until(service.live)
            yield service
        finally:
            stop.set()
            with suppress(Stop):
                await service.task
