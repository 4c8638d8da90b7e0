"""What an agent's memory reads from the environment, or is given in code."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

__all__ = ("AgentSettings",)

Seconds = Annotated[float, Field(gt=0, le=600)]


def _url(text: str) -> str:
    scheme, found, host = text.partition("://")
    if not found or scheme not in {"http", "https"} or not host.strip("/"):
        raise ValueError("must be http://host:port or https://host:port")
    return text.rstrip("/")


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
    api_key: SecretStr | None = Field(
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
