"""The embedded Kafka-compatible broker: a child process that keeps its data in one folder."""

import os
import socket
from importlib.util import find_spec
from pathlib import Path

from afterturn.consumers.dev.child import Child

__all__ = (
    "EmbeddedBroker",
    "NoEmbeddedBroker",
    "accepts",
    "embedded_broker_executable",
    "free_port",
    "start_embedded_broker",
)


class NoEmbeddedBroker(RuntimeError):  # noqa: N818 - what is missing, not another Error
    """There is no embedded broker for this platform; the text says what to do instead."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"The embedded broker cannot be started: {why}. "
            "Install afterturn[dev] where there is a wheel of noida-db for the platform, "
            "or set KAFKA_BOOTSTRAP_SERVERS to a broker you run."
        )


class EmbeddedBroker:
    """A running embedded broker. After `stop`, `restart` brings it back with its data.

    It writes all of its state about once a second, so `kill` (or a crash) loses what came in the last second.
    """

    def __init__(self, child: Child, data_dir: Path, port: int) -> None:
        self._child = child
        self.data_dir = data_dir
        self.port = port
        self.bootstrap = f"127.0.0.1:{port}"

    @property
    def pid(self) -> int | None:
        """The broker's process id, None when it does not run."""
        return self._child.pid

    def running(self) -> bool:
        """Whether the broker's process is there."""
        return self._child.running()

    def restart(self) -> None:
        """Start it again on the same port with the same data.

        Raises:
            ChildFailed: when it doesn't come up.
        """
        self._child.start()

    def kill(self) -> None:
        """End it at once, as a crash would."""
        self._child.kill()

    def stop(self) -> None:
        """End it in order; what it holds is on disk."""
        self._child.stop()


def start_embedded_broker(data_dir: Path, port: int) -> EmbeddedBroker:
    """Start the embedded broker on 127.0.0.1:`port`, with its data (and its log) below `data_dir`.

    Raises:
        NoEmbeddedBroker: when the platform has no wheel of it, or the port is taken.
        ChildFailed: when it ends at once or doesn't open its port.
    """
    executable = embedded_broker_executable()
    if accepts(port):
        raise NoEmbeddedBroker(f"port {port} is in use")
    data_dir.mkdir(parents=True, exist_ok=True)
    command = [str(executable), "start", "--data-dir", str(data_dir), "--only", "kafka", "--kafka-port", str(port)]
    child = Child("the embedded broker", command, data_dir / "broker.log", lambda _: accepts(port))
    child.start()
    return EmbeddedBroker(child, data_dir, port)


def embedded_broker_executable() -> Path:
    """The broker's own executable: its console script is a parent that does not pass signals on.

    Raises:
        NoEmbeddedBroker: when it is not installed.
    """
    spec = find_spec("noida_db")
    if spec is None or spec.origin is None:
        raise NoEmbeddedBroker("noida-db is not installed")
    executable = Path(spec.origin).with_name("noida-db.exe" if os.name == "nt" else "noida-db")
    if not executable.is_file():
        raise NoEmbeddedBroker(f"{executable} is missing")
    if not os.access(executable, os.X_OK):
        executable.chmod(0o755)  # wheels do not always carry the executable bit
    return executable


def free_port() -> int:
    """A TCP port of 127.0.0.1 that nobody listens on at the moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def accepts(port: int) -> bool:
    """Whether somebody listens on a TCP port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.settimeout(0.5)
        return probe.connect_ex(("127.0.0.1", port)) == 0
