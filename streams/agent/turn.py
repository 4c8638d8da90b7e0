"""A turn in progress: what it knows, and what it will be remembered by."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from afterturn.streams.agent.context import Context
from afterturn.streams.agent.sending import Sent

__all__ = ("AgentTurn",)


@dataclass(slots=True)
class AgentTurn:
    """Set ``answer`` before the block ends, or call ``block``: a blocked or failed turn is not recorded.

    Attributes:
        query: what was said to the agent.
        context: what memory says to it.
        answer: what the agent says.
        fields: what else is recorded of the turn, as ``tags``, ``data``, ``run``, ``replaces``.
        sent: what became of it, once the block has ended.
    """

    query: str
    context: Context
    answer: str | None = None
    fields: dict[str, Any] = field(default_factory=dict)
    sent: Sent | None = None
    blocked: bool = False

    def block(self) -> None:
        """The answer must not be remembered: a guardrail refused it."""
        self.blocked = True
