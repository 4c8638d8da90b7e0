"""A broker that is away: what is waited for is said, and not for ever."""

from __future__ import annotations

import asyncio

import pytest
from typer.testing import CliRunner

from afterturn.consumers.cli import watching
from afterturn.consumers.cli.app import app
from afterturn.consumers.cli.connecting import OnWait, reached, saying
from afterturn.streams.errors import BrokerUnavailable, Retry
from afterturn.streams.kafka import KafkaSettings

KAFKA = KafkaSettings(bootstrap_servers="kafka.example:9092")


def test_what_is_waited_for_is_said_once(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = saying("waiting")
    for what in ("start", "start", "ask"):
        waiting(BrokerUnavailable(what, "KafkaConnectionError"), 0.1)
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["waiting", "waiting"]


async def test_it_gives_up_in_time_and_names_the_address() -> None:
    async def start(_: OnWait) -> None:
        await asyncio.Event().wait()

    with pytest.raises(Retry, match=r"Kafka at kafka\.example:9092 was not there within 0\.01 s"):
        await reached(KAFKA, start, 0.01)


async def test_what_starts_in_time_is_left_alone() -> None:
    async def start(on_wait: OnWait) -> None:
        on_wait(BrokerUnavailable("start", "KafkaConnectionError"), 0.0)

    await reached(KAFKA, start, 10)
    await reached(KAFKA, start, None)


def test_events_that_are_not_followed_give_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "127.0.0.1:9")
    monkeypatch.setattr(watching, "GIVE_UP_S", 0.3)
    monkeypatch.setattr(watching, "log_to_stderr", lambda _: None)
    done = CliRunner().invoke(app, ["events"])
    assert isinstance(done.exception, Retry)
    assert "Kafka at 127.0.0.1:9 was not there within 0.3 s" in str(done.exception)
