"""How Kafka is reached: from the environment, with secrets that stay secret."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from afterturn.streams.errors import BadSettings
from afterturn.streams.kafka.connection import client_options
from afterturn.streams.settings import KafkaSettings


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KafkaSettings.model_fields:
        monkeypatch.delenv(f"KAFKA_{name.upper()}", raising=False)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_BOOTSTRAP_SERVERS", "one:9092,two:9092")
    monkeypatch.setenv("KAFKA_SECURITY_PROTOCOL", "SASL_SSL")
    monkeypatch.setenv("KAFKA_SASL_MECHANISM", "SCRAM-SHA-512")
    monkeypatch.setenv("KAFKA_SASL_USERNAME", "us")
    monkeypatch.setenv("KAFKA_SASL_PASSWORD", "hunter2")
    options = client_options(KafkaSettings())
    assert options["bootstrap_servers"] == "one:9092,two:9092"
    assert (options["security_protocol"], options["sasl_mechanism"]) == ("SASL_SSL", "SCRAM-SHA-512")
    assert (options["sasl_plain_username"], options["sasl_plain_password"]) == ("us", "hunter2")
    assert options["ssl_context"].check_hostname


def test_a_password_is_in_no_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_SASL_PASSWORD", "hunter2")
    monkeypatch.setenv("KAFKA_SSL_KEY_PASSWORD", "hunter2")
    assert "hunter2" not in repr(KafkaSettings()) + str(KafkaSettings()) + KafkaSettings().model_dump_json()
    with pytest.raises(ValidationError) as caught:
        KafkaSettings(security_protocol="hunter2")  # type: ignore[arg-type]
    assert "hunter2" not in str(caught.value)


def test_plain_text_needs_nothing_and_sets_nothing() -> None:
    options = client_options(KafkaSettings())
    assert options["security_protocol"] == "PLAINTEXT"
    assert not {"ssl_context", "sasl_mechanism", "sasl_plain_password"} & set(options)
    assert 10 <= options["retry_backoff_ms"] <= 20


def test_sasl_without_a_password_is_a_stop() -> None:
    with pytest.raises(BadSettings) as caught:
        client_options(KafkaSettings(security_protocol="SASL_PLAINTEXT", sasl_username="us"))
    assert caught.value.setting == "KAFKA_SASL_USERNAME"


@pytest.mark.parametrize("field", ["ssl_cafile", "ssl_certfile"])
def test_a_certificate_that_cannot_be_read_is_a_stop(field: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.pem"
    broken.write_text("no PEM")
    for path in (tmp_path / "missing.pem", broken):
        settings = KafkaSettings(security_protocol="SSL").model_copy(update={field: path})
        with pytest.raises(BadSettings) as caught:
            client_options(settings)
        assert caught.value.setting == f"KAFKA_{field.upper()}"


def test_settings_do_not_change() -> None:
    with pytest.raises(ValidationError):
        KafkaSettings().client_id = "other"


@pytest.mark.parametrize("servers", ["kafka:x", "kafka:9092,b:y", "kafka:99999", "", "a b:1", "http://kafka:9092"])
def test_an_address_that_is_none_is_refused_where_it_is_given(servers: str) -> None:
    with pytest.raises(ValidationError, match="must be host:port"):
        KafkaSettings(bootstrap_servers=servers)


@pytest.mark.parametrize("servers", ["kafka", "kafka:9092", "one:9092,two:9092", "[::1]:9092", "a.b-c_d:1, 10.0.0.1:2"])
def test_an_address_is_taken_as_the_client_takes_it(servers: str) -> None:
    assert KafkaSettings(bootstrap_servers=servers).bootstrap_servers == servers
