"""The offline default: WordLlama's static token vectors, averaged. 256 dimensions, its weights ship in its wheel.

The average is taken here, over flat arrays: the library pads each batch to its longest text, which takes gigabytes for
texts of thousands of tokens and is a third slower. The vectors are the same.
"""

from __future__ import annotations

import asyncio
import functools
import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from afterturn.consumers.text.embedder import Embedded, Vector, checked
from afterturn.schemas.types import clean_text

if TYPE_CHECKING:
    from wordllama.inference import WordLlamaInference

NAME = "wordllama"
DIMENSION = 256
_INLINE_CHARS = 2_000
"""Up to so many code points (2 ms) the event loop does the work itself: a thread costs more and gains nothing."""
_BLOCK_TOKENS = 8_192
"""Tokens gathered at once: 8 MB of rows."""


class WordLlamaEmbedder:
    """Texts as the normalised mean of their tokens' vectors. Larger batches are the work of one thread."""

    name = NAME
    slug = NAME
    dimension = DIMENSION

    def __init__(self) -> None:
        self._model = _load()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=NAME)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of ``texts``; None for one without a token. Tokens are WordLlama's own."""
        if not texts:
            return Embedded([], tokens=0, calls=0)
        if sum(map(len, texts)) <= _INLINE_CHARS:
            return self._embedded(texts)
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._embedded, texts)

    async def embed_query(self, text: str) -> Vector | None:
        """The vector of a question; None for one without a token."""
        return (await self.embed([text])).vectors[0]

    async def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False)

    def _embedded(self, texts: Sequence[str]) -> Embedded:
        encoded = self._model.tokenizer.encode_batch(list(map(clean_text, texts)), add_special_tokens=False)
        ids = [np.asarray(text.ids, dtype=np.int64) for text in encoded]
        vectors = [vector for block in _blocks(ids) for vector in _means(self._model.embedding, block)]
        return Embedded(checked(vectors, len(texts), self), tokens=sum(map(len, ids)), calls=1)


def _blocks(ids: list[NDArray[np.int64]]) -> Iterator[list[NDArray[np.int64]]]:
    """``ids`` in order, in blocks of at most `_BLOCK_TOKENS` (or one text)."""
    block: list[NDArray[np.int64]] = []
    tokens = 0
    for text in ids:
        if block and tokens + len(text) > _BLOCK_TOKENS:
            yield block
            block, tokens = [], 0
        block.append(text)
        tokens += len(text)
    if block:
        yield block


def _means(rows: NDArray[np.float32], block: list[NDArray[np.int64]]) -> list[Vector | None]:
    """The normalised mean of each text's rows; None where it has no token or its rows cancel out."""
    lengths = np.array([len(text) for text in block])
    means = np.zeros((len(block), rows.shape[1]), dtype=np.float32)
    filled = lengths > 0
    if filled.any():
        starts = (np.cumsum(lengths) - lengths)[filled]
        gathered = rows[np.minimum(np.concatenate(block), len(rows) - 1)]
        means[filled] = np.add.reduceat(gathered, starts, axis=0) / lengths[filled, None]
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    usable: list[bool] = (norms[:, 0] > 0).tolist()
    vectors: list[Vector] = np.divide(means, norms, out=means, where=norms > 0).tolist()
    return [vector if ok else None for vector, ok in zip(vectors, usable, strict=True)]


@functools.cache
def _load() -> WordLlamaInference:
    """The model, once a process: 0.4 s and 60 MB."""
    root = logging.getLogger()
    level, handlers = root.level, list(root.handlers)
    import wordllama

    # Importing it sets up the root logger, which is the service's business.
    root.setLevel(level)
    root.handlers[:] = handlers
    # Its own folder is the cache: elsewhere it finds the weights but not the tokenizer.
    model = wordllama.WordLlama.load(disable_download=True, cache_dir=Path(wordllama.__file__).parent)
    model.tokenizer.no_padding()
    return model
