"""The seam of dense vectors: what an embedder is, and what of its answers may be stored."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Protocol

from afterturn.consumers.text.errors import EmbedderAway, EmbedderUnusable

Vector = list[float]

_LEAST, _MOST = 1e-5, 1e15
"""Bounds of a vector's absolute sum within which its norm neither vanishes nor overflows in 32 bits."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors of some texts, in their order; None for a text the embedder refuses."""

    vectors: list[Vector | None]
    tokens: int
    """Tokens read: the embedder's own count, or four characters a token where it has none."""
    calls: int
    """How often the model was called."""

    @property
    def unembedded(self) -> int:
        """How many texts have no vector."""
        return self.vectors.count(None)


class Embedder(Protocol):
    """Turns texts into dense vectors of one fixed dimension."""

    @property
    def name(self) -> str:
        """What opens it: ``wordllama``, ``fastembed:<model or folder>``, ``openai:<model>``."""
        ...

    @property
    def slug(self) -> str:
        """The model's identity, the same on every machine, safe within a collection's name."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of ``texts``. Every vector has `dimension` finite numbers that are not all zero.

        Raises:
            EmbedderAway: (a Retry) it cannot be reached, or answers with something else.
            EmbedderUnusable: (a Stop) it gives vectors of another dimension, or its settings are wrong.
        """
        ...

    async def embed_query(self, text: str) -> Vector | None:
        """The vector of a question, None if the embedder refuses it. Raises as `embed` does."""
        ...

    async def close(self) -> None:
        """Let go of threads and connections."""
        ...


def checked(vectors: Sequence[Vector | None], texts: int, embedder: Embedder) -> list[Vector | None]:
    """``vectors`` as they may be stored: None for one that is all zero or not finite.

    Raises:
        EmbedderAway: there are not as many vectors as ``texts``.
        EmbedderUnusable: a vector has another dimension than the embedder's.
    """
    if len(vectors) != texts:
        raise EmbedderAway(embedder.name, f"gave {len(vectors)} vectors for {texts} texts")
    return [vector if vector is not None and _usable(vector, embedder) else None for vector in vectors]


def _usable(vector: Vector, embedder: Embedder) -> bool:
    if len(vector) != embedder.dimension:
        raise EmbedderUnusable(
            embedder.name,
            f"gave a vector of {len(vector)} numbers where {embedder.dimension} were expected: "
            "set the embedder this collection was made with, or make a collection for this one",
        )
    # NaN and infinity fail the comparison too.
    return _LEAST <= sum(map(abs, vector)) <= _MOST


def slug_of(name: str) -> str:
    """``name`` in lower-case letters, digits, ``.``, ``_`` and ``-``; distinct names give distinct slugs."""
    kind, _, model = name.partition(":")
    plain = re.sub(r"[^a-z0-9._]+", "-", model.lower()).strip("-")[:64]
    digest = "" if plain == model else sha256(name.encode()).hexdigest()[:8]
    return "-".join(filter(None, (kind, plain, digest)))
