"""Kafka in a container, where a Docker engine answers."""

import os
import socket
import sys
from contextlib import closing

from docker import from_env
from docker.errors import DockerException
from testcontainers.community.kafka import KafkaContainer

from afterturn.consumers.dev.broker import free_port

_IMAGE = "confluentinc/cp-kafka:7.9.1"
_SETTINGS = {
    "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
    "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
    "KAFKA_TRANSACTION_STATE_LOG_NUM_PARTITIONS": "1",
    "KAFKA_TRANSACTION_ABORT_TIMED_OUT_TRANSACTION_CLEANUP_INTERVAL_MS": "1000",
    "KAFKA_GROUP_MIN_SESSION_TIMEOUT_MS": "1000",
}


def available() -> str | None:
    """None where a Docker engine answers, else why not."""
    address = os.environ.get("DOCKER_HOST") or ("" if sys.platform == "win32" else "unix:///var/run/docker.sock")
    # The client leaks its socket when nobody answers on it, so that is found out first.
    if address.startswith("unix://") and not _answers(address.removeprefix("unix://")):
        return "no Docker engine answers"
    try:
        with closing(from_env(timeout=5)) as client:
            client.ping()
    except (DockerException, OSError):
        return "no Docker engine answers"
    return None


def _answers(path: str) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(path) == 0


class DockerKafka:
    """A broker in a container; the host's port is fixed, so that it is the same after a restart."""

    def __init__(self) -> None:
        self._container = KafkaContainer(_IMAGE).with_kraft()
        self._container.with_bind_ports(self._container.port, free_port())
        for name, value in _SETTINGS.items():
            self._container.with_env(name, value)
        self._container.start(timeout=120)
        self.bootstrap: str = self._container.get_bootstrap_server()

    def kill(self) -> None:
        """End the container's process at once; its file system stays."""
        self._container.get_wrapped_container().kill()

    def restart(self) -> None:
        """Start the container again."""
        self._container.get_wrapped_container().start()

    def stop(self) -> None:
        """End and remove the container."""
        self._container.stop()
