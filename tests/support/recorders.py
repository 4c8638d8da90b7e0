"""Recorder processes for tests: made ready, killed at any moment, started again."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.dev.child import Child
from afterturn.consumers.settings import ServiceSettings


class RecorderProcess:
    """One `afterturn recorder`, as a user runs it: configured by its environment only."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._port = free_port()
        self.environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("KAFKA_", "QDRANT_", "AFTERTURN_"))},
            "AFTERTURN_RECORDER_PORT": str(self._port),
            # A killed one takes its own place again at once, also on a broker that gives up nobody.
            "AFTERTURN_RECORDER_INSTANCE_ID": f"recorder-{self._port}",
            **environment,
        }
        command = [sys.executable, "-m", "afterturn.consumers", "recorder"]
        self.child = Child("recorder", command, folder / f"recorder-{self._port}.log", self._listens, self.environment)

    @property
    def url(self) -> str:
        """Its health and metrics."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it answers; it may still wait for its dependencies."""
        self.child.start()

    def ready(self) -> dict[str, object]:
        """What it says of its readiness."""
        body: dict[str, object] = httpx.get(f"{self.url}/health/ready", timeout=30).json()
        return body

    def endings(self) -> dict[str, int]:
        """How many records ended how, by its metrics, since it started."""
        found: dict[str, int] = {}
        for line in httpx.get(f"{self.url}/metrics", timeout=30).text.splitlines():
            if line.startswith("afterturn_recorder_records_total{"):
                name, value = line.split('ending="')[1].split('"} ')
                found[name] = int(float(value))
        return found

    def _listens(self, _: Child) -> bool:
        try:
            return httpx.get(f"{self.url}/health/live", timeout=1).is_success
        except httpx.TransportError:
            return False


def service_environment(bootstrap: str, qdrant: str, prefix: str, **settings: str) -> dict[str, str]:
    """The environment of a service on this Kafka and this store, with topics and group of its own."""
    return {
        "KAFKA_BOOTSTRAP_SERVERS": bootstrap,
        "QDRANT_URL": qdrant,
        "AFTERTURN_TOPIC_PREFIX": prefix,
        "AFTERTURN_GROUP": f"{prefix}-recorder",
        **{f"AFTERTURN_{name.upper()}": value for name, value in settings.items()},
    }


def service_settings(environment: Mapping[str, str]) -> ServiceSettings:
    """The settings a service reads from such an environment."""
    fields = {k.removeprefix("AFTERTURN_").lower(): v for k, v in environment.items() if k.startswith("AFTERTURN_")}
    return ServiceSettings.model_validate(fields)
