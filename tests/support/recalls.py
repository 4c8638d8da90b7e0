"""Recall processes for tests and benchmarks."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import httpx

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.dev.child import Child


class RecallProcess:
    """One `afterturn recall`, as a user runs it: configured by its environment only."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._port = free_port()
        clean = {k: v for k, v in os.environ.items() if not k.startswith(("KAFKA_", "QDRANT_", "AFTERTURN_"))}
        command = [sys.executable, "-m", "afterturn.consumers", "recall"]
        log = folder / f"recall-{self._port}.log"
        port = {"AFTERTURN_RECALL_PORT": str(self._port)}
        self.child = Child("recall", command, log, self._ready, clean | port | dict(environment))

    @property
    def url(self) -> str:
        """Where it answers."""
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Start it, and wait until it is ready."""
        self.child.start()

    def _ready(self, _: Child) -> bool:
        try:
            return httpx.get(f"{self.url}/health/ready", timeout=1).is_success
        except httpx.TransportError:
            return False
