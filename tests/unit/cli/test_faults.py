"""What errors say to whoever ran a command."""

from __future__ import annotations

import pytest
from pydantic import BaseModel, ValidationError
from pydantic_settings import BaseSettings

from afterturn.consumers.cli.faults import text_of, wrong_settings
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.errors import NoCollection, StoreAway
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.openai_client import OpenAISettings
from afterturn.schemas.query import Accepted
from afterturn.streams.errors import AfterturnError, BadSettings, BrokerUnavailable, UnknownTopic
from afterturn.streams.kafka import KafkaSettings


def lines_of(kind: type[BaseSettings], monkeypatch: pytest.MonkeyPatch, **variables: str) -> list[str]:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ValidationError) as wrong:
        kind()
    found = wrong_settings(wrong.value)
    assert found is not None
    assert not any("sesame" in line for line in found)
    return found


def test_each_setting_has_a_line_with_its_variable_and_default(monkeypatch: pytest.MonkeyPatch) -> None:
    found = lines_of(ServiceSettings, monkeypatch, AFTERTURN_PARTITIONS="abc", AFTERTURN_LONG="foo")
    assert found == [
        "AFTERTURN_PARTITIONS must be a valid integer (unset, it is 12)",
        "AFTERTURN_LONG must be 'split' or 'cut' (unset, it is split)",
    ]


@pytest.mark.parametrize("url", ["sesame", "ftp://sesame", "http://", "sesame:6333"])
def test_the_stores_address_must_be_a_url(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    (line,) = lines_of(StoreSettings, monkeypatch, QDRANT_URL=url)
    assert line.startswith("QDRANT_URL must be a URL that begins with http:// or https://")


def test_a_secret_beside_a_fault_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    lines_of(KafkaSettings, monkeypatch, KAFKA_SASL_PASSWORD="sesame", KAFKA_SECURITY_PROTOCOL="sesame")
    lines_of(OpenAISettings, monkeypatch, OPENAI_API_KEY="sesame", OPENAI_TIMEOUT_S="sesame")


def test_another_models_fault_is_no_setting() -> None:
    with pytest.raises(ValidationError) as wrong:
        Accepted.model_validate({})
    assert issubclass(Accepted, BaseModel)
    assert wrong_settings(wrong.value) is None


@pytest.mark.parametrize(
    ("error", "address"),
    [
        (BrokerUnavailable("send", "KafkaTimeoutError"), " (KAFKA_BOOTSTRAP_SERVERS=kafka:9092)"),
        (UnknownTopic("afterturn.turns"), " (KAFKA_BOOTSTRAP_SERVERS=kafka:9092)"),
        (StoreAway("a read", "TimeoutError"), " (QDRANT_URL=http://qdrant:6333)"),
        (NoCollection("memories"), " (QDRANT_URL=http://qdrant:6333)"),
        (BadSettings("AFTERTURN_RECALL_HOST", "it is none"), ""),
        (BrokerUnavailable("send to kafka:9092", "KafkaTimeoutError"), ""),
    ],
)
def test_the_address_is_named_once_and_without_credentials(
    monkeypatch: pytest.MonkeyPatch, error: AfterturnError, address: str
) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "kafka:9092")
    monkeypatch.setenv("QDRANT_URL", "http://user:sesame@qdrant:6333")
    assert text_of(error) == f"{error}{address}"
    monkeypatch.setenv("QDRANT_URL", "foo")
    monkeypatch.setenv("KAFKA_SECURITY_PROTOCOL", "foo")
    assert text_of(error) == str(error), "settings that can't be read have no address"
