"""Texts that list memories by rank: B4's result lines and prompt index, dice's tagged lines and contribution."""

from __future__ import annotations

import re
from collections.abc import Sequence

from afterturn.consumers.recall.prompt.sheet import Sheet
from afterturn.consumers.recall.prompt.shown import QUESTION_CHARS, Purpose, Section, Shown
from afterturn.schemas.guarding import cut

NONE_FOUND = "(no memories found)"
INDEX = ("# Long-Term Memory", "These memories begin as follows; call recall for their detail.")
INDEX_CHARS = 80
ALL_SHOWN = "No additional memories beyond those already provided."
NONE_STORED = "No memories stored yet."
_SUFFIX = re.compile(r" \u2014(?= (?:source|entities): )")


def lines(shown: Sequence[Shown], chars: int, opening: Sequence[str] = ()) -> Section:
    """Return a line "id: content" for each memory that fits."""
    section = _written([(each.id, f"{each.id}: {each.text}") for each in shown], Sheet(chars, opening))
    return section if shown else _alone(NONE_FOUND, chars)


def index(shown: Sequence[Shown], chars: int, opening: Sequence[str] = ()) -> Section:
    """Return how each memory begins, under a heading; nothing where there are none."""
    items = [(each.id, f"- {each.id}: {cut(each.text, INDEX_CHARS)}") for each in shown]
    return _written(items, Sheet(chars, (*opening, *INDEX)))


def tagged(shown: Sequence[Shown], purpose: Purpose, chars: int, opening: Sequence[str] = ()) -> Section:
    """Return what found each memory, what it says, where it is from and whom it mentions; or why there is nothing."""
    question = None if purpose.question is None else _plain(cut(purpose.question, QUESTION_CHARS))
    if not shown:
        return _alone(_nothing(question, purpose), chars)
    found = "All memories" if question is None else f"Memories about '{question}'"
    items = [(each.id, _tagged_line(each, asked=question is not None)) for each in shown]
    most = f"{found} ({len(shown)}):"
    section = _written(items, Sheet(chars, (*opening, most)))
    heading = f"{found} ({len(section.ids)}):"
    return Section(section.text.replace(most, heading, 1), section.ids)


def contribution(shown: Sequence[Shown], purpose: Purpose, chars: int, opening: Sequence[str] = ()) -> Section:
    """Return what an agent is told of its memory before it asks: how much there is, the first of it, when to use it."""
    topic = cut(purpose.topic, QUESTION_CHARS)
    use_when = cut(purpose.use_when or f"something about {topic} may help", QUESTION_CHARS)
    there = "" if purpose.available is None else f" {purpose.available} memories available."
    frame = Sheet(chars, opening)
    head = ("Reference: memory", f"Description: Memories about {topic}.{there}")
    foot = ("", f"Notes: Use when: {use_when}")
    if not frame.write(*head, *foot):
        return Section()
    known, room = max(purpose.available or 0, len(shown)), chars - len(frame.text)
    kept = Sheet(room - len(_more(known)) - 1, ("", "", f"Key memories about {topic}:"))
    ids: list[str] = []
    for each in shown:
        if kept.write(f"{len(ids) + 1}. {each.text}"):
            ids.append(each.id)
    rest = known - len(ids)
    key = kept.text.split("\n")[1:] if ids else []
    further = [_more(rest)] if ids and rest > 0 else []
    whole = Sheet(chars, opening)
    whole.write(*head, *key, *further, *foot)
    return Section(whole.text, tuple(ids))


def _more(rest: int) -> str:
    return f"[{rest} more retrievable via the memory tool]"


def _written(items: Sequence[tuple[str, str]], sheet: Sheet) -> Section:
    """Every line that fits, in order; one that does not is passed over."""
    ids = tuple(id_ for id_, text in items if sheet.write(text))
    return Section(sheet.text, ids)


def _alone(text: str, chars: int) -> Section:
    return Section(text if len(text) <= chars else "")


def _nothing(question: str | None, purpose: Purpose) -> str:
    if question is None:
        return ALL_SHOWN if purpose.seen else NONE_STORED
    count = purpose.available or 0
    stored = {0: "", 1: f" 1 memory is stored about {cut(purpose.topic, QUESTION_CHARS)}."}.get(
        count, f" {count} memories are stored about {cut(purpose.topic, QUESTION_CHARS)}."
    )
    beyond = " beyond those already provided" if purpose.seen else ""
    return f"No memories about '{question}'{beyond}. Rephrase the question, or ask more broadly.{stored}"


def _tagged_line(shown: Shown, *, asked: bool) -> str:
    tags = f"[{','.join(sorted(shown.found_by))}] " if asked and shown.found_by else ""
    source = f" \u2014 source: {'; '.join(map(_plain, shown.labels))}" if shown.labels else ""
    entities = f" \u2014 entities: {'; '.join(map(_plain, shown.handles))}" if shown.handles else ""
    return f"- {tags}{_plain(shown.text)}{source}{entities}"


def _plain(text: str) -> str:
    """The text, without what looks like the end of a line of ours."""
    return _SUFFIX.sub(" -", text)
