import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest

from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.errors import EmbedderUnusable
from afterturn.consumers.text.fastembed_embedder import FastembedEmbedder
from afterturn.consumers.text.registry import open_embedder

_FOLDER = os.environ.get("AFTERTURN_MINILM", "")
needs_model = pytest.mark.skipif(
    not _FOLDER, reason="AFTERTURN_MINILM names no folder with all-MiniLM-L6-v2's model.onnx and tokenizer files"
)


@pytest.fixture
async def minilm() -> AsyncIterator[Embedder]:
    opened = await open_embedder(f"fastembed:{_FOLDER}")
    yield opened
    await opened.close()


@needs_model
async def test_a_folder_opens_offline(minilm: Embedder) -> None:
    assert minilm.name == f"fastembed:{_FOLDER}"
    assert minilm.dimension == 384
    assert minilm.slug.startswith("fastembed-")
    assert _FOLDER not in minilm.slug


@needs_model
async def test_similar_texts_are_near_and_keep_their_places(minilm: Embedder) -> None:
    texts = [
        "My dog loves the beach. " + "He runs all day. " * 9,
        "Tax forms are due.",
        "A puppy plays by the sea.",
    ] * 15
    found = await minilm.embed(texts)
    vectors = np.array(found.vectors)
    assert vectors.shape == (45, 384)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-4)
    assert np.allclose(vectors[:3], vectors[42:], atol=1e-2)
    assert vectors[0] @ vectors[2] > vectors[0] @ vectors[1] + 0.2
    assert (found.calls, found.unembedded) == (3, 0)
    query = await minilm.embed_query(texts[1])
    assert np.allclose(query or [], vectors[1], atol=1e-2)
    assert (await minilm.embed([])).calls == 0


@needs_model
async def test_one_folder_may_be_opened_by_several_names_and_at_once(minilm: Embedder) -> None:
    others = await asyncio.gather(*(open_embedder(f"fastembed:{_FOLDER}{end}") for end in ("", "/", "/.")))
    assert {other.slug for other in others} == {minilm.slug}
    assert await others[1].embed_query("hi \ud83d") == await minilm.embed_query("hi \ufffd")
    for other in others:
        await other.close()


@needs_model
async def test_the_same_weights_elsewhere_have_the_same_slug(minilm: Embedder, tmp_path: Path) -> None:
    copy = tmp_path / Path(_FOLDER).name
    shutil.copytree(_FOLDER, copy)
    again = await open_embedder(f"fastembed:{copy}")
    assert again.slug == minilm.slug
    await again.close()


def test_an_incomplete_folder_is_named_with_what_it_lacks(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    with pytest.raises(EmbedderUnusable, match=r"lacks config.json, tokenizer.json, tokenizer_config.json"):
        FastembedEmbedder(str(tmp_path))


@pytest.mark.parametrize("config", [b"{}", b"not json", b"[]", b'{"hidden_size": "many"}', b'{"hidden_size": 0}'])
def test_a_config_without_dimension_is_refused(tmp_path: Path, config: bytes) -> None:
    for name in ("model.onnx", "tokenizer.json", "tokenizer_config.json"):
        (tmp_path / name).write_bytes(b"")
    (tmp_path / "config.json").write_bytes(config)
    with pytest.raises(EmbedderUnusable, match="no hidden_size"):
        FastembedEmbedder(str(tmp_path))


def test_a_model_fastembed_does_not_know_is_refused() -> None:
    with pytest.raises(EmbedderUnusable, match=r"fastembed:no/such-model is no folder here.*model.onnx"):
        FastembedEmbedder("no/such-model")


async def test_without_the_package_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    for model in (str(tmp_path), "some/model"):
        with pytest.raises(EmbedderUnusable, match=r"pip install 'afterturn\[fastembed\]'"):
            await open_embedder(f"fastembed:{model}")
