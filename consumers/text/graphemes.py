"""Where a text may be cut without tearing what a reader sees as one character.

The rules of Unicode's text segmentation (UAX 29) that matter for stored text, without its tables: combining marks,
joiners, variation selectors, skin tones, tags, flags, Hangul jamo, CR LF and the halves of a surrogate pair.
"""

from __future__ import annotations

import unicodedata

_FARTHEST_BACK = 64
"""A grapheme longer than this is cut: stacked marks have no end."""
_ZWJ = "\u200d"
_MARKS = frozenset({"Mn", "Mc", "Me"})


def _extends(char: str) -> bool:
    """Whether ``char`` belongs to the character before it."""
    return (
        unicodedata.category(char) in _MARKS
        or char in (_ZWJ, "\u200c")
        or "\U0001f3fb" <= char <= "\U0001f3ff"  # skin tones
        or "\U000e0020" <= char <= "\U000e007f"  # tags of regional flags
        or "\u1160" <= char <= "\u11ff"  # vowels and finals of decomposed Hangul
        or "\udc00" <= char <= "\udfff"  # the low half of a surrogate pair
    )


def _is_flag_half(char: str) -> bool:
    return "\U0001f1e6" <= char <= "\U0001f1ff"


def _within_flag(content: str, index: int, start: int) -> bool:
    """Whether ``index`` lies between the two letters of a flag: an odd number of letters stands before it."""
    if not _is_flag_half(content[index]):
        return False
    before = index
    while before > start and _is_flag_half(content[before - 1]):
        before -= 1
    return (index - before) % 2 == 1


def joined(content: str, index: int, start: int = 0) -> bool:
    """Whether cutting ``content`` before ``index`` would tear a character; ``start`` is known to tear none."""
    if not start < index < len(content):
        return False
    before, char = content[index - 1], content[index]
    if char < "\u0300":
        return before == "\r" and char == "\n"
    return before == _ZWJ or _extends(char) or _within_flag(content, index, start)


def safe_end(content: str, start: int, limit: int) -> int:
    """The last index in ``start + 1..limit`` at which no character is torn; ``limit`` if there is none near it.

    ``start`` must itself tear none.
    """
    limit = min(limit, len(content))
    for index in range(limit, max(start, limit - _FARTHEST_BACK), -1):
        if not joined(content, index, start):
            return index
    return limit
