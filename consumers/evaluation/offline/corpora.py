"""What the exact store holds of a tenant, and what is asked of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from afterturn.consumers.evaluation.locomo import Conversation, Question


@dataclass(frozen=True, slots=True)
class Told:
    """A stored message, or a part of one. ``id`` is what a question's evidence names."""

    id: str
    thread: str
    position: int
    role: str
    author: str | None
    occurred_at: datetime
    content: str
    ordinal: int = 0
    parts: int = 1


@dataclass(frozen=True, slots=True)
class Corpus:
    """One tenant: its messages in order, its questions. ``conversation`` names where it comes from."""

    conversation: str
    told: tuple[Told, ...]
    questions: tuple[Question, ...]

    @property
    def authors(self) -> tuple[str, ...]:
        """The names in the tenant's state, in order of appearance."""
        return tuple(dict.fromkeys(message.author for message in self.told if message.author))


def as_spoken(conversations: Iterable[Conversation]) -> list[Corpus]:
    """The conversations as they are: two authors, questions in the third person."""
    return [Corpus(found.tenant, tuple(_told(found)), found.questions) for found in conversations]


def _told(conversation: Conversation) -> Iterator[Told]:
    positions: dict[str, int] = {}
    for turn in conversation.turns:
        for message in turn.messages:
            position = positions.get(turn.thread, 0)
            positions[turn.thread] = position + 1
            yield Told(
                turn.turn_id, turn.thread, position, message.role, message.author, turn.occurred_at, message.content
            )
