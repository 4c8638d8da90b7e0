"""The store in memory: both arms exactly, as Qdrant scores them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from afterturn.consumers.evaluation.offline.corpora import Corpus, Told
from afterturn.consumers.evaluation.offline.vectors import CachedVectors, Floats
from afterturn.consumers.recorder.fold.recording import is_short_question
from afterturn.consumers.store.read import Hit, SearchHits, SparseVector
from afterturn.consumers.store.search import Search, Window
from afterturn.consumers.text import lexical


class ExactStore:
    """One tenant's messages with their vectors: what ``Reader`` reads. Filters of a search are not heeded."""

    def __init__(self, corpus: Corpus, vectors: CachedVectors) -> None:
        self._payloads = [_payload(message) for message in corpus.told]
        self._ids = [message.id for message in corpus.told]
        self._dense = np.stack([vectors.of(message.content) for message in corpus.told])
        self._lexical = _Bm25([_text(message) for message in corpus.told])

    async def hits(
        self, search: Search, dense: Sequence[float] | None, sparse: SparseVector | None, limit: int
    ) -> SearchHits:
        """The best of each arm, the first told first among equals."""
        del search
        by_sense = [] if dense is None else self._best(self._dense @ np.asarray(dense, dtype=np.float32), limit)
        by_word = [] if sparse is None else self._best(self._lexical.scores(sparse), limit)
        return SearchHits(by_sense, [hit for hit in by_word if hit.score > 0])

    async def around(self, search: Search, places: Sequence[Window]) -> list[Hit]:
        """The messages at these places."""
        del search
        return [
            Hit(self._ids[row], 0.0, self._payloads[row])
            for window in places
            for position in range(window.first, window.last + 1)
            for row in self._rows.get((window.thread, position), ())
        ]

    @cached_property
    def _rows(self) -> dict[tuple[str, int], list[int]]:
        rows: dict[tuple[str, int], list[int]] = {}
        for row, payload in enumerate(self._payloads):
            rows.setdefault((payload["thread"], payload["position"]), []).append(row)
        return rows

    def _best(self, scores: Floats, limit: int) -> list[Hit]:
        order = np.argsort(-scores, kind="stable")[:limit].tolist()
        return [Hit(self._ids[row], float(scores[row]), self._payloads[row]) for row in order]


class _Bm25:
    """Term weights of texts, weighed by how rare a term is in this tenant: Qdrant's IDF modifier over a corpus."""

    def __init__(self, texts: Sequence[str]) -> None:
        vectors = [lexical.document(text) for text in texts]
        self._columns: dict[int, int] = {}
        for vector in vectors:
            for term in vector.indices:
                self._columns.setdefault(term, len(self._columns))
        self._weights = np.zeros((len(texts), len(self._columns)), dtype=np.float32)
        for row, vector in enumerate(vectors):
            self._weights[row, [self._columns[term] for term in vector.indices]] = vector.values
        self._idf = _idf(self._weights)

    def scores(self, query: SparseVector) -> Floats:
        """Each text's score."""
        terms = [(self._columns[term], weight) for term, weight in zip(*query, strict=True) if term in self._columns]
        columns = [column for column, _ in terms]
        weights = np.array([weight for _, weight in terms], dtype=np.float32)
        return np.asarray(self._weights[:, columns] @ (weights * self._idf[columns]), dtype=np.float32)


def _idf(weights: Floats) -> NDArray[np.float32]:
    having = (weights > 0).sum(axis=0)
    texts = np.count_nonzero(weights.any(axis=1))
    return np.asarray(np.log(1 + (texts - having + 0.5) / (having + 0.5)), dtype=np.float32)


def _text(message: Told) -> str:
    return lexical.lexical_text(message.author, message.occurred_at, message.content)


def _payload(message: Told) -> dict[str, Any]:
    fields = {
        "thread": message.thread,
        "turn_id": message.id,
        "position": message.position,
        "ordinal": message.ordinal,
        "parts": message.parts,
        "role": message.role,
        "author": message.author,
        "kind": "episodic",
        "type": "conversation",
        "occurred_at": message.occurred_at.isoformat(),
        "content": message.content,
        "chars": len(message.content),
        "asks": is_short_question(message.content),
    }
    return {name: value for name, value in fields.items() if value is not None}
