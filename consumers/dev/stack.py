"""The launcher: broker, store, recorder and recall as child processes over one data folder."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from afterturn.consumers.dev.broker import EmbeddedBroker, accepts, free_port, start_embedded_broker
from afterturn.consumers.dev.child import Child, ChildFailed
from afterturn.consumers.dev.folder import held
from afterturn.consumers.dev.store import ENVIRONMENT
from afterturn.consumers.preparing import prepare
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams.errors import Stop
from afterturn.streams.kafka import KafkaSettings

RESTARTS = 5
"""How often a child that ended by itself is started again before the stack gives up."""


def stand_alone() -> None:
    """Forget in this process what leads to the user's own Kafka and Qdrant: for stacks that are thrown away."""
    for name in [name for name in os.environ if name.startswith(("KAFKA_", "QDRANT_"))]:
        del os.environ[name]


@dataclass(frozen=True, slots=True)
class StackPorts:
    """Where the stack listens on loopback; 0 chooses a free port."""

    kafka: int = 0
    qdrant: int = 0
    recorder: int = 0
    recall: int = 0


@dataclass(frozen=True, slots=True)
class Addresses:
    """How a running stack is reached."""

    kafka: str
    qdrant: str
    recorder: str
    recall: str

    def environment(self) -> dict[str, str]:
        """The variables that lead a client or a command to this stack."""
        return {"KAFKA_BOOTSTRAP_SERVERS": self.kafka, "QDRANT_URL": self.qdrant, "AFTERTURN_RECALL_URL": self.recall}


@dataclass(slots=True)
class _Watched:
    child: Child
    restarts: int = 0


@dataclass(slots=True)
class Stack:
    """All of Afterturn on one machine. ``KAFKA_BOOTSTRAP_SERVERS`` and ``QDRANT_URL``, where set, replace the embedded.

    ``said`` is told, in a line each, what is being started and what went wrong.
    """

    folder: Path
    said: Callable[[str], None]
    ports: StackPorts = StackPorts()
    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    _watched: list[_Watched] = field(default_factory=list)
    _broker: EmbeddedBroker | None = None
    _held: IO[str] | None = None

    async def start(self) -> Addresses:
        """Start everything and wait until it is ready.

        Raises:
            Stop: a part can't start; the text says which and why.
        """
        self._held = held(self.folder)
        self._need_free_ports()
        try:
            addresses = await asyncio.to_thread(self._start_stores)
            self.said("topics and collection")
            await self._prepare(addresses)
            await asyncio.to_thread(self._start_services, addresses)
        except (ChildFailed, RuntimeError) as failed:
            await self.stop()
            raise Stop(str(failed)) from None
        except BaseException:
            await self.stop()
            raise
        return addresses

    async def watch(self, stop: asyncio.Event) -> None:
        """Start what ends by itself again, until ``stop`` is set.

        Raises:
            Stop: a part ended more often than it may.
        """
        while not stop.is_set():
            if self._broker is not None and not self._broker.running():
                self.said("the broker ended; starting it again")
                await asyncio.to_thread(self._broker.restart)
            for each in self._watched:
                if not each.child.running():
                    await self._again(each)
            waiting = asyncio.create_task(stop.wait())
            await asyncio.wait({waiting}, timeout=0.5)
            waiting.cancel()

    async def stop(self) -> None:
        """End everything, the services first."""
        for each in reversed(self._watched):
            await asyncio.to_thread(each.child.stop)
        self._watched.clear()
        if self._broker is not None:
            await asyncio.to_thread(self._broker.stop)
            self._broker = None
        if self._held is not None:
            self._held.close()
            self._held = None

    def _need_free_ports(self) -> None:
        given = {"KAFKA_BOOTSTRAP_SERVERS": "kafka", "QDRANT_URL": "qdrant"}
        elsewhere = {part for variable, part in given.items() if variable in self.environment}
        for part in ("kafka", "qdrant", "recorder", "recall"):
            port = getattr(self.ports, part)
            if part not in elsewhere and port and accepts(port):
                raise Stop(
                    f"Port {port}, where the {part} part is to listen, is in use: by another afterturn dev, perhaps.",
                    command_that_helps=f"--{part}-port 0 chooses a free one",
                )

    async def _again(self, each: _Watched) -> None:
        each.restarts += 1
        child, words = each.child, each.child.last_words()
        if each.restarts > RESTARTS:
            raise Stop(
                f"{child.name} ended {each.restarts} times. {words or 'It said nothing.'} Its log is {child.log}."
            )
        self.said(f"{child.name} ended; starting it again (its last log is {child.earlier_log}). {words}".rstrip())
        try:
            await asyncio.to_thread(each.child.start)
        except ChildFailed as failed:
            self.said(str(failed))

    def _start_stores(self) -> Addresses:
        kafka = self.environment.get("KAFKA_BOOTSTRAP_SERVERS")
        if kafka is None:
            self.said("broker")
            self._broker = start_embedded_broker(self.folder / "kafka", self.ports.kafka or free_port())
            kafka = self._broker.bootstrap
        qdrant = self.environment.get("QDRANT_URL")
        if qdrant is None:
            self.said("store")
            port = self.ports.qdrant or free_port()
            qdrant = f"http://127.0.0.1:{port}"
            self._child(
                "store",
                ("afterturn.consumers.dev.store", "--data-dir", str(self.folder / "qdrant"), "--port", str(port)),
                ENVIRONMENT,
                _says_ready,
            )
        recorder, recall = self.ports.recorder or free_port(), self.ports.recall or free_port()
        return Addresses(kafka, qdrant, f"http://127.0.0.1:{recorder}", f"http://127.0.0.1:{recall}")

    async def _prepare(self, addresses: Addresses) -> None:
        service = ServiceSettings()
        prepared = await prepare(
            service, KafkaSettings(bootstrap_servers=addresses.kafka), StoreSettings(url=addresses.qdrant)
        )
        if not prepared.fine:
            differences = (*prepared.topic_differences, *prepared.collection_differences)
            raise Stop(
                f"What is kept in {self.folder} was made with other settings: {'; '.join(map(str, differences))}. "
                "Set them back, or use another folder."
            )

    def _start_services(self, addresses: Addresses) -> None:
        for name, url in (("recorder", addresses.recorder), ("recall", addresses.recall)):
            self.said(name)
            port = url.rpartition(":")[2]
            extra = {f"AFTERTURN_{name.upper()}_PORT": port, f"AFTERTURN_{name.upper()}_HOST": "127.0.0.1"}
            if self._broker is not None:
                # The embedded broker never gives up a member that died; one of the same name takes its place.
                extra |= {"AFTERTURN_RECORDER_INSTANCE_ID": "dev"}
            self._child(name, ("afterturn.consumers", name), addresses.environment() | extra, _answers_ready(url))

    def _child(
        self, name: str, module: tuple[str, ...], environment: Mapping[str, str], ready: Callable[[Child], bool]
    ) -> None:
        command = [sys.executable, "-m", *module]
        child = Child(name, command, self.folder / "logs" / f"{name}.log", ready, {**self.environment, **environment})
        self._watched.append(_Watched(child))
        child.start()


def _says_ready(child: Child) -> bool:
    return "\nready http" in f"\n{child.log_text()}"


def _answers_ready(url: str) -> Callable[[Child], bool]:
    def ready(_: Child) -> bool:
        try:
            with urlopen(f"{url}/health/ready", timeout=2) as answer:  # noqa: S310 - loopback, our own child
                return bool(answer.status == 200)
        except (HTTPError, URLError, OSError):
            return False

    return ready
