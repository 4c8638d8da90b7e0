"""Two situations of users, made from conversations of two authors. Pure."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from afterturn.consumers.evaluation.offline.corpora import Corpus, Told
from afterturn.consumers.recall.ranking.names import named_authors
from afterturn.consumers.text.split import split

JOINED = 6
"""Messages of one author that become one long message."""
PART_CHARS = 400
"""Characters of a part: a long message has two or three."""
_BETWEEN = "\n\n"


def in_first_person(corpora: Iterable[Corpus]) -> list[Corpus]:
    """Each author's chat with an assistant: the author is its user, without a name, and asks in the first person.

    The other author is the assistant. Questions that name exactly this author are asked.
    """
    return [_chat(corpus, author) for corpus in corpora for author in corpus.authors]


def _chat(corpus: Corpus, user: str) -> Corpus:
    told = tuple(
        replace(message, author=None, role="user" if message.author == user else "assistant") for message in corpus.told
    )
    questions = tuple(
        replace(question, text=first_person(question.text, user))
        for question in corpus.questions
        if named_authors(question.text, corpus.authors) == {user}
    )
    return Corpus(corpus.conversation, told, questions)


def first_person(question: str, author: str) -> str:
    """The question as its subject would ask it: "Where did Ada park Ada's car?" becomes "Where did I park my car?"."""
    names = "|".join(map(re.escape, sorted({author, author.split(maxsplit=1)[0]}, key=len, reverse=True)))
    mine = re.sub(rf"\b(?:{names})['\u2019]s?(?!\w)", "my", question)
    spoken = re.sub(rf"\b(?:{names})\b", "I", mine)
    for told, asked in (("does I", "do I"), ("is I", "am I"), ("has I", "have I")):
        spoken = re.sub(rf"\b{told}\b", asked, spoken, flags=re.IGNORECASE)
    return spoken[:1].upper() + spoken[1:]


def in_long_messages(corpora: Iterable[Corpus]) -> list[Corpus]:
    """Every `JOINED` messages of an author in a thread as one long message, split as the recorder splits.

    What was evidence is now the part that holds most of it.
    """
    return [_lengthened(corpus) for corpus in corpora]


def _lengthened(corpus: Corpus) -> Corpus:
    told: list[Told] = []
    held: dict[str, str] = {}
    for thread, spoken in itertools.groupby(corpus.told, key=lambda message: message.thread):
        for position, messages in enumerate(_runs(list(spoken))):
            content = _BETWEEN.join(message.content for message in messages)
            cut = split(content, PART_CHARS)
            ids = [f"{thread}/{position}/{ordinal}" for ordinal in range(len(cut))]
            first = replace(messages[0], thread=thread, position=position, parts=len(cut))
            told += [
                replace(first, id=id_, ordinal=ordinal, content=text)
                for ordinal, (id_, text) in enumerate(zip(ids, cut, strict=True))
            ]
            held |= dict(_holders(messages, ids, cut))
    questions = tuple(
        replace(question, evidence=frozenset(held[id_] for id_ in question.evidence)) for question in corpus.questions
    )
    return Corpus(corpus.conversation, tuple(told), questions)


def _runs(spoken: Sequence[Told]) -> list[list[Told]]:
    """An author's messages of a thread, so many at a time, in order of each run's first."""
    authors = dict.fromkeys(message.author for message in spoken)
    runs = [run for author in authors for run in _blocks([message for message in spoken if message.author == author])]
    return sorted(runs, key=lambda run: run[0].position)


def _blocks(messages: list[Told]) -> Iterator[list[Told]]:
    for start in range(0, len(messages), JOINED):
        yield messages[start : start + JOINED]


def _holders(messages: Sequence[Told], ids: Sequence[str], cut: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Each message's id with the id of the part that holds most of its text."""
    ends = list(itertools.accumulate(map(len, cut)))
    starts = [0, *ends[:-1]]
    begin = 0
    for message in messages:
        end = begin + len(message.content)
        shared = [min(end, e) - max(begin, s) for s, e in zip(starts, ends, strict=True)]
        yield message.id, ids[shared.index(max(shared))]
        begin = end + len(_BETWEEN)


MADE: Mapping[str, Callable[[Iterable[Corpus]], list[Corpus]]] = {
    "third-person": list,
    "first-person": in_first_person,
    "long-messages": in_long_messages,
}
"""Situations by name; the first leaves conversations as they are."""
