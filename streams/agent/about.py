"""What an agent's memory is about, and how much of it a turn is shown."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from afterturn.schemas.query import TOPIC
from afterturn.schemas.types import Model, Share

__all__ = ("About", "Eager")


class Eager(Model):
    """What is shown before anything is asked, up to three ways at once: about, then topic, then query.

    ``about``: memories found by this text, as an entity's name. ``topic``: those found by what the memory is about.
    ``query``: fields of a query of one's own, as ``{"kinds": ["semantic"]}``; without a text it is ordered by
    ``order``. Of each at most ``limit``; a memory found twice is shown once, where it was found first.
    """

    about: str | None = None
    topic: bool = False
    query: dict[str, Any] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class About(Model):
    """What a memory is about. A frozen value: ``about.model_copy(update={...})`` makes another.

    Attributes:
        topic: what it is about, as its descriptions say it.
        use_when: when a model should look into it; made of the topic where it isn't given.
        narrowed_by: a filter that every question, list and count is narrowed by. It can only narrow: whatever a
            question filters by is AND-ed with it.
        min_confidence: what is less certain is left out.
        limit: how many memories a question lists.
        index: how many of the newest memories are named by id and first words, for the model to ask about.
        eager: what is shown before anything is asked.
        phases: what is done: ``recall``, ``record``.
        profile: the ranking by name.
    """

    topic: Annotated[str, Field(min_length=1, max_length=200)] = TOPIC
    use_when: Annotated[str, Field(max_length=500)] = ""
    narrowed_by: dict[str, Any] | None = None
    min_confidence: Share | None = None
    limit: Annotated[int, Field(ge=1, le=1_000)] = 50
    index: Annotated[int, Field(ge=0, le=200)] = 0
    eager: Eager | None = None
    phases: frozenset[Literal["recall", "record"]] = frozenset({"recall", "record"})
    profile: str = "recipe"

    @property
    def when(self) -> str:
        """When to look into it."""
        return self.use_when or f"you need to remember something about {self.topic}"
