"""Vectors of texts, kept in a folder: an embedder reads each text once, however often recipes are compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from hashlib import sha256
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from afterturn.consumers.text.embedder import Embedder, Vector

Floats = NDArray[np.float32]
_BATCH = 64


class CachedVectors:
    """An embedder's vectors by text. What a text says isn't kept: the folder holds digests and numbers."""

    def __init__(self, embedder: Embedder, folder: Path) -> None:
        self._embedder = embedder
        self._path = folder / f"{embedder.slug}-{embedder.dimension}.npz"
        self._found: dict[bytes, Floats] = {}
        if self._path.is_file():
            with np.load(self._path) as kept:
                keys: Iterable[bytes] = kept["keys"].tolist()
                self._found = dict(zip(keys, kept["vectors"], strict=True))

    async def prepare(self, texts: Iterable[str], questions: Iterable[str], told: Callable[[int], None]) -> None:
        """Embed what isn't there yet, and keep it. ``told`` hears how many texts were embedded.

        Raises:
            Retry: the embedder is away.
            Stop: it gives vectors of another dimension.
        """
        missing = self._missing(texts, "")
        asked = self._missing(questions, "?")
        for start in range(0, len(missing), _BATCH):
            batch = missing[start : start + _BATCH]
            found = await self._embedder.embed([text for _, text in batch])
            self._take([key for key, _ in batch], found.vectors)
            told(start + len(batch))
        for count, (key, text) in enumerate(asked, 1):
            self._take([key], [await self._embedder.embed_query(text)])
            told(len(missing) + count)
        if missing or asked:
            self._keep()

    def missing(self, texts: Iterable[str], questions: Iterable[str]) -> int:
        """How many texts `prepare` would embed."""
        return len(self._missing(texts, "")) + len(self._missing(questions, "?"))

    def of(self, text: str) -> Floats:
        """A stored text's vector; zeros where it has none."""
        return self._found[_key("", text)]

    def of_question(self, text: str) -> Floats:
        """A question's vector; zeros where it has none."""
        return self._found[_key("?", text)]

    def _missing(self, texts: Iterable[str], use: str) -> list[tuple[bytes, str]]:
        wanted = ((_key(use, text), text) for text in dict.fromkeys(texts))
        return [(key, text) for key, text in wanted if key not in self._found]

    def _take(self, keys: list[bytes], vectors: list[Vector | None]) -> None:
        nothing = np.zeros(self._embedder.dimension, dtype=np.float32)
        for key, vector in zip(keys, vectors, strict=True):
            self._found[key] = nothing if vector is None else _normalised(vector)

    def _keep(self) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new.npz")
        np.savez(fresh, keys=np.array(list(self._found)), vectors=np.stack(list(self._found.values())))
        fresh.replace(self._path)


def _normalised(vector: Vector) -> Floats:
    numbers = np.asarray(vector, dtype=np.float32)
    return np.asarray(numbers / max(float(np.linalg.norm(numbers)), 1e-12), dtype=np.float32)


def _key(use: str, text: str) -> bytes:
    # In hexadecimal: numpy drops zero bytes at the end of a byte string.
    return sha256(f"{use}\0{text}".encode()).hexdigest().encode()
