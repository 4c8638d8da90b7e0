"""``extractive``: a summary without a model, of whole sentences word for word. The core is pure.

IDF-weighted maximum coverage: greedily the sentence with the most that is not yet said, by the square root of its
length. Rare words carry it, so names, numbers and dates stay; what everybody says all the time goes.
"""

from __future__ import annotations

import asyncio
import heapq
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from afterturn.consumers.consolidator.summarising.summariser import MOST_CHARS, Line, Summarised, UnusableAnswer
from afterturn.consumers.text import lexical
from afterturn.consumers.text.split import sentences, split
from afterturn.schemas.parts import Usage

NAME = "extractive"
SHARE = 0.3
"""The share of the characters that is kept; measured: it keeps .436 of later questions' evidence, .15 keeps .233."""
QUESTION_WEIGHT = 0.5
"""What a question's words count for: the answer says more."""
WHOLE_CHARS = 200
"""A line of a message up to this length is kept whole or not at all, a longer one by its sentences."""
PIECE_CHARS = 1_000
"""No sentence is longer: it is parted, between words where it has some, so that one always fits."""
_QUESTION_MARKS = ("?", "\uff1f", "\u061f")


class Piece(NamedTuple):
    """What is kept or left as a whole. Pieces compare by time and content, never by their place in the input."""

    when: float
    speaker: str
    number: int
    """Its place within its message."""
    text: str
    line: int
    """Its message's place in the input."""

    @property
    def length(self) -> int:
        """How many code points a line of it alone takes, with its break."""
        return len(_row(self.speaker, self.text)) + 1


class ExtractiveSummariser:
    """Keeps a share of what was said. Deterministic, and never away."""

    def __init__(self, share: float = SHARE) -> None:
        """Raises ValueError where the share is not in 0..1."""
        if not 0 < share <= 1:
            raise ValueError(f"a share of {share}: it must be above 0 and at most 1")
        self.name = NAME
        self._share = share

    async def summarise(self, texts: Sequence[Line], kind: str) -> Summarised:  # noqa: ARG002 - the same for each
        """The extract of ``texts``. Raises `UnusableAnswer` where none of them has a letter or a digit."""
        text = await asyncio.to_thread(extract, texts, self._share)
        if not text:
            raise UnusableAnswer(NAME, "nothing_to_say", Usage())
        return Summarised(text, Usage())

    async def close(self) -> None:
        """Nothing is held."""


def extract(lines: Sequence[Line], share: float = SHARE, most_chars: int = MOST_CHARS) -> str:
    """The sentences that say most, as ``author: text`` lines in the order of time (then as given).

    Which are kept does not depend on the order of ``lines``. The text is at most ``share`` of the characters and never
    longer than ``most_chars``; where that takes no sentence at all, one is kept if it fits ``most_chars``. Empty where
    nothing has a letter or a digit.
    """
    pieces = [piece for number, line in enumerate(lines) for piece in _pieces(number, line)]
    budget = min(most_chars, int(share * len(_written(pieces))))
    kept = _chosen(pieces, budget) or _chosen(pieces, most_chars, at_most=1)
    return _written(kept)


def _pieces(number: int, line: Line) -> Iterator[Piece]:
    """Its lines, and of long ones the sentences: a piece holds no line break, so that no content can write a line."""
    place = 0
    for row in line.text.splitlines():
        for sentence in [row] if len(row) <= WHOLE_CHARS else sentences(row):
            for part in split(sentence, PIECE_CHARS):
                if any(map(str.isalnum, part)):
                    yield Piece(line.occurred_at.timestamp(), line.speaker, place, part.strip(), number)
                    place += 1


def _chosen(pieces: Sequence[Piece], budget: int, at_most: int | None = None) -> list[Piece]:
    """Greedy, lazily: what a piece adds only falls as others are kept, so most are never looked at again."""
    terms = [tuple(lexical.document(piece.text).indices) for piece in pieces]
    found_in = Counter(term for each in terms for term in each)
    weight = {term: math.log((len(pieces) + 1) / (count + 0.5)) for term, count in found_in.items()}
    covered: set[int] = set()

    def gain(place: int) -> float:
        said = sum(weight[term] for term in terms[place] if term not in covered)
        asked = pieces[place].text.endswith(_QUESTION_MARKS)
        return said * (QUESTION_WEIGHT if asked else 1) / math.sqrt(pieces[place].length)

    queue = [(-gain(place), piece, place) for place, piece in enumerate(pieces)]
    heapq.heapify(queue)
    kept: list[Piece] = []
    lines: set[int] = set()
    room = budget + 1  # the last line has no line break
    while queue and (at_most is None or len(kept) < at_most):
        _, piece, place = heapq.heappop(queue)
        now = (-gain(place), piece, place)
        takes = len(piece.text) + 1 if piece.line in lines else piece.length
        if queue and now > queue[0]:
            heapq.heappush(queue, now)
        elif takes <= room and (now[0] or not kept):
            kept.append(piece)
            lines.add(piece.line)
            covered.update(terms[place])
            room -= takes
    return kept


def _written(kept: Sequence[Piece]) -> str:
    rows: dict[int, list[Piece]] = {}
    for piece in sorted(kept, key=lambda piece: (piece.when, piece.line, piece.number)):
        rows.setdefault(piece.line, []).append(piece)
    return "\n".join(_row(row[0].speaker, " ".join(piece.text for piece in row)) for row in rows.values())


def _row(speaker: str, said: str) -> str:
    return f"{speaker}: {said}" if speaker else said
