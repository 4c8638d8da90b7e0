"""Scope: the dimensions, beyond the tenant, that isolate records."""

from __future__ import annotations

from typing import Literal, get_args

from afterturn.schemas.types import Identifier, Model

Dimension = Literal["workspace", "route", "user", "agent"]
DIMENSIONS: tuple[Dimension, ...] = get_args(Dimension)


class Scope(Model):
    """Where a record belongs within its tenant. A reader that names a dimension sees only that value."""

    workspace: Identifier | None = None
    route: Identifier | None = None
    user: Identifier | None = None
    agent: Identifier | None = None

    def pairs(self) -> list[tuple[str, str]]:
        """The named dimensions as pairs, sorted by name: the form ids are built from."""
        return sorted((d, v) for d in DIMENSIONS if (v := getattr(self, d)) is not None)

    def missing(self, required: tuple[Dimension, ...]) -> tuple[Dimension, ...]:
        """Which of the required dimensions have no value."""
        return tuple(d for d in required if getattr(self, d) is None)
