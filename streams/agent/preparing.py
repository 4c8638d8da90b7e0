"""What is asked before a turn: what is shown in any case, the index, then the question, under one budget."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from afterturn.schemas.parts import Usage
from afterturn.schemas.query import Answer, Query, RecalledMemory
from afterturn.schemas.scope import Scope
from afterturn.streams.agent.about import About
from afterturn.streams.agent.asking import eager_queries, index_query, question_query
from afterturn.streams.agent.section import PromptSection, contribution, merged, section_of
from afterturn.streams.errors import Retry

__all__ = ("Ask", "Prepared", "Preparing")

Ask = Callable[[Query], Awaitable[Answer]]
_EAGER_SHARE, _INDEX_SHARE = 2, 4
"""What is shown unasked takes half of the budget at most, the index a quarter of it."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """What memory says to a turn. ``available`` is how many memories there are, where that was asked."""

    section: PromptSection
    memories: tuple[RecalledMemory, ...]
    shown: frozenset[str]
    degraded: tuple[str, ...]
    available: int | None
    usage: Usage


@dataclass(slots=True)
class Preparing:
    """Asks all that a turn is shown. What is shown unasked and can't be had is left out, and ``degraded`` says so."""

    ask: Ask
    about: About
    scope: Scope
    max_tokens: int
    _parts: list[str] = field(default_factory=list)
    _shown: list[str] = field(default_factory=list)
    _lacks: list[str] = field(default_factory=list)
    _available: int | None = None
    _usage: Usage = field(default_factory=Usage)

    async def prepare(self, question: str | None, without_thread: str | None = None) -> Prepared:
        """The section of a turn, and what it is made of.

        Raises:
            Retry: the question itself was not answered.
            MemoryRefused: memory says no, and would again.
        """
        await self._unasked("eager", self._eager)
        await self._unasked("index", self._index)
        room = section_of(self._parts, self.max_tokens).tokens + len(self._parts)
        query = question_query(self.about, self.scope, question, max(0, self.max_tokens - room), self._shown)
        if without_thread is not None:
            query = query.model_copy(update={"exclude_threads": (without_thread,)})
        answer = await self._asked(query)
        section = section_of([*self._parts, answer.text], self.max_tokens)
        shown = frozenset(self._shown).union(memory.id for memory in answer.memories if memory.in_text)
        lacks = tuple(dict.fromkeys((*self._lacks, *answer.degraded)))
        return Prepared(section, answer.memories, shown, lacks, self._available, self._usage)

    async def _unasked(self, name: str, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except Retry:
            self._lacks.append(name)

    async def _eager(self) -> None:
        most = self.max_tokens // _EAGER_SHARE
        queries = eager_queries(self.about, self.scope)
        if self.about.eager is None:
            return
        answers = await asyncio.gather(*(self._asked(query) for query in queries))
        found = merged(*(answer.memories for answer in answers))
        self._available = next((each.available for each in answers if each.available is not None), None)
        available = len(found) if self._available is None else self._available
        told, shown = contribution(self.about.topic, self.about.when, available, found, most)
        self._parts.append(told)
        self._shown += shown

    async def _index(self) -> None:
        query = index_query(self.about, self.scope, self.max_tokens // _INDEX_SHARE, self._shown)
        if query is not None:
            answer = await self._asked(query)
            self._parts.append(answer.text)

    async def _asked(self, query: Query) -> Answer:
        answer = await self.ask(query)
        if answer.usage is not None:
            self._usage += answer.usage
        return answer
