"""Apache Kafka with Java, from Maven artifacts that are kept in a cache: one node, one process."""

import fcntl
import os
import re
import shutil
import subprocess
from base64 import urlsafe_b64encode
from itertools import count
from pathlib import Path
from uuid import uuid4

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.dev.child import Child

VERSION = "4.4.0"
REPOSITORY = Path(__file__).parents[2]
_POM = Path(__file__).with_name("kafka_pom.xml")
_COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy-dependencies"
_JAVA = ("-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn")
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
log.dirs={data}
auto.create.topics.enable=false
num.partitions=1
default.replication.factor=1
min.insync.replicas=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
share.coordinator.state.topic.num.partitions=1
group.initial.rebalance.delay.ms=0
group.min.session.timeout.ms=1000
num.network.threads=2
num.io.threads=2
num.replica.fetchers=1
num.recovery.threads.per.data.dir=1
background.threads=2
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=2097152
transaction.abort.timed.out.transaction.cleanup.interval.ms=1000
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=200
"""


def cache_dir() -> Path:
    """Where the jars are kept: below AFTERTURN_CACHE, else below the repository's .cache."""
    return Path(os.environ.get("AFTERTURN_CACHE") or REPOSITORY / ".cache") / "kafka" / VERSION


def available() -> str | None:
    """None where Apache Kafka can be tried, else what is missing."""
    java = java_version()
    if java is None:
        return "there is no java"
    if java < 17:
        return f"java is {java}, Apache Kafka needs 17"
    if not cache_dir().is_dir() and shutil.which("mvn") is None:
        return "there is no mvn to fetch Apache Kafka with"
    return None


def java_version() -> int | None:
    """The major version of the java on the path, None where there is none."""
    java = shutil.which("java")
    if java is None:
        return None
    answer = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30, check=False)
    found = re.search(r'version "(\d+)', answer.stderr)
    return int(found.group(1)) if answer.returncode == 0 and found else None


def fetch_jars() -> Path:
    """The folder with Kafka's jars, fetched once (43 MB).

    Raises:
        RuntimeError: when Maven cannot get them.
    """
    jars = cache_dir()
    jars.parent.mkdir(parents=True, exist_ok=True)
    with (jars.parent / "lock").open("w") as lock:  # of the processes of a run, one fetches
        fcntl.flock(lock, fcntl.LOCK_EX)
        return jars if jars.is_dir() else _fetched(jars)


def _fetched(jars: Path) -> Path:
    part = jars.with_name(f"{VERSION}.{uuid4().hex}")
    command = ["mvn", "-q", "-B", "-f", str(_POM), _COPY, f"-DoutputDirectory={part}", "-DincludeScope=runtime"]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    if answer.returncode != 0:
        shutil.rmtree(part, ignore_errors=True)
        raise RuntimeError(f"Maven did not get Apache Kafka {VERSION}:\n{(answer.stdout + answer.stderr)[-2000:]}")
    part.rename(jars)
    return jars


def start_apache_kafka(folder: Path) -> tuple[Child, str]:
    """Start a broker with its data in `folder`; the child and its bootstrap address.

    Raises:
        RuntimeError: when the jars are not to be had, or the broker doesn't start.
    """
    jars = fetch_jars()
    folder.mkdir(parents=True, exist_ok=True)
    port, controller = free_port(), free_port()
    properties = folder / "server.properties"
    properties.write_text(_PROPERTIES.format(port=port, controller=controller, data=folder / "data"), encoding="utf-8")
    _format(jars, properties)
    command = [
        *("java", "-Xms64m", "-Xmx256m", *_JAVA, "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info"),
        *("-cp", f"{jars}/*", "kafka.Kafka", str(properties)),
    ]
    child = Child("Apache Kafka", command, folder / "kafka.log", lambda it: "Kafka Server started" in it.log_text())
    child.start()
    return child, f"127.0.0.1:{port}"


def _format(jars: Path, properties: Path) -> None:
    ids = (urlsafe_b64encode(uuid4().bytes).decode().rstrip("=") for _ in count())
    cluster = next(each for each in ids if not each.startswith("-"))  # or it is taken for an option
    command = [
        *("java", "-Xmx128m", *_JAVA, "-cp", f"{jars}/*", "kafka.tools.StorageTool"),
        *("format", "-t", cluster, "-c", str(properties)),
    ]
    answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    if answer.returncode != 0:
        raise RuntimeError(f"Kafka's data folder could not be formatted:\n{answer.stderr[-2000:]}")
