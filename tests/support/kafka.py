"""The Kafka the tests run on: the first of four that can be had."""

import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from docker.errors import DockerException

from afterturn.consumers.dev.broker import (
    EmbeddedBroker,
    NoEmbeddedBroker,
    embedded_broker_executable,
    free_port,
    start_embedded_broker,
)
from afterturn.consumers.dev.child import Child
from support import apache_kafka, docker_kafka

Kind = Literal["env", "docker", "apache", "embedded"]
KINDS: tuple[Kind, ...] = ("env", "docker", "apache", "embedded")
NOT_PROVEN = (
    "The tests ran on the embedded broker. Not proven by that: that what was acknowledged in the second before a "
    "crash survives it, transaction timeouts, the group protocol's timing, replication, behaviour under memory "
    "pressure. With Docker, or Java 17 and Maven, they run on Apache Kafka."
)


class NoKafka(RuntimeError):  # noqa: N818 - what is missing, not another Error
    """No Kafka can be had for the tests; the text says what was tried."""


class KafkaProcess(Protocol):
    """What a broker of the tests' own can be asked to do."""

    def kill(self) -> None:
        """End it at once."""

    def restart(self) -> None:
        """Start it again with its data, on the same port, and wait until it answers."""

    def stop(self) -> None:
        """End it in order."""


@dataclass(frozen=True)
class KafkaBroker:
    """A broker to test on. `bootstrap` is its address; it stays the same after a restart."""

    bootstrap: str
    kind: Kind
    process: KafkaProcess | None = None

    @property
    def ours(self) -> bool:
        """Whether `kill` and `restart` can be called: a broker named by the environment is not ours to kill."""
        return self.process is not None

    def kill(self) -> None:
        """End it at once (SIGKILL)."""
        self._owned().kill()

    def restart(self) -> None:
        """Start it again with its data, and wait until it answers. It blocks: call it in a thread from a loop."""
        self._owned().restart()

    def settle(self) -> None:
        """Wait until what was acknowledged so far survives `kill`. A broker of Apache's needs no waiting for that.

        The embedded one writes all of its state about once a second. It blocks.
        """
        if isinstance(self.process, EmbeddedBroker):
            wait_for_snapshot(self.process.data_dir)

    def stop(self) -> None:
        """End it in order; a broker named by the environment is left alone."""
        if self.process is not None:
            self.process.stop()

    def _owned(self) -> KafkaProcess:
        if self.process is None:
            raise NoKafka(f"The broker at {self.bootstrap} was named by the environment: it is not ours to kill.")
        return self.process


@dataclass(frozen=True)
class ChildBroker:
    """A broker that is a child process."""

    child: Child

    def kill(self) -> None:
        """End it at once."""
        self.child.kill()

    def restart(self) -> None:
        """Start it again."""
        self.child.start()

    def stop(self) -> None:
        """End it in order."""
        self.child.stop()


def candidates(missing: Mapping[Kind, str | None], *, require_real: bool) -> tuple[Kind, ...]:
    """Which Kafkas to try, best first. `missing` says of each why it cannot be tried, None where it can.

    A broker named by the environment is the only candidate: whoever names one means it.

    Raises:
        NoKafka: when nothing is left.
    """
    wanted: list[Kind] = [kind for kind in KINDS if not (require_real and kind == "embedded")]
    found: tuple[Kind, ...] = tuple(kind for kind in wanted if missing[kind] is None)
    if not found:
        reasons = "; ".join(f"{kind}: {missing[kind]}" for kind in wanted)
        hint = " AFTERTURN_REQUIRE_REAL_KAFKA=1 rules the embedded broker out." if require_real else ""
        raise NoKafka(f"No Kafka for the tests ({reasons}).{hint}")
    return found[:1] if found[0] == "env" else found


def start_first(kinds: Sequence[Kind], start: Callable[[Kind], KafkaBroker]) -> tuple[KafkaBroker, tuple[str, ...]]:
    """The first broker that starts, and what became of those tried before it.

    Raises:
        NoKafka: when none starts.
    """
    notes: list[str] = []
    for kind in kinds:
        try:
            return start(kind), tuple(notes)
        except (RuntimeError, OSError, DockerException) as error:
            notes.append(f"{kind} did not start: {error}")
    raise NoKafka("No Kafka for the tests started.\n" + "\n".join(notes))


def start_session_kafka(folder: Path, environ: Mapping[str, str] = os.environ) -> KafkaBroker:
    """Start (or find) the Kafka of this test session, data below `folder`; says on stderr what was chosen and why."""
    bootstrap = environ.get("KAFKA_BOOTSTRAP_SERVERS")
    missing: dict[Kind, str | None] = {
        "env": None if bootstrap else "KAFKA_BOOTSTRAP_SERVERS is not set",
        "docker": docker_kafka.available(),
        "apache": apache_kafka.available(),
        "embedded": _no_embedded(),
    }
    kinds = candidates(missing, require_real=environ.get("AFTERTURN_REQUIRE_REAL_KAFKA") == "1")
    broker, notes = start_first(kinds, lambda kind: _start(kind, folder / kind, bootstrap))
    for note in notes:
        sys.stderr.write(f"\nKafka for the tests: {note}\n")
    return broker


def start_embedded(folder: Path) -> KafkaBroker:
    """An embedded broker on a free port, data in `folder`."""
    broker: EmbeddedBroker = start_embedded_broker(folder, free_port())
    return KafkaBroker(broker.bootstrap, "embedded", broker)


def wait_for_snapshot(data_dir: Path) -> None:
    """Wait for the embedded broker's next two snapshots: the first may have begun before; without changes none come."""
    state = data_dir / "kafka.json"
    deadline = time.monotonic() + 2.5
    seen = {_written(state)}
    while len(seen) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
        seen.add(_written(state))


def _written(path: Path) -> int:
    return path.stat().st_mtime_ns if path.exists() else 0


def _start(kind: Kind, folder: Path, bootstrap: str | None) -> KafkaBroker:
    match kind:
        case "env":
            return KafkaBroker(bootstrap or "", "env")
        case "docker":
            container = docker_kafka.DockerKafka()
            return KafkaBroker(container.bootstrap, "docker", container)
        case "apache":
            child, address = apache_kafka.start_apache_kafka(folder)
            return KafkaBroker(address, "apache", ChildBroker(child))
        case "embedded":
            return start_embedded(folder)


def _no_embedded() -> str | None:
    try:
        embedded_broker_executable()
    except NoEmbeddedBroker as error:
        return str(error)
    return None
