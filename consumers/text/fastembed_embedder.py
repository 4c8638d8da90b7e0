"""ONNX models through fastembed: ``fastembed:<folder>`` (offline) or ``fastembed:<a model it knows>`` (downloads it).

A folder holds ``model.onnx``, ``config.json`` (its ``hidden_size`` is the dimension), ``tokenizer.json`` and
``tokenizer_config.json``; its vectors are mean-pooled and normalised. What exceeds the model's context is cut by its
tokenizer.
"""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from afterturn.consumers.text.embedder import Embedded, Vector, checked, slug_of
from afterturn.consumers.text.errors import EmbedderUnusable
from afterturn.schemas.budget import tokens_of
from afterturn.schemas.types import clean_text

if TYPE_CHECKING:
    from fastembed import TextEmbedding

KIND = "fastembed"
_LOADING = threading.Lock()
_BATCH = 16
"""Texts a call; sorted by length, a batch pads little: 1.7 times the rate of larger, unsorted ones."""
_FILES = ("model.onnx", "config.json", "tokenizer.json", "tokenizer_config.json")


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: TextEmbedding
    dimension: int
    slug: str


class FastembedEmbedder:
    """Texts through an ONNX model, on one thread of its own (the runtime itself uses all cores)."""

    def __init__(self, model: str) -> None:
        """Load ``model``, a folder or a name: seconds, so not on the event loop.

        Raises:
            EmbedderUnusable: fastembed isn't installed, or it cannot load ``model``.
        """
        self.name = f"{KIND}:{model}"
        loaded = _load(model)
        self.dimension, self.slug = loaded.dimension, loaded.slug
        self._model = loaded.model
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=KIND)

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of ``texts``. Tokens are estimated: four characters each."""
        if not texts:
            return Embedded([], tokens=0, calls=0)
        return await self._run(texts, query=False)

    async def embed_query(self, text: str) -> Vector | None:
        """The vector of a question, with the prefix its model wants for questions."""
        return (await self._run([text], query=True)).vectors[0]

    async def close(self) -> None:
        """Let the thread go."""
        self._thread.shutdown(wait=False)

    async def _run(self, texts: Sequence[str], *, query: bool) -> Embedded:
        work = functools.partial(self._embedded, texts, query=query)
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    def _embedded(self, texts: Sequence[str], *, query: bool) -> Embedded:
        order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
        embed = self._model.query_embed if query else self._model.passage_embed
        found = embed([clean_text(texts[index]) for index in order], batch_size=_BATCH)
        vectors: list[Vector | None] = [None] * len(texts)
        for index, vector in zip(order, found, strict=True):
            vectors[index] = vector.tolist()
        tokens = sum(tokens_of(len(text)) for text in texts)
        return Embedded(checked(vectors, len(texts), self), tokens, calls=-(-len(texts) // _BATCH))


def _load(model: str) -> _Loaded:
    """Each model once a process: fastembed refuses to learn a folder's twice."""
    folder = Path(model).expanduser()
    with _LOADING:
        return _load_folder(folder.resolve()) if folder.is_dir() else _load_named(model)


def _fastembed(model: str) -> type[TextEmbedding]:
    try:
        from fastembed import TextEmbedding
    except ImportError as error:
        help_by = "pip install 'afterturn[fastembed]'"
        raise EmbedderUnusable(f"{KIND}:{model}", "needs fastembed", command_that_helps=help_by) from error
    return TextEmbedding


@functools.cache
def _load_folder(folder: Path) -> _Loaded:
    embedding = _fastembed(str(folder))
    from fastembed.common.model_description import ModelSource, PoolingType

    if missing := [name for name in _FILES if not (folder / name).is_file()]:
        raise EmbedderUnusable(
            f"{KIND}:{folder}", f"lacks {', '.join(missing)}: put the model's files into that folder"
        )
    dimension = _hidden_size(folder / "config.json")
    digest = sha256((folder / "model.onnx").read_bytes()).hexdigest()[:8]
    name = f"afterturn/{sha256(bytes(folder)).hexdigest()[:16]}"
    embedding.add_custom_model(
        name,
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=name),
        dim=dimension,
        model_file="model.onnx",
    )
    model = embedding(name, specific_model_path=str(folder))
    # The weights' digest, not the path: the same model may lie elsewhere on another machine.
    return _Loaded(model, dimension, slug_of(f"{KIND}:{folder.name.lower()}-{digest}"))


@functools.cache
def _load_named(model: str) -> _Loaded:
    embedding = _fastembed(model)
    try:
        dimension = embedding.get_embedding_size(model)
        return _Loaded(embedding(model), dimension, slug_of(f"{KIND}:{model}"))
    except ValueError as error:
        raise EmbedderUnusable(
            f"{KIND}:{model}",
            "is no folder here, and fastembed does not know that model or could not download it: "
            "name a folder with model.onnx and its tokenizer's files",
        ) from error


def _hidden_size(config: Path) -> int:
    try:
        size = orjson.loads(config.read_bytes())["hidden_size"]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        size = None
    if not isinstance(size, int) or size < 1:
        problem = "has no hidden_size in its config.json, the dimension of the model's vectors"
        raise EmbedderUnusable(f"{KIND}:{config.parent}", problem)
    return size
