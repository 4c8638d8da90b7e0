"""Whether a question speaks of the one who asks it: "Where did I park my car?"

Then what the user said answers it. "Me" and its like do not count: in "tell me about Ada" they address the agent.
English, German, Spanish and Chinese.
"""

import re

_WORDS = re.compile(
    r"(?<![\w-])(?:i|my|myself"
    r"|ich|mein|meine|meinen|meinem|meiner|meines"
    r"|yo|mi|mis|mí|mío|mía|míos|mías|conmigo|estoy|tengo)(?![\w-]|[.)]\w)",
    re.IGNORECASE,
)
_NUMERAL = re.compile(r"\w,? +[A-Z]\w+ I$")
"""A capitalised word inside a sentence, then I: World War I, Elizabeth I."""

_PLACES = frozenset({"MI", "MIS"})
"""Abbreviations that only their capitals tell from "mi" and "mis"."""

_CHINESE = re.compile(r"(?<![自给給帮幫叫让讓])(?<!告诉)(?<!告訴)(?<!提醒)我(?![们們国國])")
"""我 (I, my), but neither "we" nor "tell me" nor 自我 (self)."""


def speaks_of_asker(question: str) -> bool:
    """Return whether the question is in the first person singular."""
    if _CHINESE.search(question):
        return True
    return any(_is_person(question, word) for word in _WORDS.finditer(question))


def _is_person(question: str, word: re.Match[str]) -> bool:
    if word[0] == "I":
        return not _NUMERAL.search(question, 0, word.end())
    return word[0] not in _PLACES
