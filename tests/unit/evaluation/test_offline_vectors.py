"""Vectors are made once, kept without a text, and are the embedder's own."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from afterturn.consumers.evaluation.offline.vectors import CachedVectors
from afterturn.consumers.text.embedder import Embedded
from afterturn.consumers.text.registry import open_embedder
from afterturn.consumers.text.wordllama_embedder import WordLlamaEmbedder

TEXTS, ASKED = ["The train to Kyoto", "canary-7f3a", ""], ["Which train?"]


class Counting(WordLlamaEmbedder):
    texts = 0

    async def embed(self, texts: Sequence[str]) -> Embedded:
        self.texts += len(texts)
        return await super().embed(texts)


async def test_a_text_is_embedded_once_and_only_digests_are_kept(tmp_path: Path) -> None:
    embedder = Counting()
    vectors = CachedVectors(embedder, tmp_path)
    assert vectors.missing(TEXTS, ASKED) == 4
    await vectors.prepare(TEXTS, ASKED, lambda _: None)
    again = CachedVectors(embedder, tmp_path)
    assert again.missing(TEXTS, ASKED) == 0
    await again.prepare(TEXTS, ASKED, lambda _: None)
    assert embedder.texts == 4
    kept = tmp_path / f"{embedder.slug}-{embedder.dimension}.npz"
    assert b"canary" not in kept.read_bytes()
    np.testing.assert_array_equal(again.of(TEXTS[0]), vectors.of(TEXTS[0]))


async def test_vectors_are_the_embedders_own(tmp_path: Path) -> None:
    embedder = await open_embedder("wordllama")
    vectors = CachedVectors(embedder, tmp_path)
    await vectors.prepare(TEXTS, ASKED, lambda _: None)
    assert vectors.of(TEXTS[0]).tolist() == pytest.approx((await embedder.embed([TEXTS[0]])).vectors[0], abs=1e-6)
    assert vectors.of_question(ASKED[0]).tolist() == pytest.approx(await embedder.embed_query(ASKED[0]), abs=1e-6)
    assert not vectors.of("").any(), "a text without a token has no vector"
