"""What the recall service reads from the environment beside what every service reads."""

from __future__ import annotations

import ipaddress
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from afterturn.consumers.settings import Port
from afterturn.streams.errors import BadSettings
from afterturn.streams.quota import Quota

Positive = Annotated[float, Field(gt=0, le=600)]


class RecallSettings(BaseSettings):
    """Every field is read from ``AFTERTURN_RECALL_<FIELD>``; times in seconds.

    ``answer_timeout`` bounds what is read for one answer: what has not come by then is left out and the answer says
    so. ``after_wait`` bounds how long a query with ``after`` waits for its turn, on top of that. With
    ``quota_per_minute`` a tenant's requests beyond it are refused, ``quota_burst`` of them at once are not.
    """

    model_config = SettingsConfigDict(env_prefix="AFTERTURN_RECALL_", frozen=True, extra="ignore")

    host: str = Field(default="127.0.0.1", description="a loopback address: there is no authentication")
    port: Port = 8080
    answer_timeout: Positive = 3.0
    embed_timeout: Positive = 2.0
    after_wait: Positive = 5.0
    publish_timeout: Positive = 10.0
    max_body: int = Field(default=3_000_000, ge=1_000, le=100_000_000, description="bytes of a request's body")
    state_seconds: float = Field(default=1.0, ge=0, le=60, description="how long a tenant's state is remembered")
    state_entries: int = Field(default=10_000, ge=1, le=1_000_000)
    event_queue: int = Field(default=10_000, ge=1, le=1_000_000, description="events that wait for Kafka at most")
    event_flush: float = Field(default=2.0, ge=0, le=60, description="how long closing waits for them")
    watch_seconds: Positive = 5.0
    quota_per_minute: float | None = Field(default=None, gt=0, le=1_000_000, description="of a tenant; None: no quota")
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
