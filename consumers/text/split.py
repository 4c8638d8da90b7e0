"""Long texts in parts: at paragraphs, else sentences, else words, else between graphemes. Pure, linear in the text."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

from afterturn.consumers.text.graphemes import joined, safe_end

# A separator belongs to the part before it, so a match's end is a boundary. No pattern starts with an unbounded
# repetition: a long run of one character costs one pass, not one for each of its characters.
_PARAGRAPH = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCE = re.compile(
    r"""(?<=[.!?…])["'”’)\]]*\s+"""  # noqa: RUF001 - a full stop, what closes, a space
    r"|(?<=[。！？])[」』”’）]*(?![。！？」』”’）])\s*"  # noqa: RUF001 - CJK sentences end without a space
    r"|\n\s*"
)
_WORD = re.compile(r"\s+")
_TEXT = re.compile(r"\S")
_NEARBY = 512
"""Code points before a part's limit that are searched first: mostly the last boundary is there."""
_LEAST_SHARE = 4
"""A paragraph or a sentence ends a part only if the part then has at least max_chars / 4 code points."""


def split(content: str, max_chars: int) -> list[str]:
    """``content`` in parts of at most ``max_chars`` code points.

    Joined, the parts are exactly ``content``. No part is blank (a blank content has no parts): white space that cannot
    be a part of its own stays with a neighbour, and a part is longer than ``max_chars`` only by white space around its
    text that itself nearly fills a part. A grapheme (combining marks, emoji sequences) is kept whole unless it alone is
    too long.

    Raises:
        ValueError: ``max_chars`` is below 1.
    """
    _check(max_chars)
    if len(content) <= max_chars:
        return [content] if content.strip() else []
    return list(_parts(content, max_chars))


def sentences(content: str) -> list[str]:
    """The sentences of ``content`` and its lines, each with the white space after it; joined they are ``content``."""
    ends = [match.end() for match in _SENTENCE.finditer(content) if not joined(content, match.end())]
    bounds = [0, *(end for end in ends if end < len(content)), len(content)]
    return [content[start:end] for start, end in itertools.pairwise(bounds) if start < end]


def cut(content: str, max_chars: int) -> str:
    """The first ``max_chars`` code points of ``content``, or a little less to keep the last grapheme whole.

    Leading white space is dropped where nothing else would be left.

    Raises:
        ValueError: ``max_chars`` is below 1.
    """
    _check(max_chars)
    head = content[: safe_end(content, 0, max_chars)]
    return head if head.strip() or not content.strip() else cut(content.lstrip(), max_chars)


def _check(max_chars: int) -> None:
    if max_chars < 1:
        raise ValueError(f"max_chars is {max_chars}: a part holds at least one code point")


def _next_text(content: str, start: int) -> int:
    """Where the next code point that is not white space lies; the length if there is none."""
    match = _TEXT.search(content, start)
    return match.start() if match else len(content)


def _parts(content: str, max_chars: int) -> Iterator[str]:
    start, text = 0, _next_text(content, 0)
    while text < len(content):
        limit = _limit(content, start, text, max_chars)
        end = len(content) if limit >= len(content) else _end(content, (start, text, limit))
        following = _next_text(content, end)
        if following == len(content) > end:
            end = _before_trailing_space(content, (start, text, end), max_chars)
            following = _next_text(content, end)
        yield content[start:end]
        start, text = end, following


def _limit(content: str, start: int, text: int, max_chars: int) -> int:
    """Where a part must end. White space before its text counts only if the text's first character then fits."""
    limit = start + max_chars
    fits = text == start or (limit > text and not joined(content, safe_end(content, text, limit), text))
    return limit if fits else text + max_chars


def _before_trailing_space(content: str, window: tuple[int, int, int], max_chars: int) -> int:
    """Where to end a part that holds all the text left but not the white space behind it.

    The last part needs a character of its own to hold that white space; without one to spare, or with too much of it,
    the whole rest is one part.
    """
    start, text, end = window
    last = safe_end(content, text, start + len(content[start:end].rstrip()) - 1)
    if last <= text or joined(content, last, text) or len(content) - last > max_chars:
        return len(content)
    return _end(content, (start, text, last))


def _end(content: str, window: tuple[int, int, int]) -> int:
    """Where the part ends that begins at ``start``, has its first text at ``text`` and must end by ``limit``."""
    start, text, limit = window
    least = max(text + 1, start + (limit - start) // _LEAST_SHARE)
    for pattern, begin in ((_PARAGRAPH, least), (_SENTENCE, least), (_WORD, text + 1)):
        if found := _last_boundary(pattern, content, begin, limit):
            return found
    return safe_end(content, text, limit)


def _last_boundary(pattern: re.Pattern[str], content: str, begin: int, limit: int) -> int:
    """The last end of a match within ``begin..limit``, 0 if there is none; white space after the limit counts."""
    if pattern is _WORD and content[limit].isspace() and not joined(content, limit):
        return limit
    for nearby in (max(begin, limit - _NEARBY), begin):
        ends = [match.end() for match in pattern.finditer(content, nearby, limit)]
        for end in reversed(ends):
            if not joined(content, end):
                return end
    return 0
