"""The exact store that measures recipes scores as the store that serves them: same arms, same answers."""

from datetime import timedelta
from pathlib import Path
from random import Random

import pytest
from support.recall_bench import NOW, Bench
from support.remembered import AT, Said

from afterturn.consumers.evaluation.locomo import Question
from afterturn.consumers.evaluation.offline.corpora import Corpus, Told
from afterturn.consumers.evaluation.offline.exact import ExactStore
from afterturn.consumers.evaluation.offline.running import KeptEmbedder, texts_of
from afterturn.consumers.evaluation.offline.vectors import CachedVectors
from afterturn.consumers.recall.answering.engine import SERVED
from afterturn.consumers.recall.answering.reading import Reader
from afterturn.consumers.recall.answering.showing import answer_of
from afterturn.consumers.store.search import Search
from afterturn.consumers.text import lexical
from afterturn.schemas.query import Query

WORDS = (
    "bees roof library printer toner sister train Kyoto April garden pottery class hat rain bread oven cello".split()
)
QUESTIONS = ("Where are Ada's bees?", "What does Ben bake in the oven?", "When is the pottery class?", "cello or hat?")


def corpus() -> Corpus:
    """Four talks of invented messages."""
    random = Random(11)
    told = []
    for thread in range(4):
        for place in range(30):
            text = " ".join(random.choices(WORDS, k=random.randint(3, 14))) + random.choice(".?!")
            at = AT + timedelta(days=thread)
            told.append(
                Told(f"{thread}:{place}", f"talk {thread}", place, "user", "Ada" if place % 2 else "Ben", at, text)
            )
    return Corpus("invented", tuple(told), tuple(Question(text, 1, frozenset({"0:0"})) for text in QUESTIONS))


async def test_the_exact_store_scores_and_answers_as_the_store(bench: Bench, tenant: str, tmp_path: Path) -> None:
    made = corpus()
    said = [Said(each.content, each.author, each.thread, each.occurred_at) for each in made.told]
    await bench.remembering.remember(tenant, said)
    vectors = CachedVectors(bench.seams.embedder, tmp_path)
    await vectors.prepare(*texts_of([made]), lambda _: None)
    exact = ExactStore(made, vectors)
    reader = Reader(exact, KeptEmbedder(vectors), SERVED, embed_timeout=60)
    search = Search(tenant=tenant, as_of=NOW)
    for question in QUESTIONS:
        dense, words = await bench.seams.embedder.embed_query(question), lexical.query(question)
        sparse = (words.indices, words.values)
        served, kept = (
            await bench.seams.store.hits(search, dense, sparse, 40),
            await exact.hits(search, dense, sparse, 40),
        )
        for arm in ("dense", "lexical"):
            theirs, ours = getattr(served, arm), getattr(kept, arm)
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], abs=2e-4)
        answer = await bench.ask(tenant, question)
        query = Query(text=question)
        replied = answer_of(await reader.ask(search, query, question, made.authors), query, NOW, SERVED)
        ours, theirs = replied.memories[:20], answer.memories[:20]  # further on, ties are cut anyhow
        assert [memory.score for memory in ours] == pytest.approx([memory.score for memory in theirs], abs=2e-3)
        assert len({memory.text for memory in ours} ^ {memory.text for memory in theirs}) <= 2
