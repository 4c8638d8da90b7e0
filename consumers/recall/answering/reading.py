"""What is read for an answer: one search, then what may be shown of the hits' neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from afterturn.consumers.recall.answering.choosing import Limits, places_to_read
from afterturn.consumers.recall.answering.finding import EVERYTHING, LACKS, Credible, Found
from afterturn.consumers.recall.answering.seeking import bounded, sought
from afterturn.consumers.recall.prompt.packing import unseen
from afterturn.consumers.recall.ranking.looking import NOWHERE, Looking
from afterturn.consumers.recall.ranking.names import strip_names
from afterturn.consumers.recall.ranking.pool import Pool
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.recall.ranking.scoring import NOBODY, Favour, Ranked, Scoring, best_then_newest, favour
from afterturn.consumers.recall.ranking.times import NO_TIME, AskedTime, asked_time
from afterturn.consumers.recall.ranking.wanted import NOTHING, wanted
from afterturn.consumers.store.read import Hit, SearchHits, SparseVector
from afterturn.consumers.store.search import Search, Window
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.query import Query
from afterturn.streams.errors import Retry

MOST_HITS = 500
"""Hits an arm is asked for at most: those of the recipe, and one more for each memory the caller has seen."""


class Memories(Protocol):
    """What an answer is read from: ``AnswerStore``, or an exact store in memory that measures recipes."""

    async def hits(
        self, search: Search, dense: Sequence[float] | None, sparse: SparseVector | None, limit: int
    ) -> SearchHits:
        """What both arms find."""
        ...

    async def around(self, search: Search, places: Sequence[Window]) -> list[Hit]:
        """The memories at these places."""
        ...


class Reader:
    """Reads and ranks. ``embed_timeout`` bounds how long the question's vector may take, in seconds."""

    def __init__(self, store: Memories, embedder: Embedder, recipe: Recipe, *, embed_timeout: float) -> None:
        self._store = store
        self._embedder = embedder
        self._recipe = recipe
        self._embed_timeout = embed_timeout

    async def ask(
        self,
        search: Search,
        query: Query,
        question: str,
        authors: Sequence[str],
        credible: Credible = EVERYTHING,
    ) -> Found:
        """What the recipe finds for a question.

        Raises:
            Retry: the store does not answer.
            Stop: the store or the embedder is not what this process was made for.
        """
        question = bounded(question)
        stripped, _ = strip_names(question, authors)
        asking = await sought(self._embedder, question, self._embed_timeout, stripped)
        limit = min(MOST_HITS, self._recipe.candidates + len(query.seen))
        found, limits = credible.of_search(await self._store.hits(search, asking.dense, asking.sparse, limit), limit)
        lacks = [*asking.lacks, *(LACKS[arm] for arm in found.failed)]
        asked = asked_time(question, search.as_of) if search.as_of else NO_TIME
        favoured = favour(question, authors)
        pool = Pool.of(found, self._looking(question, authors, favoured, asked))
        scoring = Scoring.of(pool.dense, pool.lexical, pool.candidates, favoured, self._recipe, asked)
        ranked = unseen(scoring.ranked(pool.candidates), query.seen)
        try:
            ranked = await self._with_neighbours(search, query, pool, scoring, ranked, credible)
        except Retry:
            lacks.append("neighbour")
        return Found(ranked, pool, tuple(lacks), limits, asking.usage)

    def _looking(self, question: str, authors: Sequence[str], favoured: Favour, asked: AskedTime) -> Looking:
        """What the texts found are looked at for."""
        sought_kind = wanted(question, authors) if self._recipe.answer else NOTHING
        looking = Looking(asked.when, sought_kind, favoured if self._recipe.address else NOBODY)
        return NOWHERE if looking == NOWHERE else looking

    async def _with_neighbours(
        self, search: Search, query: Query, pool: Pool, scoring: Scoring, ranked: list[Ranked], credible: Credible
    ) -> list[Ranked]:
        """The ranking of the hits with what stands around them, which is read into the pool."""
        places = places_to_read(ranked, scoring, pool, Limits(query.limit, query.max_tokens))
        read = pool.add(credible.of(await self._store.around(search, places)))
        if not read:
            return ranked
        return sorted([*ranked, *unseen(scoring.ranked(read), query.seen)], key=best_then_newest, reverse=True)
