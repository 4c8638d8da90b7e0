"""How to reach Kafka: read from the environment, or given in code."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ("KafkaSettings",)


_SERVER = re.compile(r"(?:\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+)(?::(\d{1,5}))?")


def _servers(text: str) -> str:
    found = [_SERVER.fullmatch(each.strip()) for each in text.split(",")]
    if not all(each is not None and int(each[1] or 1) in range(1, 65_536) for each in found):
        raise ValueError("must be host:port, or several with commas between")
    return text


class KafkaSettings(BaseSettings):
    """Where the brokers are and how to speak to them. Every field is `KAFKA_` and its name in the environment.

    Secrets are masked in every text made of it.
    """

    model_config = SettingsConfigDict(env_prefix="KAFKA_", frozen=True, extra="ignore", hide_input_in_errors=True)

    bootstrap_servers: Annotated[str, AfterValidator(_servers)] = Field(
        default="127.0.0.1:9092", description="host:port, or several, separated by commas"
    )
    client_id: str = Field(default="afterturn", description="what the brokers' logs and quotas call this client")
    security_protocol: Literal["PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL"] = "PLAINTEXT"
    sasl_mechanism: Literal["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"] = "PLAIN"
    sasl_username: str | None = None
    sasl_password: SecretStr | None = None
    ssl_cafile: Path | None = Field(default=None, description="PEM of the authority; the system's where it is not set")
    ssl_certfile: Path | None = Field(default=None, description="PEM of the client's certificate, for mutual TLS")
    ssl_keyfile: Path | None = Field(
        default=None, description="PEM of the client's key, where it is not in the certificate's file"
    )
    ssl_key_password: SecretStr | None = None
    ssl_check_hostname: bool = Field(default=True, description="whether the broker's certificate must name its host")
    request_timeout_s: float = Field(
        default=10.0, gt=0, le=3_600, description="how long an answer of a broker may take, in seconds"
    )
