"""``openai:<model>``: the embeddings of any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from afterturn.consumers.text.embedder import Embedded, Vector, checked, slug_of
from afterturn.consumers.text.errors import EmbedderUnusable
from afterturn.consumers.text.openai_client import KIND, OpenAIClient, OpenAISettings, RefusedInput

DIMENSIONS = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072, "text-embedding-ada-002": 1536}
BATCH_TEXTS, BATCH_CHARS = 128, 200_000
"""Bounds of a request: far below the 2,048 texts and 300,000 tokens the public endpoint takes."""
_PROBE = "hello"


@dataclass(slots=True)
class _Tally:
    """What one call of `OpenAIEmbedder.embed` has used so far."""

    tokens: int = 0
    calls: int = 0


class OpenAIEmbedder:
    """Texts by requests of up to 128; a refused request is halved until the refused texts stand alone."""

    def __init__(self, client: OpenAIClient, dimension: int) -> None:
        self.name = f"{KIND}:{client.model}"
        self.slug = slug_of(self.name)
        self.dimension = dimension
        self._client = client

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """The vectors of ``texts``; None for those that are blank or that the endpoint refuses.

        Raises:
            EmbedderAway: the endpoint cannot be reached, is busy, or answers with something else.
            EmbedderUnusable: it refuses the key, the model or every text, or gives another dimension.
        """
        tally = _Tally()
        vectors: list[Vector | None] = [None] * len(texts)
        asked = [index for index, text in enumerate(texts) if text.strip()]
        for batch in batches(asked, texts):
            found = await self._halving([texts[index] for index in batch], tally)
            for index, vector in zip(batch, found, strict=True):
                vectors[index] = vector
        if asked and all(vector is None for vector in vectors):
            # The texts may be at fault, but who refuses a plain word too refuses the settings.
            tally.calls += 1
            await _probe(self._client)
        return Embedded(checked(vectors, len(texts), self), tally.tokens, tally.calls)

    async def embed_query(self, text: str) -> Vector | None:
        """The vector of a question, None if the endpoint refuses it. Raises as `embed` does."""
        return (await self.embed([text])).vectors[0]

    async def close(self) -> None:
        """Close its connections."""
        await self._client.close()

    async def _halving(self, texts: list[str], tally: _Tally) -> list[Vector | None]:
        tally.calls += 1
        try:
            vectors, tokens = await self._client.embeddings(texts)
        except RefusedInput:
            if len(texts) == 1:
                return [None]
        else:
            tally.tokens += tokens
            return list(vectors)
        half = len(texts) // 2
        return await self._halving(texts[:half], tally) + await self._halving(texts[half:], tally)


async def open_openai(model: str, settings: OpenAISettings) -> OpenAIEmbedder:
    """The embedder of ``model``; one whose dimension is not known is asked for it once.

    Raises:
        EmbedderUnusable: the package or the key is missing, or the endpoint refuses the model.
        EmbedderAway: the endpoint is away and the dimension isn't known.
    """
    client = OpenAIClient(model, settings)
    try:
        dimension = DIMENSIONS.get(model) or await _probe(client)
    except BaseException:
        await client.close()
        raise
    return OpenAIEmbedder(client, dimension)


async def _probe(client: OpenAIClient) -> int:
    """The dimension of a plain word's vector."""
    try:
        vectors, _ = await client.embeddings([_PROBE])
    except RefusedInput:
        raise EmbedderUnusable(client.who, "refuses even a plain word: check the model's name") from None
    if not vectors[0]:
        raise EmbedderUnusable(client.who, "gives vectors without numbers: it is no embedding model")
    return len(vectors[0])


def batches(indices: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    """``indices`` of ``texts`` in order, in batches within the bounds of a request (one text always fits)."""
    batch: list[int] = []
    chars = 0
    for index in indices:
        if batch and (len(batch) == BATCH_TEXTS or chars + len(texts[index]) > BATCH_CHARS):
            yield batch
            batch, chars = [], 0
        batch.append(index)
        chars += len(texts[index])
    if batch:
        yield batch
