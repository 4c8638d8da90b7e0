"""Which authors a question names, and the question without their names.

Author names poison a dense query: they draw it to all that author says (R@10 of the dense arm alone is .451 with them
and .581 without).

An author is named by the whole name or its first word, with or without a possessive ('s, 的, の). The longest name
wins: "Anna Lee" does not name Anna Kim. Case does not count, as people type questions in lower case; only names that
are everyday words, as "will" or "may", need their capital. (LoCoMo's questions in lower case: R@10 .766, and .759 where
only the author's own spelling counts.)
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

NEVER = frozenset({
    "a", "the", "i", "me", "my", "you", "he", "him", "she", "her", "it", "we", "us", "they", "them",
    "dr", "mr", "mrs", "ms", "prof", "sir",
})  # fmt: skip
"""Words that name nobody on their own: "The Dude" is named by the whole name only."""

EVERYDAY = frozenset({
    "an", "any", "can", "do", "else", "even", "in", "just", "many", "may", "more", "much", "no", "on", "so", "to",
    "will", "april", "art", "august", "bill", "chance", "dawn", "drew", "faith", "grace", "grant", "guy", "hope", "joy",
    "june", "long", "major", "mark", "page", "pat", "rich", "rose", "star", "sue", "summer", "sunny", "young",
})  # fmt: skip
"""Names that are frequent words: in lower case they are taken for the word."""

POSSESSIVES = ("'s", "\u2019s", "的", "の")

# Scripts written without spaces between words: a name may stand right beside other letters.
_UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x3005, 0x3007),  # ideographic iteration mark, zero
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x3400, 0x9FFF),  # Han
    (0xF900, 0xFAFF),  # Han, compatibility
    (0xFF66, 0xFF9F),  # Katakana, half width
    (0x20000, 0x3FFFF),  # Han, extensions
)


class _Match(NamedTuple):
    start: int
    end: int
    authors: frozenset[str]


def strip_names(question: str, authors: Iterable[str]) -> tuple[str, frozenset[str]]:
    """Return the question for the dense arm, and the authors it names.

    White space is collapsed. A question of nothing but names is returned whole: an empty text has no meaning to search.
    """
    plain, matches = _find(question, tuple(authors))
    kept = []
    last = 0
    for match in matches:
        kept.append(plain[last : match.start])
        last = match.end
    kept.append(plain[last:])
    stripped = " ".join("".join(kept).split())
    named = frozenset(author for match in matches for author in match.authors)
    return (stripped if any(map(str.isalnum, stripped)) else plain), named


def named_authors(question: str, authors: Iterable[str]) -> frozenset[str]:
    """Return the authors a question names. A first name shared by two authors names both."""
    _, matches = _find(question, tuple(authors))
    return frozenset(author for match in matches for author in match.authors)


def named_author(question: str, authors: Iterable[str]) -> str | None:
    """Return the author a question names, if it is exactly one."""
    named = named_authors(question, authors)
    return next(iter(named)) if len(named) == 1 else None


def _find(question: str, authors: tuple[str, ...]) -> tuple[str, list[_Match]]:
    """Return the question normalised, and where it names authors: leftmost first, then longest, never overlapping."""
    plain = " ".join(unicodedata.normalize("NFC", question).split())
    folded = _fold(plain)
    found = [
        _Match(start, end, named)
        for alias, named in _aliases(authors).items()
        if alias in folded
        for start, end in _occurrences(alias, plain, folded)
    ]
    found.sort(key=lambda match: (match.start, -match.end))
    apart: list[_Match] = []
    for match in found:
        if not apart or match.start >= apart[-1].end:
            apart.append(match)
    return plain, apart


@lru_cache(maxsize=256)
def _aliases(authors: tuple[str, ...]) -> dict[str, frozenset[str]]:
    """Return what the authors are called, folded, and whom each alias means."""
    meant: dict[str, set[str]] = {}
    for author in authors:
        words = _fold(author).split()
        first = words[0].rstrip(".,") if len(words) > 1 else ""
        aliases = {" ".join(words)}
        if len(first) > 1 or not first.islower():  # an initial is no name
            aliases.add(first)
        for alias in aliases - NEVER - {""}:
            meant.setdefault(alias, set()).add(author)
    return {alias: frozenset(named) for alias, named in meant.items()}


def _occurrences(alias: str, plain: str, folded: str) -> Iterable[tuple[int, int]]:
    """Yield where the alias stands as a word of its own, its possessive included."""
    needs_capital = alias in EVERYDAY or (len(alias) == 1 and alias.islower())
    start = folded.find(alias)
    while start >= 0:
        end = start + len(alias)
        if not (needs_capital and plain[start].islower()) and _begins(folded, start, end):
            for possessive in (*POSSESSIVES, ""):
                if folded.startswith(possessive, end) and _ends(folded, start, end, end + len(possessive)):
                    yield start, end + len(possessive)
                    break
        start = folded.find(alias, start + 1)


def _begins(text: str, start: int, end: int) -> bool:
    if start == 0 or not _in_word(text[start - 1]):
        return True
    if _unspaced(text[start]):
        return end - start > 1  # one ideograph beside others is likelier a part of another word
    return _unspaced(text[start - 1]) or not _in_word(text[start])


def _ends(text: str, start: int, name_end: int, end: int) -> bool:
    if end == len(text) or not _in_word(text[end]):
        return True
    if unicodedata.category(text[end])[0] == "M":
        return False  # a combining mark belongs to the letter before it
    last = text[end - 1]
    if _unspaced(last):
        return name_end - start > 1
    return _unspaced(text[end]) or _hangul(last) or not _in_word(last)  # Korean particles follow a name at once


def _in_word(char: str) -> bool:
    return char.isalnum() or char == "_" or unicodedata.category(char)[0] == "M"


def _unspaced(char: str) -> bool:
    code = ord(char)
    return code > _UNSPACED[0][0] and any(first <= code <= last for first, last in _UNSPACED)


def _hangul(char: str) -> bool:
    return "\uac00" <= char <= "\ud7a3"


def _fold(text: str) -> str:
    """Return the text in lower case, letter for letter: no place in it moves."""
    if text.isascii():
        return text.lower()
    return "".join(char.lower()[0] for char in text).replace("ς", "\u03c3")
