"""What the formats of a prompt text know: the memories in rank order, and what they are shown for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from afterturn.schemas.guarding import cut
from afterturn.schemas.query import TOPIC

MOST_LABELS, LABEL_CHARS = 2, 80
MOST_HANDLES, SPAN_CHARS = 4, 40
QUESTION_CHARS = 200


class Shown(NamedTuple):
    """A memory as formats know it.

    Attributes:
        id: the memory.
        text: its content as one line that opens and closes nothing.
        type: conversation, entity, knowledge, user_fact, task, or a name of the publisher's own.
        kind: episodic, semantic, reflection or procedural.
        found_by: what found it.
        confidence: as stated.
        decay: how fast it fades.
        labels: what its sources are called.
        handles: what it mentions, as "span (id)".
    """

    id: str
    text: str
    type: str = "conversation"
    kind: str = "episodic"
    found_by: tuple[str, ...] = ()
    confidence: float = 1.0
    decay: float = 0.0
    labels: tuple[str, ...] = ()
    handles: tuple[str, ...] = ()


class Purpose(NamedTuple):
    """What a text is for.

    Attributes:
        question: what was asked, None for a list.
        topic: what the memories are about.
        use_when: when to recall more; None says it by the topic.
        available: how many memories there are in all, None where that is not known.
        seen: whether the caller has been shown some already.
    """

    question: str | None = None
    topic: str = TOPIC
    use_when: str | None = None
    available: int | None = None
    seen: bool = False


class Section(NamedTuple):
    """A text, and the memories it shows."""

    text: str = ""
    ids: tuple[str, ...] = ()


def labels_of(given: Iterable[str]) -> tuple[str, ...]:
    """Return at most two different labels that say something, of at most 80 characters each."""
    cleaned = (cut(label.strip(), LABEL_CHARS) for label in given)
    return tuple(dict.fromkeys(label for label in cleaned if label))[:MOST_LABELS]


def handles_of(entities: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return at most four entities by their ids, each with the words that name it, of at most 40 characters."""
    by_id: dict[str, str] = {}
    for each in entities:
        if each.get("id"):
            by_id.setdefault(each["id"], each.get("span", ""))
    handles = [f"{cut(span, SPAN_CHARS)} ({cut(id_, LABEL_CHARS)})" for id_, span in by_id.items()]
    return tuple(handles[:MOST_HANDLES])
