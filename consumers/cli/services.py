"""``afterturn recorder`` and ``afterturn recall``: the services, configured by the environment."""

from __future__ import annotations

from typing import Annotated

import typer

from afterturn.consumers.cli.running import log_to_stderr, need_service, run_until_signal
from afterturn.streams.kafka import KafkaSettings

LogLevel = Annotated[str, typer.Option(help="debug, info, warning or error", envvar="AFTERTURN_LOG_LEVEL")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(recorder)
    app.command()(recall)


def recorder(log_level: LogLevel = "info") -> None:
    """Record turns: the only writer of the store.

    Reads KAFKA_…, QDRANT_…, AFTERTURN_… and AFTERTURN_RECORDER_… (docs/run-for-real.md). Waits for Kafka and Qdrant,
    becomes ready by itself, and ends in order on SIGTERM.

    Example: `KAFKA_BOOTSTRAP_SERVERS=kafka:9092 QDRANT_URL=http://qdrant:6333 afterturn recorder`
    """
    need_service()
    from afterturn.consumers.recorder.service import RecorderSettings, record
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    log_to_stderr(log_level)
    run_until_signal(lambda stop: record(ServiceSettings(), KafkaSettings(), StoreSettings(), RecorderSettings(), stop))


def recall(log_level: LogLevel = "info") -> None:
    """Answer questions over HTTP, take turns from agents that speak no Kafka.

    Reads KAFKA_…, QDRANT_…, AFTERTURN_… and AFTERTURN_RECALL_… (docs/run-for-real.md). Without authentication it
    listens on loopback only and takes the tenant from the header `Afterturn-Tenant`.

    Example: `AFTERTURN_RECALL_PORT=8080 afterturn recall`
    """
    need_service()
    from afterturn.consumers.recall.server import serve_recall
    from afterturn.consumers.recall.settings import RecallSettings
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    log_to_stderr(log_level)
    run_until_signal(
        lambda stop: serve_recall(ServiceSettings(), KafkaSettings(), StoreSettings(), RecallSettings(), stop)
    )
