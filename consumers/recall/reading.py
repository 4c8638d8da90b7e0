"""What is read for an answer: one search, then one read of what may be shown."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence

from afterturn.consumers.recall.answering import Selection, newest_first, without
from afterturn.consumers.recall.choosing import Wanted, to_show
from afterturn.consumers.recall.names import strip_names
from afterturn.consumers.recall.outcomes import Reply
from afterturn.consumers.recall.packing import unseen
from afterturn.consumers.recall.pool import Pool
from afterturn.consumers.recall.ranking import Ranked, favour, rank
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
        return Reply(self._select(unseen(newest_first(pool), query.seen), query).answer(pool, explain=query.explain))

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
        pool = Pool.of(found)
        ranked = self._rank(pool, query, question, authors)
        if ranked:
            lacks.extend(await self._read(search, query, pool, ranked, favour_of(question, authors)))

    async def _embed(self, text: str) -> tuple[Vector | None, bool]:
        """The vector, None where the text has none; and whether the embedder did its work in time."""
        try:
            async with asyncio.timeout(self._embed_timeout):
                return await self._embedder.embed_query(text), True
        except (Retry, TimeoutError):
            return None, False
