"""What ranking and packing know of a memory: everything but its text."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple


class Candidate(NamedTuple):
    """A memory that may be recalled, without its text.

    A named tuple, because a query builds some hundreds and a frozen dataclass takes five times as long to build.

    Attributes:
        id: The memory's point id.
        thread_key: Its thread together with tenant and scope, so that equal thread names of two users never mix.
            Empty for a memory of no thread: it has no neighbours.
        position: The message's place in its thread. Parts of a split message share it.
        ordinal: The place among the points of its command; orders the parts of a message.
        author: Its author's name, or empty.
        role: user, assistant, system or tool, or empty.
        occurred_at: When it happened, in UTC (`tzinfo` set).
        chars: Characters (code points) of the content.
        short_question: Whether the content only asks: it ends in a question mark and is short.
        kind: episodic, semantic, reflection or procedural.
        tells_when: Whether the content names a time. This and what follows is looked up only where a question gives a
            reason to (``looking``).
        answers: Whether it names a thing of the kind that is asked for.
        addresses: Whether it only speaks to another.
    """

    id: str
    thread_key: str
    position: int
    ordinal: int
    author: str
    role: str
    occurred_at: datetime
    chars: int
    short_question: bool
    kind: str
    tells_when: bool = False
    answers: bool = False
    addresses: bool = False

    @property
    def speaker(self) -> str:
        """Whose line it is: the author, else the role, else the kind of memory."""
        return self.author or self.role or self.kind


Candidates = Mapping[str, Candidate]
"""Candidates by id."""


def time_order(candidate: Candidate) -> tuple[datetime, str, int, int, str]:
    """Sort key: when it happened; within an instant the place in the thread, then the id."""
    return (
        candidate.occurred_at,
        candidate.thread_key,
        candidate.position,
        candidate.ordinal,
        candidate.id,
    )


def session(candidate: Candidate) -> tuple[str, int]:
    """What shares one date header: the thread and the day (UTC, as an ordinal number)."""
    return candidate.thread_key, candidate.occurred_at.toordinal()
