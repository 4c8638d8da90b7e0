"""The recorder as a process: waits for what it needs, runs the lanes, says how it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from typing import Annotated, NamedTuple, TypeVar

from prometheus_client import CollectorRegistry
from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from afterturn.consumers.recorder.announcing import Announcer
from afterturn.consumers.recorder.cutting import LIMITS, BatchLimits
from afterturn.consumers.recorder.metrics import LagCollector, RecorderMetrics
from afterturn.consumers.recorder.writer import COLLECT_AFTER, PartitionWriter
from afterturn.consumers.serving import health_app, serving
from afterturn.consumers.settings import Port, ServiceSettings
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import require
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.errors import Retry
from afterturn.streams.kafka import Admin, KafkaSettings, Stopped, start_when_available, unless_stopped
from afterturn.streams.lanes.group import LaneGroup, LaneSettings
from afterturn.streams.topics import clear_after

T = TypeVar("T")
_LOG = logging.getLogger("afterturn.recorder")


class RecorderSettings(BaseSettings):
    """Every field is read from ``AFTERTURN_RECORDER_<FIELD>``; times in seconds."""

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_RECORDER_", frozen=True, extra="ignore")

    host: Annotated[str, Field(min_length=1)] = "127.0.0.1"
    port: Port = 8081
    session_timeout: float = Field(default=10.0, ge=1, le=1_800)
    zombie_bound: float = Field(default=60.0, ge=1, le=3_600)
    drain: float = Field(default=20.0, ge=1, le=600)
    instance_id: Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")] | None = None
    collect_after: float = Field(default=COLLECT_AFTER, gt=0, le=315_360_000)
    batch_points: int = Field(default=LIMITS.points, ge=10, le=500)
    batch_bytes: int = Field(default=LIMITS.bytes, ge=2**20, le=24 * 2**20)
    batch_wait: float = Field(default=0.0, ge=0, le=5)

    @property
    def limits(self) -> BatchLimits:
        """How much one write takes."""
        return BatchLimits(self.batch_points, self.batch_bytes)


@dataclass(frozen=True, slots=True)
class Allowed:
    """What an operator allows a recorder for this run: see ``Home``."""

    accept_gap: bool = False
    rebuild: bool = False


class Here(NamedTuple):
    """What all lanes of this process write with."""

    store: WriteStore
    embedder: Embedder
    fold: FoldSettings
    announcer: Announcer


class Waiting:
    """What a starting service waits for, and since it is up, what is away."""

    def __init__(self) -> None:
        self._missing: dict[str, str] = {"lanes": "not started"}
        self.lanes: LaneGroup | None = None

    @property
    def missing(self) -> Mapping[str, str]:
        """By name, what keeps the recorder from recording."""
        closed = self.lanes.missing() if self.lanes is not None and not self._missing else None
        return self._missing if closed is None else {"lanes": closed}

    def stuck(self) -> str | None:
        """What shows that the lanes no longer go on, if they don't."""
        return None if self.lanes is None else self.lanes.stuck()

    def on_wait(self, error: Retry, delay: float) -> None:
        """Say that a dependency is away; the service tries again by itself."""
        self._missing[error.dependency or "other"] = str(error)
        _LOG.warning("waiting: %s Next try in %.1f s.", error, delay)

    def arrived(self) -> None:
        """What was missing is there."""
        self._missing.clear()


async def record(
    service: ServiceSettings,
    kafka: KafkaSettings,
    store: StoreSettings,
    settings: RecorderSettings,
    stop: asyncio.Event,
    allowed: Allowed = Allowed(),
) -> None:
    """Run a recorder until ``stop`` is set.

    Raises:
        Stop: the configuration, the collection or the log is not what this recorder can go on with.
    """
    registry = CollectorRegistry()
    metrics, waiting = RecorderMetrics(registry), Waiting()

    def readiness() -> Mapping[str, str]:
        return {**waiting.missing, **metrics.away}

    async with AsyncExitStack() as stack:
        app = health_app(readiness, registry, waiting.stuck)
        port = await stack.enter_async_context(serving(app, settings.host, settings.port))
        _LOG.info("recorder: health and metrics on http://%s:%d", settings.host, port)
        stack.enter_context(suppress(Stopped))

        async def there(start: Callable[[], Awaitable[T]]) -> T:
            return await unless_stopped(stop, start_when_available(start, on_wait=waiting.on_wait))

        embedder = await there(lambda: open_embedder(service.embedder))
        stack.push_async_callback(embedder.close)
        fold = service.fold(embedder)
        client = await stack.enter_async_context(opened(store))
        await there(lambda: require(client, fold))
        announcer = Announcer(service.topics, fold, await there(lambda: _clear_after(service, kafka)))
        memories = WriteStore(client, dimension=fold.dimension, epoch=fold.epoch)
        make = partial(_writer, Here(memories, embedder, fold, announcer), settings)
        lanes = LaneGroup(kafka, _lane_settings(service, fold, settings, allowed), make, metrics)
        waiting.lanes = lanes
        registry.register(LagCollector(lanes.lags))
        await lanes.run(stop, on_start=waiting.arrived, on_wait=waiting.on_wait)


def _writer(here: Here, settings: RecorderSettings, partition: int) -> PartitionWriter:
    return PartitionWriter(partition, *here, limits=settings.limits, collect_after=settings.collect_after)


async def _clear_after(service: ServiceSettings, kafka: KafkaSettings) -> timedelta | None:
    """When nothing of an erased tenant is left in the topics that hold content, counted from the erasure."""
    async with Admin(kafka) as admin:
        found = [await admin.topic(name) for name in (service.topics.turns, service.topics.dead_letter)]
    return clear_after([topic for topic in found if topic is not None])


def _lane_settings(
    service: ServiceSettings, fold: FoldSettings, settings: RecorderSettings, allowed: Allowed
) -> LaneSettings:
    return LaneSettings(
        topic=fold.topic,
        group=fold.group,
        zombie_bound=settings.zombie_bound,
        drain=settings.drain,
        session=settings.session_timeout,
        instance_id=settings.instance_id,
        look_every=min(60.0, settings.collect_after),
        wait=settings.batch_wait,
        dead_letters=service.topics.dead_letter,
        accept_gap=allowed.accept_gap,
        rebuild=allowed.rebuild,
    )
