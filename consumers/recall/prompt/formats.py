"""The text of an answer in the format that was asked for. Its budget always holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from afterturn.consumers.recall.prompt import grouped, listed
from afterturn.consumers.recall.prompt.packing import pack
from afterturn.consumers.recall.prompt.shown import Purpose, Section, Shown
from afterturn.consumers.recall.prompt.timeline import render
from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.recipe import Recipe
from afterturn.schemas.guarding import NOTE, NOTE_TOKENS
from afterturn.schemas.query import Format

Write = Callable[[Sequence[Shown], Purpose, int, Sequence[str]], Section]

OF_THE_LIST: frozenset[Format] = frozenset({"lines", "index", "tagged", "contribution"})
"""Formats that show what the list shows; in the others the list's limit does not bound the text."""
WRITERS: Mapping[Format, Write] = {
    "sections": lambda shown, _, chars, opening: grouped.sections(shown, chars, opening),
    "groups": lambda shown, _, chars, opening: grouped.groups(shown, chars, opening),
    "lines": lambda shown, _, chars, opening: listed.lines(shown, chars, opening),
    "index": lambda shown, _, chars, opening: listed.index(shown, chars, opening),
    "tagged": listed.tagged,
    "contribution": listed.contribution,
}
"""Every format but the timeline, which needs times and threads instead."""


def written(name: Format, shown: Sequence[Shown], purpose: Purpose, chars: int, *, note: bool) -> Section:
    """Return the text of the memories, in rank order, within so many characters."""
    return WRITERS[name](shown, purpose, chars, (NOTE,) if note else ())


def timeline(
    candidates: Sequence[Candidate], contents: Mapping[str, str], max_tokens: int, recipe: Recipe, *, note: bool
) -> Section:
    """Return the timeline of those of the candidates, in rank order, that fit into so many tokens."""
    room = max_tokens - NOTE_TOKENS * note
    if room <= 0:
        return Section()
    ids = pack(candidates, room, recipe).ids
    texts = {id_: contents[id_] for id_ in ids}
    text = render((each for each in candidates if each.id in texts), texts)
    return Section(f"{NOTE}\n{text}" if note and text else text, ids)
