import asyncio
import math
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import wordllama
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.registry import open_embedder

TEXTS = [
    "I adopted a puppy last spring.",
    "a",
    "我喜欢北京烤鸭",
    "Hello 👋🔥",
    "word " * 3000,
    "The train to Lisbon leaves at nine.",
]


@pytest.fixture
async def embedder() -> AsyncIterator[Embedder]:
    opened = await open_embedder("wordllama")
    yield opened
    await opened.close()


async def test_its_vectors_are_the_library_s(embedder: Embedder) -> None:
    library = wordllama.WordLlama.load(disable_download=True, cache_dir=Path(wordllama.__file__).parent)
    expected = library.embed(TEXTS, norm=True)
    found = (await embedder.embed(TEXTS)).vectors
    assert np.allclose(np.array(found), expected, atol=1e-5)


async def test_it_says_what_it_is(embedder: Embedder) -> None:
    assert (embedder.name, embedder.slug, embedder.dimension) == ("wordllama", "wordllama", 256)


async def test_a_text_s_vector_does_not_depend_on_its_company(embedder: Embedder) -> None:
    together = await embedder.embed(TEXTS * 60)
    for place, text in enumerate(TEXTS):
        alone = await embedder.embed([text])
        assert np.allclose(alone.vectors[0] or [], together.vectors[place] or [], atol=1e-6)
        assert await embedder.embed_query(text) == alone.vectors[0]
    assert together.unembedded == 0
    assert together.calls == 1
    assert together.tokens == 60 * sum([(await embedder.embed([text])).tokens for text in TEXTS])


async def test_a_text_without_a_token_has_no_vector(embedder: Embedder) -> None:
    found = await embedder.embed(["a", "", "b", ""])
    assert [vector is None for vector in found.vectors] == [False, True, False, True]
    assert found.unembedded == 2
    assert await embedder.embed_query("") is None
    assert (await embedder.embed([])).vectors == []
    assert (await embedder.embed(["", ""])).unembedded == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(texts=st.lists(st.text(st.characters(exclude_categories=["Cs"])), max_size=8))
async def test_every_vector_has_length_one(embedder: Embedder, texts: list[str]) -> None:
    found = await embedder.embed(texts)
    assert len(found.vectors) == len(texts)
    for vector in found.vectors:
        assert vector is None or math.isclose(sum(number * number for number in vector), 1, rel_tol=1e-4)


async def test_half_an_emoji_and_nul_are_embedded(embedder: Embedder) -> None:
    assert await embedder.embed_query("hi \ud83d") == await embedder.embed_query("hi \ufffd")
    assert await embedder.embed_query("a\0b") == await embedder.embed_query("ab")


async def test_a_large_batch_leaves_the_event_loop_running(embedder: Embedder) -> None:
    work = asyncio.create_task(embedder.embed(["a sentence of some words " * 8] * 2000))
    turns = 0
    while not work.done():
        await asyncio.sleep(0)
        turns += 1
    assert turns > 20  # done on the loop itself it would be two
    assert (await work).unembedded == 0


def test_loading_it_leaves_the_root_logger_alone() -> None:
    program = (
        "import logging; from afterturn.consumers.text.wordllama_embedder import WordLlamaEmbedder;"
        "WordLlamaEmbedder(); print(logging.root.handlers, logging.root.level)"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert ran.stdout.strip() == "[] 30"
