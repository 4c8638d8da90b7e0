"""Every question put to the product's reader over the exact store."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from afterturn.consumers.evaluation.asking import LIMIT
from afterturn.consumers.evaluation.measures import Asked
from afterturn.consumers.evaluation.offline.corpora import Corpus
from afterturn.consumers.evaluation.offline.exact import ExactStore
from afterturn.consumers.evaluation.offline.vectors import CachedVectors
from afterturn.consumers.recall.answering.reading import Reader
from afterturn.consumers.recall.answering.showing import answer_of
from afterturn.consumers.recall.ranking.names import strip_names
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.store.search import Search
from afterturn.consumers.text.embedder import Embedded, Vector
from afterturn.schemas.query import Query

_NOW = datetime(2100, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Outcome(Asked):
    """A question's outcome, with the conversation it was asked about."""

    conversation: str


class KeptEmbedder:
    """Questions' vectors as they are kept. It embeds nothing."""

    name = slug = "kept"
    dimension = 0

    def __init__(self, vectors: CachedVectors) -> None:
        self._vectors = vectors

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of stored texts."""
        return Embedded([self._vectors.of(text).tolist() for text in texts], tokens=0, calls=0)

    async def embed_query(self, text: str) -> Vector | None:
        """A question's vector."""
        vector: Vector = self._vectors.of_question(text).tolist()
        return vector

    async def close(self) -> None:
        """Nothing is open."""


class Bench:
    """Tenants made ready to be asked, once for all recipes."""

    def __init__(self, corpora: Iterable[Corpus], vectors: CachedVectors) -> None:
        self._tenants = [(corpus, ExactStore(corpus, vectors)) for corpus in corpora if corpus.told]
        self._embedder = KeptEmbedder(vectors)

    async def run(self, recipe: Recipe) -> list[Outcome]:
        """The outcome of every question that has evidence, in order."""
        outcomes = []
        for corpus, store in self._tenants:
            reader = Reader(store, self._embedder, recipe, embed_timeout=60)
            search = Search(tenant=corpus.conversation, as_of=_NOW)
            for question in corpus.questions:
                if not question.evidence:
                    continue
                began = time.perf_counter()
                query = Query(text=question.text, limit=LIMIT)
                found = await reader.ask(search, query, question.text, corpus.authors)
                answer = answer_of(found, query, _NOW, recipe)
                seconds = time.perf_counter() - began
                listed = [memory.turn_id or "" for memory in answer.memories]
                shown = frozenset(memory.turn_id or "" for memory in answer.memories if memory.in_text)
                outcomes.append(
                    Outcome(question.category, question.evidence, listed, shown, seconds, corpus.conversation)
                )
        return outcomes


def texts_of(corpora: Iterable[Corpus]) -> tuple[list[str], list[str]]:
    """What is to be embedded: the messages, and the questions as the dense arm asks them."""
    told: list[str] = []
    asked: list[str] = []
    for corpus in corpora:
        told += [message.content for message in corpus.told]
        asked += [strip_names(question.text, corpus.authors)[0] for question in corpus.questions if question.evidence]
    return told, asked
