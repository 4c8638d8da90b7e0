"""Texts with a heading for each group of memories: llm4s' sections by type, dice's groups by sort of knowledge."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal

from afterturn.consumers.recall.prompt.sheet import Sheet
from afterturn.consumers.recall.prompt.shown import Section, Shown
from afterturn.schemas.guarding import line

Knowledge = Literal["semantic", "procedural", "episodic", "working"]

TITLES: Mapping[str, str] = {
    "knowledge": "Relevant Knowledge",
    "entity": "Entity Information",
    "user_fact": "User Preferences",
    "conversation": "Previous Context",
    "task": "Past Tasks",
}
"""Titles by type, in the order of the sections; other types come after them under their own names."""
GROUPS: Mapping[Knowledge, str] = {
    "semantic": "Known Facts",
    "procedural": "Preferences & Guidelines",
    "episodic": "Recent Events",
    "working": "Current Context",
}
"""Titles by sort of knowledge, in the order of the groups."""
CONTEXT = "# Retrieved Context"


def sections(shown: Sequence[Shown], chars: int, opening: Sequence[str] = ()) -> Section:
    """Return the memories under a title for each type; a section ends at the first that does not fit."""
    own = [each.type for each in shown if each.type not in TITLES]
    titles = {**TITLES, **{name: line(name) for name in own}}
    return _under(titles, shown, lambda each: each.type, Sheet(chars, (*opening, CONTEXT)))


def groups(
    shown: Sequence[Shown],
    chars: int,
    opening: Sequence[str] = (),
    relations: Mapping[str, Knowledge] | None = None,
) -> Section:
    """Return the memories under a title for each sort of knowledge; a group ends at the first that does not fit."""
    return _under(
        dict[str, str](GROUPS.items()), shown, lambda each: knowledge_of(each, relations or {}), Sheet(chars, opening)
    )


def knowledge_of(shown: Shown, relations: Mapping[str, Knowledge]) -> Knowledge:
    """Return what sort of knowledge a memory is.

    The first of the relations that its text names decides; then its kind, where that is episodic or procedural; then
    what fades fast is episodic, what is believed and fades slowly semantic, and the rest working.
    """
    text = shown.text.casefold()
    named: Knowledge | None = next((sort for name, sort in relations.items() if name.casefold() in text), None)
    if named is not None:
        return named
    if shown.kind == "procedural":
        return "procedural"
    if shown.kind == "episodic" or shown.decay > 0.5:
        return "episodic"
    return "semantic" if shown.confidence > 0.7 and shown.decay < 0.3 else "working"


def _under(
    titles: Mapping[str, str], shown: Iterable[Shown], group_of: Callable[[Shown], str], sheet: Sheet
) -> Section:
    members: dict[str, list[Shown]] = {}
    for each in shown:
        members.setdefault(group_of(each), []).append(each)
    ids: list[str] = []
    for group, title in titles.items():
        heading: tuple[str, ...] = (f"## {title}",)
        for each in members.get(group, ()):
            if not sheet.write(*heading, f"- {each.text}"):
                break
            heading = ()
            ids.append(each.id)
    return Section(sheet.text, tuple(ids))
