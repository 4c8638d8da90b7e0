"""What the recall service reads from the environment beside what every service reads."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from afterturn.consumers.settings import Port
from afterturn.schemas.query import TOPIC
from afterturn.streams.errors import BadSettings
from afterturn.streams.quota import Quota

Positive = Annotated[float, Field(gt=0, le=600)]
_ORIGIN = re.compile(r"https?://[A-Za-z0-9._-]+(?::[0-9]{1,5})?|https?://\[[0-9a-fA-F:.]+\](?::[0-9]{1,5})?")


def _origins(value: object) -> object:
    """Origins, separated by commas; ``*`` is no list of those who may."""
    listed = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
    if isinstance(listed, list | tuple) and not all(_ORIGIN.fullmatch(str(each)) for each in listed):
        raise ValueError("must be origins as https://app.example.com, with commas between")
    return tuple(listed) if isinstance(listed, list) else listed


class RecallSettings(BaseSettings):
    """Every field is read from ``AFTERTURN_RECALL_<FIELD>``; times in seconds.

    ``answer_timeout`` bounds what is read for one answer: what has not come by then is left out and the answer says
    so. ``after_wait`` bounds how long a query with ``after`` waits for its turn, on top of that. With
    ``quota_per_minute`` a principal's requests (without authentication: a tenant's) beyond it are refused,
    ``quota_burst`` of them at once are not. ``concurrency`` requests are worked on at a time and ``queue`` wait for
    their place; what comes beyond that is refused for the moment.
    """

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_RECALL_", frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="a loopback address, unless callers are known")
    port: Port = 8080
    answer_timeout: Positive = 3.0
    embed_timeout: Positive = 2.0
    after_wait: Positive = 5.0
    publish_timeout: Positive = 10.0
    write_wait: Positive = 30.0
    body_timeout: Positive = 10.0
    concurrency: int = Field(default=64, ge=1, le=10_000, description="requests worked on at a time")
    queue: int = Field(default=256, ge=0, le=100_000, description="requests that wait for their place at most")
    breadth: Literal["usual", "wide"] = Field(default="usual", description="how many hits a question is answered from")
    streams: int = Field(default=100, ge=0, le=10_000, description="event streams open at a time")
    mcp: bool = Field(default=False, description="whether /mcp offers the tools of the Model Context Protocol")
    topic: str = Field(default=TOPIC, min_length=1, max_length=200, description="what the tools say memory is about")
    cors_origins: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_origins)] = ()
    max_body: int = Field(default=3_000_000, ge=1_000, le=100_000_000, description="bytes of a request's body")
    state_seconds: float = Field(default=1.0, ge=0, le=60, description="how long a tenant's state is remembered")
    state_entries: int = Field(default=10_000, ge=1, le=1_000_000)
    event_queue: int = Field(default=10_000, ge=1, le=1_000_000, description="events that wait for Kafka at most")
    event_flush: float = Field(default=2.0, ge=0, le=60, description="how long closing waits for them")
    watch_seconds: Positive = 5.0
    quota_per_minute: float | None = Field(
        default=None, gt=0, le=1_000_000, description="of a principal; None: no quota"
    )
    quota_burst: int = Field(default=10, ge=1, le=1_000_000)
    source: str = Field(default="afterturn/recall", min_length=1, max_length=256, description="ce_source of turns")

    @property
    def quota(self) -> Quota | None:
        """What a tenant may ask and publish."""
        return None if self.quota_per_minute is None else Quota(self.quota_per_minute, self.quota_burst)


def require_loopback(host: str) -> None:
    """Refuse to be reachable from elsewhere: whoever reaches the service chooses the tenant.

    Raises:
        BadSettings: the address is no loopback one.
    """
    if host == "localhost":
        return
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = False
    if not loopback:
        why = "without authentication the service listens on loopback only, so 127.0.0.1 or ::1"
        raise BadSettings("AFTERTURN_RECALL_HOST", why)
