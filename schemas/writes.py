"""What became of a write that was sent over HTTP (``GET /v1/writes/{token}``, and writes with ``wait``)."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from afterturn.schemas.types import Model

WriteState = Literal["accepted", "visible", "duplicate", "conflict", "skipped", "dead_lettered"]


class WriteStatus(Model):
    """Where a write stands.

    ``accepted``: it is on the turn log, and not applied yet, or not whole. ``visible``: it was applied, and can be
    recalled. ``duplicate``: the same was written before under its key, ``conflict``: something else was; nothing
    changed. ``skipped``: it was not carried out, for the ``reason``. ``dead_lettered``: it could not be applied and
    waits among the dead letters. ``event`` names the outcome event, ``counts`` are its counts. ``id`` is that of the
    memory a fact becomes.
    """

    status: WriteState
    token: str
    event_id: str | None = None
    id: str | None = None
    event: str | None = None
    reason: str | None = None
    counts: dict[str, int] | None = Field(default=None)


class WouldForget(Model):
    """What forgetting would remove, where nothing was published (``dry_run``)."""

    would_forget: int
    of: int
    needs_confirm: bool
