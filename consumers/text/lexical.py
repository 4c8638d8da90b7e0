"""The lexical arm: BM25 term weights as sparse vectors, the same on every machine and without a network.

English stems and stop words, as in the measured recipe; other languages by whole folded words; scripts written without
spaces by overlapping pairs of characters, so that a word is found wherever it stands.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

from qdrant_edge import Bm25, Bm25Config, SparseVector, TokenizerType

from afterturn.schemas.types import clean_text

NAME = "bm25-english-bigrams-1"
"""Names tokens and weights: another name means vectors that must not be mixed with these."""
SATURATION_K, LENGTH_B, AVERAGE_LENGTH = 0.9, 0.4, 40.0
"""BM25's k, b and the average length in tokens; measured: none of them matters much."""

_MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
# Scripts whose single characters are often words: Han and Hangul.
_WORDLIKE = "\u3005-\u3007\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U000323af\uac00-\ud7a3"
# Kana, bopomofo, Thai, Lao, Myanmar, Khmer: letters and marks, no digits.
_OTHERS = (
    "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u31f0-\u31ff"
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ebd\u0ec0-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3"
)
_UNSPACED = re.compile(f"[{_WORDLIKE}{_OTHERS}]+")
_WORDLIKE_CHAR = re.compile(f"[{_WORDLIKE}]")
_STRAY_MARKS = re.compile("[\u0300-\u036f]")


@dataclass(frozen=True, slots=True)
class LexicalVector:
    """A sparse vector: token ids (ascending, 32 bits) and their weights. False where the text has no token."""

    indices: list[int]
    values: list[float]

    def __bool__(self) -> bool:
        return bool(self.indices)


def document(text: str) -> LexicalVector:
    """The weights of a stored text (see `lexical_text`). Empty for a text of stop words only: skip the vector."""
    return _vector(_encoder().embed_document(_prepared(text)))


def query(text: str) -> LexicalVector:
    """The tokens of a question, each with weight 1. Empty for stop words only: skip the lexical arm."""
    return _vector(_encoder().embed_query(_prepared(text)))


def lexical_text(author: str | None, occurred_at: datetime, content: str) -> str:
    """What the lexical arm indexes of a message: ``[8 May 2023] author: content``, the day in UTC.

    Raises:
        ValueError: ``occurred_at`` has no time zone.
    """
    if occurred_at.tzinfo is None:
        raise ValueError("occurred_at has no time zone: its day would depend on the machine")
    at = occurred_at.astimezone(UTC)
    spoken = f"{author}: {content}" if author else content
    return f"[{at.day} {_MONTHS[at.month - 1]} {at.year}] {spoken}"


def fold(text: str) -> str:
    """Case, width and compatibility forms folded. Accents are the encoder's work."""
    folded = unicodedata.normalize("NFKC", clean_text(text)).casefold()
    return _STRAY_MARKS.sub("", unicodedata.normalize("NFKC", folded))


def segment_cjk(text: str) -> str:
    """Each run of a script without spaces as its overlapping pairs of characters, separated by spaces.

    Han and Hangul characters also stand alone. Everything else stays as it is: ``"I ate 烤鸭"`` gives
    ``"I ate  烤鸭 烤 鸭 "``.
    """
    return _UNSPACED.sub(lambda run: f" {' '.join(_pieces(run[0]))} ", text)


def _pieces(run: str) -> Iterator[str]:
    chars = [char for char in run if char.isalnum()]
    if len(chars) == 1:
        yield chars[0]
        return
    for first, second in itertools.pairwise(chars):
        yield first + second
    yield from filter(_WORDLIKE_CHAR.match, chars)


def _prepared(text: str) -> str:
    return segment_cjk(fold(text))


def _vector(sparse: SparseVector) -> LexicalVector:
    return LexicalVector(list(sparse.indices), list(sparse.values))


@functools.cache
def _encoder() -> Bm25:
    config = Bm25Config(
        k=SATURATION_K,
        b=LENGTH_B,
        avg_len=AVERAGE_LENGTH,
        tokenizer=TokenizerType.Word,
        language="english",
        ascii_folding=True,
    )
    return Bm25(config)
