"""What kind of thing a question asks for, and whether a memory names one. English. Pure.

"How many" asks for a number, "who" for a person, "where" and "which book" for a name. As with "when": what names such a
thing may answer, what does not can't.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_PLACES = (
    r"city|cities|country|countries|states?|towns?|villages?|places?|locations?|areas?|regions?|islands?|continents?"
    r"|streets?|parks?|beach(?:es)?|mountains?|lakes?|rivers?|museums?|restaurants?|hotels?|cafes?|bars?|shops?|stores?"
    r"|venues?|landmarks?|destinations?"
)
_WORKS = (
    r"books?|novels?|series|movies?|films?|songs?|albums?|games?|shows?|plays?|podcasts?|magazines?|paintings?|titles?"
    r"|apps?|platforms?|websites?|languages?|holidays?|festivals?|characters?|breeds?|models?|brands?"
)
_PEOPLE = (
    r"bands?|artists?|musicians?|singers?|composers?|authors?|writers?|actors?|actress(?:es)?|directors?|players?"
    r"|athletes?|teams?|clubs?|compan(?:y|ies)|organi[sz]ations?|charit(?:y|ies)|schools?|universit(?:y|ies)|colleges?"
)
_NUMBER = re.compile(
    r"\bhow (?:many|much|old|often|far|tall|big|long|large|high|heavy|fast)\b|\bnumber of\b"
    r"|\b(?:what|which) (?:number|age|price|amount|percentage|distance|size)\b",
    re.IGNORECASE,
)
_PERSON = re.compile(
    r"\bwho(?:m|se)?\b|\b(?:what|which) (?:person|people|friends?|relatives?|family members?|colleagues?)\b",
    re.IGNORECASE,
)
_NAME = re.compile(
    r"\bwhere\b|\bnames?\b|\bnamed\b|\bcalled\b|\btitled?\b|\bnicknames?\b"
    rf"|\b(?:what|which) (?:[\w-]+ )?(?:{_PLACES}|{_WORKS}|{_PEOPLE})\b",
    re.IGNORECASE,
)
_COUNTS = frozenset(
    "two three four five six seven eight nine ten couple few several dozen dozens hundred hundreds once twice".split()
)
_RELATED = frozenset(
    "mom mum mother dad father sister brother friend friends husband wife son daughter kid kids family partner "
    "girlfriend boyfriend grandma grandpa aunt uncle cousin colleague colleagues boss coach teacher neighbor neighbors "
    "neighbour neighbours mentor".split()
)
_WORDS = re.compile(r"[a-z]+")
"""Looked up word by word: a pattern of them all takes many times as long."""
_DIGIT = re.compile(r"\d")
_CAPITAL = re.compile(r"[A-Z]\w+")
_OPENING = '"\u201c('
_SENTENCE_END = frozenset(".!?\u2026]")


class Wanted(NamedTuple):
    """What answers a question.

    Attributes:
        number: A number may.
        person: A person may, by name or by what they are to the speaker.
        name: A name may, or a title.
        known: The words of the authors' names, in lower case. Who talks says them to each other: they answer nothing.
    """

    number: bool = False
    person: bool = False
    name: bool = False
    known: frozenset[str] = frozenset()

    @property
    def anything(self) -> bool:
        """Whether the question asks for one of these kinds."""
        return self.number or self.person or self.name


NOTHING = Wanted()


def wanted(question: str, authors: Iterable[str]) -> Wanted:
    """Return what kind of thing a question asks for."""
    number, person, name = (asks.search(question) is not None for asks in (_NUMBER, _PERSON, _NAME))
    if not (number or person or name):
        return NOTHING
    return Wanted(number, person, name, frozenset(word for author in authors for word in author.lower().split()))


def answers(sought: Wanted, text: str) -> bool:
    """Return whether a text names a thing of the kind that is asked for."""
    words = _WORDS.findall(text.lower()) if sought.number or sought.person else ()
    return (
        (sought.number and (not _COUNTS.isdisjoint(words) or _DIGIT.search(text) is not None))
        or (sought.person and not _RELATED.isdisjoint(words))
        or (sought.name and ('"' in text or "\u201c" in text))
        or ((sought.person or sought.name) and _has_name(text, sought.known))
    )


def _has_name(text: str, known: frozenset[str]) -> bool:
    """Whether a word inside a sentence has a capital; at its start every word has one."""
    return any(_inside(text, found.start()) and found[0].lower() not in known for found in _CAPITAL.finditer(text))


def _inside(text: str, start: int) -> bool:
    before = text[:start].rstrip(_OPENING)
    spoken = before.rstrip()
    return len(spoken) < len(before) and bool(spoken) and spoken[-1] not in _SENTENCE_END
