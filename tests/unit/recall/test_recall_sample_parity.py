"""The recipe on the sample: every question ranks as the reference ranks it, to 1e-6."""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np
import pytest
from support.reference_recipe import needs_reference, reference

from afterturn.consumers.dev.sample import load_questions, load_turns
from afterturn.consumers.recall.prompt.timeline import date_of
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.names import strip_names
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.consumers.recall.ranking.scoring import rank
from afterturn.consumers.recorder.fold.recording import is_short_question
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder
from afterturn.schemas.commands import TurnCompleted

pytestmark = needs_reference
TOP = 100
WITHOUT_FIRST_PERSON = Recipe(first_person=0.0)
"""The reference has no bonus for what the asker said."""


def plain(text: str) -> str:
    """Without accents: the reference finds names of ASCII letters only."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))


class Corpus:
    """A tenant's messages as the project and as the reference know them, and both arms by brute force."""

    def __init__(self, turns: list[TurnCompleted], vectors: list[list[float]]) -> None:
        self.candidates: dict[str, Candidate] = {}
        self.turns: list[dict[str, Any]] = []
        words = []
        for turn in sorted(turns, key=lambda t: t.thread):
            for message in turn.messages:
                author, at, text = plain(message.author or message.role), turn.occurred_at, message.content
                asks = is_short_question(text) and text.strip().endswith("?")  # the reference knows no "\uff1f"
                position = sum(t["session"] == turn.thread for t in self.turns)
                self.candidates[str(len(self.turns))] = Candidate(
                    str(len(self.turns)), turn.thread, position, 0, author, message.role, at, len(text),
                    asks, "episodic",
                )  # fmt: skip
                self.turns.append({"session": turn.thread, "speaker": author, "text": text, "date": date_of(at)})
                words.append(lexical.document(lexical.lexical_text(message.author, at, text)))
        self._words = [dict(zip(w.indices, w.values, strict=True)) for w in words]
        unit = np.array(vectors)
        self._vectors = unit / np.linalg.norm(unit, axis=1, keepdims=True)

    @property
    def authors(self) -> list[str]:
        return sorted({turn["speaker"] for turn in self.turns})

    def lexical(self, question: str) -> dict[int, float]:
        """BM25 with the corpus's own document frequencies."""
        count = len(self._words)
        scores: dict[int, float] = {}
        for token in lexical.query(question).indices:
            held = [n for n, words in enumerate(self._words) if token in words]
            weight = np.log(1 + (count - len(held) + 0.5) / (len(held) + 0.5))
            for number in held:
                scores[number] = scores.get(number, 0.0) + float(weight) * self._words[number][token]
        return self._top(scores)

    def dense(self, vector: list[float]) -> dict[int, float]:
        """Cosine similarity."""
        query = np.array(vector) / np.linalg.norm(vector)
        return self._top(dict(enumerate(map(float, self._vectors @ query))))

    @staticmethod
    def _top(scores: dict[int, float]) -> dict[int, float]:
        return dict(sorted(scores.items(), key=lambda pair: -pair[1])[:TOP])


async def corpora(embedder: Embedder) -> dict[str, Corpus]:
    turns = [TurnCompleted.model_validate(fields) for fields in load_turns()]
    made = {}
    for tenant in {turn.tenant for turn in turns}:
        own = [turn for turn in turns if turn.tenant == tenant]
        texts = [message.content for turn in sorted(own, key=lambda t: t.thread) for message in turn.messages]
        vectors = [vector for vector in (await embedder.embed(texts)).vectors if vector is not None]
        assert len(vectors) == len(texts)
        made[tenant] = Corpus(own, vectors)
    return made


async def test_every_question_of_the_sample_ranks_as_the_reference_ranks_it() -> None:
    embedder = await open_embedder("wordllama")
    functions, sorted_by = reference()
    try:
        by_tenant = await corpora(embedder)
        for asked in load_questions():
            corpus, question = by_tenant[asked.tenant], plain(asked.question)
            stripped, _ = strip_names(question, corpus.authors)
            vector = await embedder.embed_query(stripped)
            assert vector is not None
            words, sense = corpus.lexical(question), corpus.dense(vector)
            functions["fuse"](words, sense, corpus.turns, question)
            ranked = rank(
                {str(n): s for n, s in sense.items()}, {str(n): s for n, s in words.items()}, corpus.candidates,
                question, corpus.authors, WITHOUT_FIRST_PERSON,
            )  # fmt: skip
            made = {int(r.candidate.id): r.score for r in ranked if r.lexical + r.dense + r.neighbour > 0}
            assert made == pytest.approx(sorted_by[-1], abs=1e-6), asked.question
    finally:
        await embedder.close()
