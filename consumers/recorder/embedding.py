"""Step 4 of the write path: vectors for what is new. A text the embedder refuses is kept, found by its words only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.budget import tokens_of
from afterturn.schemas.points import Memory, StoredPoint


@dataclass(frozen=True, slots=True)
class Embedded:
    """The points of a plan with their vectors, which of them have no dense one, and what it cost, by point id."""

    writes: tuple[PointWrite, ...]
    unembedded: frozenset[str]
    tokens: Mapping[str, int]
    calls: int


NOTHING_EMBEDDED = Embedded((), frozenset(), {}, 0)


async def embed(points: Mapping[str, StoredPoint], embedder: Embedder) -> Embedded:
    """Vectors for every point that says something; the others are written without any.

    Raises:
        Retry: the embedder is away.
        Stop: it gives vectors of another dimension.
    """
    texts = {id_: text for id_, point in points.items() if (text := text_of(point)) is not None}
    if not texts:
        return Embedded(tuple(PointWrite(id_, point) for id_, point in points.items()), frozenset(), {}, 0)
    found = await embedder.embed(list(texts.values()))
    dense = dict(zip(texts, found.vectors, strict=True))
    writes = tuple(
        PointWrite(id_, point, dense[id_], words(point)) if id_ in texts else PointWrite(id_, point)
        for id_, point in points.items()
    )
    return Embedded(
        writes,
        frozenset(id_ for id_, vector in dense.items() if vector is None),
        {id_: tokens_of(len(text)) for id_, text in texts.items()},
        found.calls,
    )


def text_of(point: StoredPoint) -> str | None:
    """What the dense vector is made of: the raw text, without author and date (retrieval.md)."""
    return point.content if isinstance(point, Memory) else None


def words(point: StoredPoint) -> tuple[list[int], list[float]] | None:
    """The lexical vector of "[date] author: text", or None where no word is left."""
    if not isinstance(point, Memory) or point.content is None:
        return None
    if point.occurred_at is None:
        text = point.content
    else:
        text = lexical.lexical_text(point.author, point.occurred_at, point.content)
    vector = lexical.document(text)
    return (vector.indices, vector.values) if vector else None
