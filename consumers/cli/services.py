"""``afterturn recorder`` and ``afterturn recall``: the services, configured by the environment."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer
from pydantic_settings import BaseSettings

from afterturn.consumers.cli.options import Level, LogLevel
from afterturn.consumers.cli.running import log_to_stderr, need_service, run_until_signal
from afterturn.consumers.cli.variables import mistyped, names_of
from afterturn.streams.errors import BadSettings
from afterturn.streams.kafka import KafkaSettings

_log = logging.getLogger("afterturn.cli")


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(recorder)
    app.command()(recall)


def recorder(
    log_level: Level = LogLevel.INFO,
    accept_gap: Annotated[
        bool,
        typer.Option(
            "--accept-gap", help="Go on where the log begins, though it was cut beyond what the store has: loses that."
        ),
    ] = False,
    rebuild: Annotated[
        bool,
        typer.Option(
            "--rebuild", help="Fold the log into an empty store and tell nobody, up to where the log ends now."
        ),
    ] = False,
) -> None:
    """Record turns: the only writer of the store.

    Reads KAFKA_…, QDRANT_…, AFTERTURN_… and AFTERTURN_RECORDER_… (docs/run-for-real.md). Waits for Kafka and Qdrant,
    becomes ready by itself, and ends in order on SIGTERM.

    Example:

    ```sh
    KAFKA_BOOTSTRAP_SERVERS=kafka:9092 QDRANT_URL=http://qdrant:6333 afterturn recorder
    ```
    """
    need_service()
    from afterturn.consumers.recorder.service import Allowed, RecorderSettings, record
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    log_to_stderr(log_level)
    service, kafka, store, settings = ServiceSettings(), KafkaSettings(), StoreSettings(), RecorderSettings()
    _warn_of_mistyped(service, settings)
    with naming("AFTERTURN_RECORDER"):
        run_until_signal(lambda stop: record(service, kafka, store, settings, stop, Allowed(accept_gap, rebuild)))


def recall(log_level: Level = LogLevel.INFO) -> None:
    """Answer questions over HTTP, take turns from agents that speak no Kafka.

    Reads KAFKA_…, QDRANT_…, AFTERTURN_… and AFTERTURN_RECALL_… (docs/run-for-real.md). Without authentication it
    listens on loopback only and takes the tenant from the header `Afterturn-Tenant`; with keys or tokens
    (docs/access.md) it may listen elsewhere.

    Example:

    ```sh
    AFTERTURN_RECALL_PORT=8080 afterturn recall
    ```
    """
    need_service()
    from afterturn.consumers.recall.access.settings import AccessSettings
    from afterturn.consumers.recall.server import serve_recall
    from afterturn.consumers.recall.settings import RecallSettings
    from afterturn.consumers.settings import ServiceSettings
    from afterturn.consumers.store.settings import StoreSettings

    log_to_stderr(log_level)
    service, kafka, store, settings = ServiceSettings(), KafkaSettings(), StoreSettings(), RecallSettings()
    access = AccessSettings()
    _warn_of_mistyped(service, settings, access)
    with naming("AFTERTURN_RECALL"):
        run_until_signal(lambda stop: serve_recall(service, kafka, store, settings, stop, access))


def _warn_of_mistyped(*settings: BaseSettings) -> None:
    for name, meant in mistyped(os.environ, names_of(*(type(each) for each in settings))).items():
        _log.warning("%s is no setting and is ignored: is %s meant?", name, meant)


@contextmanager
def naming(prefix: str) -> Iterator[None]:
    """Name the variable at fault where a service can't listen.

    Raises:
        BadSettings: it can't.
    """
    from afterturn.consumers.serving import CannotListen

    try:
        yield
    except CannotListen as error:
        variable = "PORT" if error.by_port else "HOST"
        raise BadSettings(f"{prefix}_{variable}", f"{error.why}; choose another") from None
