"""A question as what the arms search for."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from afterturn.consumers.store.read import SparseVector
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder, Vector
from afterturn.schemas.budget import tokens_of
from afterturn.schemas.parts import Usage
from afterturn.streams.errors import Retry

MOST_CHARS = 10_000
"""Of a longer question its end is searched for: all of it would keep every other answer waiting for seconds."""


def bounded(question: str) -> str:
    """The part of a question that is searched for."""
    return question[-MOST_CHARS:]


@dataclass(frozen=True, slots=True)
class Sought:
    """What the arms search for; None where a question has nothing for an arm. ``lacks`` says which arm failed."""

    dense: Vector | None
    sparse: SparseVector | None
    lacks: tuple[str, ...]
    usage: Usage


async def sought(embedder: Embedder, question: str, seconds: float, sense: str | None = None) -> Sought:
    """A question for both arms; the dense one searches for ``sense``, where that is another text."""
    sense = question if sense is None else sense
    dense, embedded = await _vector_of(embedder, sense, seconds)
    words = lexical.query(question)
    usage = Usage(embedder_calls=1, embedded_tokens=tokens_of(len(sense))) if embedded else Usage()
    sparse = (words.indices, words.values) if words else None
    return Sought(dense, sparse, () if embedded else ("vector",), usage)


async def _vector_of(embedder: Embedder, text: str, seconds: float) -> tuple[Vector | None, bool]:
    """The vector, None where the text has none; and whether the embedder did its work in time."""
    try:
        async with asyncio.timeout(seconds):
            return await embedder.embed_query(text), True
    except (Retry, TimeoutError):
        return None, False
