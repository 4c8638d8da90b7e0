"""llm4s' ranking: similarity alone; where there is no vector, the share of the question's words that occur."""

from __future__ import annotations

import re
import unicodedata

_WORDS = re.compile(r"[^\W_]+")


def similarity(cosine: float) -> float:
    """Return a cosine as 0..1."""
    return (cosine + 1) / 2


def words_of(text: str) -> frozenset[str]:
    """Return the words of a text: runs of letters, digits and marks in lower case, accents removed."""
    plain = unicodedata.normalize("NFD", text.lower())
    bare = "".join(char for char in plain if not "\u0300" <= char <= "\u036f")
    return frozenset(_WORDS.findall(unicodedata.normalize("NFC", bare)))


def share(question: frozenset[str], text: str) -> float:
    """Return which share of the question's words occur in a text; 0 for a question without any."""
    return len(question & words_of(text)) / len(question) if question else 0.0
