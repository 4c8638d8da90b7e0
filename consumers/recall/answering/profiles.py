"""Rankings by name: what other memory systems do, over the same two arms."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from afterturn.consumers.recall.answering.finding import LACKS, Credible, Found, Placed, Shares
from afterturn.consumers.recall.ranking import b4, dice, llm4s
from afterturn.consumers.recall.ranking.confidence import effective_of
from afterturn.consumers.recall.ranking.pool import LONG_AGO, Pool
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.read import SearchHits, SparseVector
from afterturn.consumers.store.search import Search
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Vector
from afterturn.schemas.query import FoundBy, Limit, Profile, Query

MOST = 1_000
"""Hits an arm is asked for at most."""
LEAST_CONFIDENCE = 0.5
"""What dice asks of a memory where the query does not say."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with all that a ranking may need.

    Attributes:
        search: what the query restricts.
        query: the query.
        question: its text.
        dense, sparse: what the arms search for, None where there is nothing.
        at: the instant.
    """

    search: Search
    query: Query
    question: str
    dense: Vector | None
    sparse: SparseVector | None
    at: datetime

    @property
    def words(self) -> frozenset[int]:
        """The question's tokens."""
        return frozenset(self.sparse[0] if self.sparse else ())

    @property
    def seen(self) -> frozenset[str]:
        """What is not shown again."""
        return frozenset(self.query.seen)


class Profiles:
    """Ranks by the name of a query's ``profile``."""

    def __init__(self, store: AnswerStore) -> None:
        self._store = store
        self._named: dict[Profile, Callable[[Asked], Awaitable[Found]]] = {
            "b4-keyword": self._b4_keyword,
            "b4-hybrid": self._b4_hybrid,
            "dice": self._dice,
            "llm4s": self._llm4s,
        }

    async def ask(self, asked: Asked) -> Found:
        """What the ranking finds.

        Raises:
            Retry: the store does not answer.
        """
        return await self._named[asked.query.profile](asked)

    async def _b4_keyword(self, asked: Asked) -> Found:
        if not asked.words:
            return await self._newest(asked)
        found, limits = await self._hits(replace(asked, dense=None), b4.POOL)
        pool = Pool.of(found)
        rows = [_row(id_, pool) for id_ in pool.lexical]
        scored = b4.keyword(rows, asked.words, await self._store.count(asked.search), asked.at)
        limits = _full(found.lexical, b4.POOL, limits)
        return _found([_placed(each, pool, ("keyword",)) for each in scored], pool, found, limits, asked)

    async def _b4_hybrid(self, asked: Asked) -> Found:
        found, limits = await self._hits(asked, b4.POOL)
        pool = Pool.of(replace(found, dense=found.dense[: b4.VECTORS]))
        rows = [_row(id_, pool) for id_ in pool.candidates]
        of = await self._store.count(asked.search)
        scored = b4.hybrid(rows, list(pool.dense), asked.words, of, asked.at)
        limits = _full(found.lexical, b4.POOL, limits)
        placed = [_placed(each, pool, _arms(lexical=each.lexical, dense=each.dense)) for each in scored]
        return _found(placed, pool, found, limits, asked)

    async def _dice(self, asked: Asked) -> Found:
        if asked.query.min_confidence is None:
            search = replace(asked.search, min_confidence=LEAST_CONFIDENCE)
            narrowed = asked.query.model_copy(update={"min_confidence": LEAST_CONFIDENCE})
            asked = replace(asked, query=narrowed, search=search)
        wanted = asked.query.limit + len(asked.seen)
        most = min(MOST, wanted * dice.CANDIDATES)
        found, limits = await self._hits(asked, most)
        limits = _full(found.lexical, most, limits)
        pool = Pool.of(replace(found, dense=found.dense[:wanted]))
        facts = {id_: _fact(id_, pool, asked.at) for id_ in pool.candidates}
        vector = list(pool.dense)
        keyword = dice.by_words([facts[id_] for id_ in pool.lexical], asked.words, wanted)
        related: list[str] = []
        hits = [id_ for id_ in dict.fromkeys([*vector, *keyword]) if id_ not in asked.seen]
        if len(hits) < asked.query.limit:
            read = await self._store.mentioning(asked.search, dice.entities_of(map(facts.__getitem__, hits)), MOST)
            limits = _full(read, MOST, limits)
            mentioned = Credible(asked.query.min_confidence, asked.at).of(read)
            pool.add(mentioned)
            related = dice.by_entities((_fact(hit.id, pool, asked.at) for hit in mentioned), asked.query.limit)
        tiers = dice.fuse(vector, keyword, related)
        return _found([_tiered(each, pool) for each in tiers], pool, found, limits, asked)

    async def _llm4s(self, asked: Asked) -> Found:
        """Similarity alone; words only where there is no vector, and then among those the keyword arm finds."""
        wanted = min(MOST, asked.query.limit + len(asked.seen))
        near = asked.dense is not None
        found, limits = await self._hits(replace(asked, sparse=None) if near else asked, wanted)
        if near and "dense" in found.failed:
            found, limits = await self._hits(replace(asked, dense=None), wanted)
        pool = Pool.of(found)
        if pool.dense:
            ranked = [(llm4s.similarity(score), id_) for id_, score in pool.dense.items()]
            placed = [Placed(pool.candidates[i], s, frozenset({"vector"}), Shares(dense=s)) for s, i in ranked]
            return _found(placed, pool, found, limits, asked)
        question = llm4s.words_of(asked.question)
        shares = ((llm4s.share(question, pool.payloads[id_]["content"]), id_) for id_ in pool.lexical)
        best = sorted(((share, id_) for share, id_ in shares if share), key=lambda each: -each[0])
        placed = [Placed(pool.candidates[i], s, frozenset({"keyword"}), Shares(lexical=s)) for s, i in best]
        return _found(placed, pool, found, ("pool",), asked)

    async def _newest(self, asked: Asked) -> Found:
        """What happened last: a question without a word has nothing to be ranked by."""
        pool = Pool()
        read = await self._store.newest(asked.search, b4.POOL)
        new = pool.add(Credible(asked.query.min_confidence, asked.at).of(read))
        return _found([Placed(each) for each in new.values()], pool, SearchHits(), _full(read, b4.POOL, ()), asked)

    async def _hits(self, asked: Asked, most: int) -> tuple[SearchHits, tuple[Limit, ...]]:
        found = await self._store.hits(asked.search, asked.dense, asked.sparse, most)
        return Credible(asked.query.min_confidence, asked.at).of_search(found, most)


def _found(placed: Sequence[Placed], pool: Pool, found: SearchHits, limits: tuple[Limit, ...], asked: Asked) -> Found:
    unseen = [entry for entry in placed if entry.candidate.id not in asked.seen]
    return Found(unseen, pool, tuple(LACKS[arm] for arm in found.failed), limits)


def _full(hits: Collection[object], most: int, limits: tuple[Limit, ...]) -> tuple[Limit, ...]:
    """Whether a list was as long as it may be: then there may be more than were ranked."""
    return ("pool",) if len(hits) >= most else limits


def _arms(*, lexical: float, dense: float) -> Iterable[FoundBy]:
    return (*(("vector",) if dense else ()), *(("keyword",) if lexical else ()))


def _placed(scored: b4.Scored, pool: Pool, arms: Iterable[FoundBy]) -> Placed:
    shares = Shares(scored.lexical, scored.dense, scored.recency, scored.confidence)
    return Placed(pool.candidates[scored.id], scored.score, frozenset(arms), shares)


def _tiered(tiered: dice.Tiered, pool: Pool) -> Placed:
    named: tuple[tuple[FoundBy, float], ...] = (
        ("vector", tiered.vector), ("keyword", tiered.keyword), ("related", tiered.related),
    )  # fmt: skip
    shares = Shares(lexical=tiered.keyword, dense=tiered.vector, related=tiered.related)
    arms: frozenset[FoundBy] = frozenset(name for name, share in named if share)
    return Placed(pool.candidates[tiered.id], tiered.score, arms, shares)


def _words(payload: Any) -> frozenset[int]:  # noqa: ANN401 - a payload
    return frozenset(lexical.document(payload["content"]).indices)


def _row(id_: str, pool: Pool) -> b4.Row:
    payload = pool.payloads[id_]
    revised = payload.get("content_revised") or payload.get("recorded_at")
    updated = LONG_AGO if revised is None else datetime.fromisoformat(revised)
    return b4.Row(id_, _words(payload), updated, payload.get("confidence", 1.0))


def _fact(id_: str, pool: Pool, at: datetime) -> dice.Fact:
    payload = pool.payloads[id_]
    entities = tuple(each["id"] for each in payload.get("entities", ()) if each.get("id"))
    return dice.Fact(id_, _words(payload), effective_of(payload, at), entities)
