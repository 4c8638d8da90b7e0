"""Settings that shape the fold: per tenant on the log, for all tenants in the collection's metadata."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field

from afterturn.schemas.scope import Dimension
from afterturn.schemas.types import Identifier, JsonObject, Model, Seconds, as_tuple

Role = Literal["user", "assistant", "system", "tool"]
Kind = Literal["episodic", "semantic", "reflection", "procedural"]
Switch = Literal["on", "off"]
Roles = Annotated[tuple[Role, ...], Field(fail_fast=True), BeforeValidator(as_tuple)]
Dimensions = Annotated[tuple[Dimension, ...], Field(fail_fast=True), BeforeValidator(as_tuple)]
Partitioner = Literal["murmur2", "crc32"]


class Bounds(Model):
    """How many memories a tenant keeps; pins count, and are refused beyond half."""

    max_memories: Annotated[int, Field(ge=1, le=1_000_000)] = 10_000
    max_episodes: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class Recording(Model):
    """Which messages of a turn become memories, and what happens to long ones."""

    roles: Roles = ("user", "assistant")
    max_chars: Annotated[int, Field(ge=500, le=100_000)] = 4_000
    long: Literal["split", "cut"] = "split"


class Phases(Model):
    """The phases a tenant can switch off."""

    recall: Switch = "on"
    record: Switch = "on"
    consolidate: Switch = "on"


class TenantSettings(Model):
    """What ``tenant.configure`` has set for a tenant; absent fields are the collection's defaults."""

    bounds: Bounds | None = None
    required_scope: Dimensions | None = None
    ttl_s: dict[Kind, Seconds] | None = None
    recording: Recording | None = None
    consolidation: JsonObject | None = None
    phases: Phases | None = None


class FoldSettings(Model):
    """What shapes the fold of a log into one collection; kept in the collection's metadata by ``afterturn init``.

    A service whose settings differ stops: the same log folded with other settings is another store.
    """

    embedder: str
    dimension: Annotated[int, Field(ge=1)]
    topic: Identifier
    partitions: Annotated[int, Field(ge=1)]
    group: Identifier
    epoch: Annotated[int, Field(ge=0, lt=512)] = 0
    partitioner: Partitioner = "murmur2"
    bounds: Bounds = Bounds()
    recording: Recording = Recording()

    def differences(self, other: FoldSettings) -> tuple[tuple[str, object, object], ...]:
        """The fields in which two settings differ: (name, ours, theirs)."""
        return tuple(
            (name, ours, theirs)
            for name in type(self).model_fields
            if (ours := getattr(self, name)) != (theirs := getattr(other, name))
        )
