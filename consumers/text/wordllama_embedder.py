"""The offline default: WordLlama's static token vectors, averaged. 256 dimensions, its weights ship in its wheel.

Of the wheel only two files are used, and no module of it. Its matrix stays a file of 16-bit numbers, mapped into memory
and shared by every process on the machine, of which the rows of a text's tokens are widened: the library holds a
32-bit copy of all. And it pads each batch to its longest text, which takes gigabytes for texts of thousands of tokens.
The vectors are the same.
"""

from __future__ import annotations

import asyncio
import functools
import importlib.util
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import orjson
from numpy.typing import NDArray

from afterturn.consumers.text.embedder import Embedded, Vector, checked
from afterturn.consumers.text.errors import EmbedderUnusable
from afterturn.schemas.types import clean_text

if TYPE_CHECKING:
    from tokenizers import Tokenizer

NAME = "wordllama"
DIMENSION = 256
_INLINE_CHARS = 2_000
"""Up to so many code points (2 ms) the event loop does the work itself: a thread costs more and gains nothing."""
_BLOCK_TOKENS = 2_048
"""Tokens gathered at once: 2 MB of rows."""
_WEIGHTS, _TENSOR = "weights/l2_supercat_256.safetensors", "embedding.weight"
_TOKENIZER = "tokenizers/l2_supercat_tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class _Model:
    tokenizer: Tokenizer
    rows: NDArray[np.float16]


class WordLlamaEmbedder:
    """Texts as the normalised mean of their tokens' vectors. Larger batches are the work of one thread."""

    name = NAME
    slug = NAME
    dimension = DIMENSION

    def __init__(self) -> None:
        """Load it.

        Raises:
            EmbedderUnusable: it isn't installed, or its files are not those of the version we know.
        """
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
        # The fast way leaves out where in the text each token stands.
        encoded = self._model.tokenizer.encode_batch_fast(list(map(clean_text, texts)), add_special_tokens=False)
        ids = [np.asarray(text.ids, dtype=np.int64) for text in encoded]
        vectors = [vector for block in _blocks(ids) for vector in _means(self._model.rows, block)]
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


def _means(rows: NDArray[np.float16], block: list[NDArray[np.int64]]) -> list[Vector | None]:
    """The normalised mean of each text's rows; None where it has no token or its rows cancel out."""
    lengths = np.array([len(text) for text in block])
    means = np.zeros((len(block), rows.shape[1]), dtype=np.float32)
    filled = lengths > 0
    if filled.any():
        starts = (np.cumsum(lengths) - lengths)[filled]
        gathered = rows[np.minimum(np.concatenate(block), len(rows) - 1)].astype(np.float32)
        means[filled] = np.add.reduceat(gathered, starts, axis=0) / lengths[filled, None]
    norms = np.linalg.norm(means, axis=1, keepdims=True)
    usable: list[bool] = (norms[:, 0] > 0).tolist()
    vectors: list[Vector] = np.divide(means, norms, out=means, where=norms > 0).tolist()
    return [vector if ok else None for vector, ok in zip(vectors, usable, strict=True)]


@functools.cache
def _load() -> _Model:
    """The model, once a process: 0.1 s and 20 MB, and as much of the file's 16 MB as is read."""
    found = importlib.util.find_spec(NAME)
    if found is None or found.origin is None:
        raise EmbedderUnusable(NAME, "is not installed", command_that_helps="pip install 'afterturn[service]'")
    from tokenizers import Tokenizer

    folder = Path(found.origin).parent
    try:
        rows = _mapped(folder / _WEIGHTS)
        tokenizer: Tokenizer = Tokenizer.from_buffer((folder / _TOKENIZER).read_bytes())
    except (OSError, KeyError, ValueError) as error:
        raise EmbedderUnusable(NAME, f"is of a version we don't know ({type(error).__name__})") from None
    tokenizer.no_padding()
    tokenizer.no_truncation()
    # It would keep the last 10,000 texts with their tokens, 160 MB, and gain nothing: no text comes twice.
    tokenizer.model._resize_cache(0)  # noqa: SLF001 - otherwise only at the model's construction
    return _Model(tokenizer, rows)


def _mapped(path: Path) -> NDArray[np.float16]:
    """The rows of a safetensors file: its header's length in 8 bytes, the header as JSON, then the numbers.

    Raises:
        OSError, KeyError, ValueError: it is no such file, or holds other rows.
    """
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        tensor = orjson.loads(file.read(length))[_TENSOR]
    count, width = tensor["shape"]
    if tensor["dtype"] != "F16" or width != DIMENSION:
        raise ValueError(f"rows of {width} {tensor['dtype']}")
    begin = 8 + length + tensor["data_offsets"][0]
    return np.asarray(np.memmap(path, dtype=np.dtype("<f2"), mode="r", offset=begin, shape=(count, width)))
