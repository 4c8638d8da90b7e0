"""The prompt section: what a model is shown of memory at every step of a turn, made once. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from afterturn.schemas.budget import chars_for, tokens_of
from afterturn.schemas.guarding import line as one_line
from afterturn.schemas.query import RecalledMemory

__all__ = ("SECTION", "PromptSection", "contribution", "count_of", "merged", "section_of")

SECTION = "semantic-memory"


@dataclass(frozen=True, slots=True)
class PromptSection:
    """A named part of a prompt. It is the same for every model step of a turn, and stored nowhere."""

    text: str = ""
    name: str = SECTION

    @property
    def tokens(self) -> int:
        """What it takes of a budget: four characters a token, rounded up."""
        return tokens_of(len(self.text))


def merged(*found: Sequence[RecalledMemory]) -> list[RecalledMemory]:
    """Several lists as one, in this order; a memory that is in two stands where it came first."""
    first: dict[str, RecalledMemory] = {}
    for memory in (each for one in found for each in one):
        first.setdefault(memory.id, memory)
    return list(first.values())


def count_of(available: int) -> str:
    """How many memories there are, in words."""
    if available == 0:
        return "No memories stored yet."
    return "1 memory available." if available == 1 else f"{available} memories available."


def contribution(
    topic: str, when: str, available: int, eager: Sequence[RecalledMemory], max_tokens: int
) -> tuple[str, tuple[str, ...]]:
    """The lines that tell a model of its memory, and the ids of the memories in them.

    Numbered memories are added as long as all of it fits into ``max_tokens``; what doesn't fit even without any is
    left out whole.
    """
    head = f"Reference: memory\nDescription: Memories about {topic}. {count_of(available)}"
    notes = f"\n\nNotes: Use when: {when}"
    room = chars_for(max_tokens) - len(head) - len(notes)
    if room < 0:
        return "", ()
    title = f"\n\nKey memories about {topic}:"
    lines: list[str] = []
    for number, memory in enumerate(eager, 1):
        line = f"\n{number}. {one_line(memory.text)}"
        rest = _rest(available - number)
        if len(title) + sum(map(len, lines)) + len(line) + len(rest) > room:
            break
        lines.append(line)
    if not lines:
        return head + notes, ()
    shown = tuple(memory.id for memory in eager[: len(lines)])
    return head + title + "".join(lines) + _rest(available - len(lines)) + notes, shown


def section_of(parts: Iterable[str], max_tokens: int) -> PromptSection:
    """The parts that say something, in this order, as one section; a part that no longer fits is left out whole."""
    text = ""
    for part in parts:
        longer = f"{text}\n\n{part}" if text else part
        if part and len(longer) <= chars_for(max_tokens):
            text = longer
    return PromptSection(text)


def _rest(count: int) -> str:
    return f"\n[{count} more retrievable via the memory tool]" if count > 0 else ""
