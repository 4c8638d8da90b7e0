"""The seam of summaries: what a summariser is given, what it answers, and what can go wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple, Protocol

from afterturn.schemas.parts import Usage
from afterturn.schemas.settings import Role
from afterturn.streams.errors import DeadLetter, Retry, Stop

MOST_CHARS = 2_000
"""A summary's text is at most this long, in code points; one that was cut ends in `CUT`, which is counted."""
CUT = "..."


class Line(NamedTuple):
    """One memory of a group."""

    text: str
    author: str | None
    role: Role | None
    occurred_at: datetime

    @property
    def speaker(self) -> str:
        """Who says it: the author, else the role; empty where neither is known."""
        return self.author or self.role or ""


class Summarised(NamedTuple):
    """A summary, never blank, and the model's work for it."""

    text: str
    usage: Usage


class Summariser(Protocol):
    """Says in one text what the memories of a group say."""

    @property
    def name(self) -> str:
        """What opens it: ``extractive``, ``openai:<model>``."""
        ...

    async def summarise(self, texts: Sequence[Line], kind: str) -> Summarised:
        """The summary of ``texts``, which stand in the order in which they are read.

        Args:
            texts: the memories of one group.
            kind: the policy that made the group (``thread``, ``week``, ``entity``, ``source``, ``user``, ``outcome``);
                any other name is taken for memories in general.

        Raises:
            SummariserAway: (a Retry) the model cannot be reached or is busy, after some tries.
            UnusableAnswer: (a DeadLetter) nothing that could be stored comes of this group.
            ModelUnusable: (a Stop) the model refuses the key or its name.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


class SummariserAway(Retry):
    """The model does not answer. Nothing is wrong with the group; ``usage`` is what the tries took.

    ``retry_after_s``: seconds the endpoint asks to wait, None where it doesn't say.
    """

    def __init__(self, summariser: str, problem: str, usage: Usage, *, retry_after_s: float | None = None) -> None:
        super().__init__(f"The summariser {summariser} {problem}.", dependency="summariser")
        self.summariser = summariser
        self.problem = problem
        self.usage = usage
        self.retry_after_s = retry_after_s


class UnusableAnswer(DeadLetter):
    """The answer cannot be used, asked a second time neither. ``usage`` is what the tries took.

    ``problem`` is a stable word (no_json, placeholder, repeats_prompt, refused, nothing_to_say). Never what the answer
    says: it may quote the memories.
    """

    def __init__(self, summariser: str, problem: str, usage: Usage) -> None:
        super().__init__(
            "unusable_answer",
            type(self).__name__,
            f"The summariser {summariser} gave nothing that can be used: {problem}.",
        )
        self.summariser = summariser
        self.problem = problem
        self.usage = usage


class SummariserUnusable(Stop):
    """There is no such summariser."""

    def __init__(self, summariser: str, problem: str) -> None:
        super().__init__(f"The summariser {summariser} {problem}.")
        self.summariser = summariser
        self.problem = problem
