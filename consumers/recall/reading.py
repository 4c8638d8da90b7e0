"""What is read for an answer: one search, then one read of what may be shown."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from afterturn.consumers.recall.answering import Selection, newest_first, without
from afterturn.consumers.recall.choosing import Limits, to_show
from afterturn.consumers.recall.names import strip_names
from afterturn.consumers.recall.outcomes import Reply
from afterturn.consumers.recall.packing import unseen
from afterturn.consumers.recall.pool import Pool
from afterturn.consumers.recall.ranking import Favour, Ranked, favour, rank
from afterturn.consumers.recall.recipe import Recipe
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.read import Arm
from afterturn.consumers.store.search import Search
from afterturn.consumers.text import lexical
from afterturn.consumers.text.budget import tokens_of
from afterturn.consumers.text.embedder import Embedder, Vector
from afterturn.schemas.parts import Usage
from afterturn.schemas.query import Query
from afterturn.streams.errors import Retry

MOST_HITS = 500
"""Hits an arm is asked for at most: those of the recipe, and one more for each memory the caller has seen."""
NEWEST, MOST_NEWEST = 200, 1_000
"""Memories read where no question is asked: that many or as many as the list wants, and one more for each seen."""
_LACKS: dict[Arm, str] = {"dense": "vector", "lexical": "keyword"}


class Reader:
    """Reads and ranks. ``embed_timeout`` bounds how long the question's vector may take, in seconds."""

    def __init__(self, store: AnswerStore, embedder: Embedder, recipe: Recipe, *, embed_timeout: float) -> None:
        self._store = store
        self._embedder = embedder
        self._recipe = recipe
        self._embed_timeout = embed_timeout

    async def newest(self, search: Search, query: Query) -> Reply:
        """What happened last, where nothing is asked.

        Raises:
            Retry: the store does not answer.
        """
        count = min(MOST_NEWEST, max(NEWEST, query.limit) + len(query.seen))
        pool = Pool()
        pool.add(await self._store.newest(search, count))
        ranked = unseen(newest_first(pool), query.seen)
        selection = Selection(ranked, query.limit, query.max_tokens, self._recipe)
        return Reply(selection.answer(pool, explain=query.explain))

    async def ask(self, search: Search, query: Query, question: str, authors: Sequence[str]) -> Reply:
        """What the recipe finds for a question.

        Raises:
            Retry: the store does not answer.
            Stop: the store or the embedder is not what this process was made for.
        """
        stripped, _ = strip_names(question, authors)
        dense, embedded = await self._embed(stripped)
        words = lexical.query(question)
        usage = Usage(embedder_calls=1, embedded_tokens=tokens_of(len(stripped))) if embedded else Usage()
        sparse = (words.indices, words.values) if words else None
        limit = min(MOST_HITS, self._recipe.candidates + len(query.seen))
        found = await self._store.search(search, dense, sparse, limit)
        lacks = [] if embedded else ["vector"]
        lacks.extend(_LACKS[arm] for arm in found.failed)
        asked = _Asked(question, tuple(authors), query, Pool.of(found), self._recipe)
        if not asked.pool.candidates:
            return Reply(lacks=tuple(lacks), usage=usage)
        ranked, complete = await self._fetch(search, asked)
        lacks.extend(() if complete else ("neighbour",))
        selection = Selection(ranked, query.limit, query.max_tokens, self._recipe)
        if late := selection.ids() - asked.pool.payloads.keys():
            asked.pool.add(await self._store.shown(search, sorted(late)))
        return Reply(selection.answer(asked.pool, explain=query.explain), tuple(lacks), usage)

    async def _fetch(self, search: Search, asked: _Asked) -> tuple[list[Ranked], bool]:
        """Read what may be shown into the pool; the ranking then, and whether it holds the neighbours."""
        pool, ranked = asked.pool, asked.ranked()
        wanted = to_show(ranked, pool, asked.favoured(), asked.limits(), self._recipe)
        hits = len(pool.candidates)
        try:
            pool.add(await self._store.shown(search, wanted.ids, wanted.places))
            complete = True
        except Retry:
            if not wanted.places:
                raise
            pool.add(await self._store.shown(search, wanted.ids))
            complete = False
        if len(pool.candidates) > hits:
            ranked = asked.ranked()
        gone = wanted.ids - pool.payloads.keys()  # removed since they were found
        return without(ranked, gone) if gone else ranked, complete

    async def _embed(self, text: str) -> tuple[Vector | None, bool]:
        """The vector, None where the text has none; and whether the embedder did its work in time."""
        try:
            async with asyncio.timeout(self._embed_timeout):
                return await self._embedder.embed_query(text), True
        except (Retry, TimeoutError):
            return None, False


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question and what was found for it."""

    question: str
    authors: tuple[str, ...]
    query: Query
    pool: Pool
    recipe: Recipe

    def ranked(self) -> list[Ranked]:
        pool = self.pool
        everything = rank(pool.dense, pool.lexical, pool.candidates, self.question, self.authors, self.recipe)
        return unseen(everything, self.query.seen) if self.query.seen else everything

    def favoured(self) -> Favour:
        return favour(self.question, self.authors)

    def limits(self) -> Limits:
        return Limits(self.query.limit, self.query.max_tokens)
