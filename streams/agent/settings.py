"""What an agent's memory reads from the environment, or is given in code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import httpx
from pydantic import AfterValidator, AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ("AgentSettings", "credential")

Seconds = Annotated[float, Field(gt=0, le=600)]


def _url(text: str) -> str:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        url = httpx.URL()
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError("must be http://host:port or https://host:port")
    return text.rstrip("/")


def credential(text: str) -> str:
    """A key or token without the blanks around it that files and shells leave; an empty one is none.

    Raises:
        ValueError: it is neither.
    """
    key = text.strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError("must be one line of ASCII characters, as keys and tokens are")
    return key


def _secret(value: SecretStr | None) -> SecretStr | None:
    key = "" if value is None else credential(value.get_secret_value())
    return SecretStr(key) if key else None


class AgentSettings(BaseSettings):
    """How an agent reaches its memory. Every field is ``AFTERTURN_AGENT_`` and its name in the environment.

    ``record_over`` says how turns reach the log: Kafka (``KAFKA_…``), or HTTP through the recall service. With
    ``spool``, a file, turns that can't be sent wait there, so many and so many bytes at most, and are sent later with
    the same ids; without it they are lost, and that is said.
    """

    model_config = SettingsConfigDict(
        env_prefix="AFTERTURN_AGENT_", frozen=True, extra="ignore", populate_by_name=True, hide_input_in_errors=True
    )

    recall_url: Annotated[str, AfterValidator(_url)] = Field(
        default="http://127.0.0.1:8080",
        validation_alias=AliasChoices("recall_url", "AFTERTURN_AGENT_RECALL_URL", "AFTERTURN_RECALL_URL"),
        description="where the recall service is",
    )
    api_key: Annotated[SecretStr | None, AfterValidator(_secret)] = Field(
        default=None,
        validation_alias=AliasChoices("api_key", "AFTERTURN_AGENT_API_KEY", "AFTERTURN_API_KEY"),
        description="an API key, or a token of an identity provider",
    )
    source: str = Field(default="agent", min_length=1, max_length=256, description="the application's name")
    record_over: Literal["kafka", "http"] = "kafka"
    recall_timeout: Seconds = Field(default=3.0, description="how long a turn waits for its memories at most")
    record_timeout: Seconds = Field(default=3.0, description="how long a turn's end waits for the log at most")
    after_wait: float = Field(default=1.0, ge=0, le=60, description="of it, for one's own last turn to be visible")
    max_prompt_section_tokens: Annotated[int, Field(ge=0, le=100_000)] = 2_000
    spool: Path | None = None
    spool_entries: Annotated[int, Field(ge=1, le=10_000_000)] = 10_000
    spool_bytes: Annotated[int, Field(ge=1_000, le=100_000_000_000)] = 64 * 1024 * 1024
