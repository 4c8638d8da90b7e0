"""The recall service as a process: it listens at once, and gets ready by itself when what it needs can be reached."""

from __future__ import annotations

import asyncio
import gc
import importlib.util
import logging
from collections.abc import Coroutine, Iterator
from contextlib import AsyncExitStack, contextmanager
from typing import Any

from prometheus_client import CollectorRegistry

from afterturn.consumers.recall.access.gate import Gate, open_gate
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.consumers.recall.announcing import EventQueue
from afterturn.consumers.recall.answering.ends import TurnLog
from afterturn.consumers.recall.answering.engine import Recall, Seams
from afterturn.consumers.recall.health import Health
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.settings import RecallSettings, require_loopback
from afterturn.consumers.recall.watching import Watch
from afterturn.consumers.recall.web.app import create_app
from afterturn.consumers.recall.web.desk import Desk, Records
from afterturn.consumers.recall.web.following import Following
from afterturn.consumers.serving import serving
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import require
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.registry import open_embedder
from afterturn.streams.errors import BadSettings, Retry
from afterturn.streams.kafka import Admin, KafkaSettings, Producer, start_when_available
from afterturn.streams.publisher import TurnPublisher

_LOG = logging.getLogger("afterturn.recall")


async def serve_recall(
    service: ServiceSettings,
    kafka: KafkaSettings,
    store: StoreSettings,
    settings: RecallSettings,
    stop: asyncio.Event,
    access: AccessSettings | None = None,
) -> None:
    """Serve recall until ``stop`` is set; then what is being answered is finished, and events are sent.

    Without ``access``, or where it names no keys, there is no authentication.

    Raises:
        Stop: the configuration, the collection or a topic is not what this service can go on with.
    """
    metrics = RecallMetrics(CollectorRegistry())
    async with AsyncExitStack() as resources:
        gate = Gate() if access is None else open_gate(access, resources, metrics.keys_stale)
        if gate.open:
            require_loopback(settings.host)
        desk = Desk(settings, metrics, Health(metrics), gate)
        resources.enter_context(_rare_collections())
        parts = _Parts(service, kafka, store, desk, resources)
        desk.following = Following(kafka, service.topics, service.partitioner, metrics, most=settings.streams)
        app = create_app(desk)
        if settings.mcp:
            _require_mcp()
            from afterturn.consumers.recall.mcp.mounting import with_tools

            app = await resources.enter_async_context(with_tools(app, settings.topic, settings.max_body))
        async with serving(app, settings.host, settings.port) as port:
            _LOG.info("recall: listening on http://%s:%d", settings.host, port)
            try:
                await _until(stop, desk.health.failed, parts.publishing(), parts.announcing(), parts.answering())
            finally:
                desk.following.ending.set()


def _require_mcp() -> None:
    if importlib.util.find_spec("mcp") is None:
        raise BadSettings("AFTERTURN_RECALL_MCP", "it needs what pip install 'afterturn[mcp]' brings")


async def _until(stop: asyncio.Event, failed: asyncio.Future[None], *parts: Coroutine[Any, Any, None]) -> None:
    """Run these until ``stop`` is set; the first error, of one of them or of a request, ends all."""
    running = {asyncio.create_task(part) for part in parts}
    ending = asyncio.create_task(stop.wait())
    try:
        waiting: set[asyncio.Future[Any]] = {failed, ending, *running}
        while not ending.done():
            done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            for each in done:
                each.result()
    finally:
        for task in (ending, *running):
            task.cancel()
        await asyncio.gather(ending, *running, return_exceptions=True)
        failed.cancel()


@contextmanager
def _rare_collections() -> Iterator[None]:
    """An answer makes thousands of short-lived objects and no cycles: looking for these takes a fifth of its time."""
    usual = gc.get_threshold()
    gc.set_threshold(20_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _later(error: Retry, delay: float) -> None:
    """Events may wait: what keeps the service from being ready is told by its other parts."""
    _LOG.debug("events wait: %s Next try in %.1f s.", error, delay)


class _Parts:
    """Opens what the desk answers with. Each part waits for what it needs, so that none waits for another's."""

    def __init__(
        self,
        service: ServiceSettings,
        kafka: KafkaSettings,
        store: StoreSettings,
        desk: Desk,
        resources: AsyncExitStack,
    ) -> None:
        self._service = service
        self._kafka = kafka
        self._store = store
        self._desk = desk
        self._resources = resources
        settings = desk.settings
        producer = Producer(kafka, partitioner=service.partitioner, close_timeout=max(0.1, settings.event_flush))
        self._events = EventQueue(producer, service.topics.memory_events, desk.metrics, entries=settings.event_queue)

    async def publishing(self) -> None:
        """Take turns, once Kafka is there."""
        publisher = TurnPublisher(
            self._kafka,
            source=self._desk.settings.source,
            topics=self._service.topics,
            partitioner=self._service.partitioner,
            epoch=self._service.epoch,
        )
        self._resources.push_async_callback(publisher.close)
        await publisher.start(on_wait=self._desk.health.on_wait)
        self._desk.publisher = publisher
        self._desk.health.here("kafka")

    async def announcing(self) -> None:
        """Send events, as long as the service runs."""
        self._resources.push_async_callback(self._events.close, self._desk.settings.event_flush)
        await self._events.run(on_wait=_later)

    async def answering(self) -> None:
        """Answer, once the store is there and is the one this service was made for; then watch it."""
        health, settings = self._desk.health, self._desk.settings
        embedder = await start_when_available(lambda: open_embedder(self._service.embedder), on_wait=health.on_wait)
        health.here("embedder")
        self._resources.push_async_callback(embedder.close)
        fold = self._service.fold(embedder)
        client = await self._resources.enter_async_context(opened(self._store))
        await start_when_available(lambda: require(client, fold), on_wait=health.on_wait)
        store = AnswerStore(client, dimension=fold.dimension)
        admin = Admin(self._kafka, deadline=max(1.0, settings.watch_seconds))
        self._resources.push_async_callback(admin.close)
        watch = Watch(
            lambda: admin if self._desk.publisher else None, store, fold, health, seconds=settings.watch_seconds
        )
        log = TurnLog(self._kafka, admin, fold, deadline=settings.after_wait)
        self._resources.push_async_callback(log.close)
        seams = Seams(store, embedder, fold, self._events.announce, watch.heals, self._desk.metrics, log)
        self._desk.recall = recall = Recall(seams, settings)
        self._desk.records = Records.of(client, store, fold, recall.states)
        health.here("qdrant")
        health.here("collection")
        await watch.run()
