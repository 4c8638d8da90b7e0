"""What a turn knows from memory, and the tool it can look further with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from afterturn.schemas.parts import Usage
from afterturn.schemas.query import Answer, RecalledMemory
from afterturn.streams.agent.about import About
from afterturn.streams.agent.section import PromptSection, count_of
from afterturn.streams.errors import Retry

__all__ = ("Context", "RecallTool")

Ask = Callable[[str | None, int | None], Awaitable[Answer]]
"""Asks memory for what was not shown yet: a question, or None for a list, and how many."""

MOST = 100
NO_USAGE = Usage()
_UNAVAILABLE = "Memory is unavailable right now."


@dataclass(frozen=True, slots=True)
class Context:
    """What memory says to one turn, made once and the same for every model step of it.

    Attributes:
        section: the part of the prompt; its text is empty where nothing was found or memory is away.
        memories: what was recalled, best first; ``in_text`` says what the section shows.
        shown: the ids of all that the section shows.
        usage: what memory's models did for it, so that it counts with the turn's own.
        degraded: what is lacking; empty where nothing is. ``recall`` says that memory could not be asked at all.
        tool: looks further, and leaves out what the section shows.
    """

    section: PromptSection
    tool: RecallTool
    memories: tuple[RecalledMemory, ...] = ()
    shown: frozenset[str] = frozenset()
    degraded: tuple[str, ...] = ()
    usage: Usage = NO_USAGE

    @property
    def text(self) -> str:
        """The section's text, for the prompt."""
        return self.section.text


@dataclass(frozen=True, slots=True)
class RecallTool:
    """The tool ``memory``, as models are told of tools: a name, a description, a JSON schema, and a call."""

    about: About
    ask: Ask = field(repr=False)
    available: int | None = None
    name: str = "memory"

    @property
    def description(self) -> str:
        """What it does, how many memories there are, and when to use it."""
        count = "" if self.available is None else f" {count_of(self.available)}"
        return (
            f"Searches memories about {self.about.topic} by meaning and by words.{count} "
            f"Use when {self.about.when}. If nothing fits, ask again in other words, or more broadly."
        )

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        query = {"type": "string", "description": "what to look for; without it the memories are listed"}
        limit = {"type": "integer", "minimum": 1, "maximum": MOST, "description": "how many at most"}
        return {"type": "object", "properties": {"query": query, "limit": limit}, "additionalProperties": False}

    async def __call__(self, query: str | None = None, limit: int | None = None) -> str:
        """What memory says beside what was shown already, as a text for the model.

        Raises:
            MemoryRefused: it says no, and would again.
        """
        asked = query.strip() if query else ""
        count = None if limit is None else max(1, min(MOST, limit))
        try:
            answer = await self.ask(asked or None, count)
        except Retry:
            return _UNAVAILABLE
        return answer.text

    async def call(self, arguments: str | bytes | Mapping[str, Any] | None) -> str:
        """The same by a model's arguments, as JSON or read already; what is malformed counts as not given."""
        given = _read(arguments)
        query, limit = given.get("query"), given.get("limit")
        return await self(
            query if isinstance(query, str) else None,
            limit if isinstance(limit, int) and not isinstance(limit, bool) else None,
        )


def _read(arguments: str | bytes | Mapping[str, Any] | None) -> Mapping[str, Any]:
    if isinstance(arguments, str | bytes):
        try:
            arguments = orjson.loads(arguments)
        except orjson.JSONDecodeError:
            return {}
    return arguments if isinstance(arguments, Mapping) else {}
