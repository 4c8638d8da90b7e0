"""What was found for a query, before it is shown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, NamedTuple, Protocol

from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.confidence import effective_of
from afterturn.consumers.recall.ranking.pool import Pool
from afterturn.consumers.store.read import Arm, Hit, SearchHits
from afterturn.schemas.parts import Usage
from afterturn.schemas.query import FoundBy, Limit

LACKS: dict[Arm, str] = {"dense": "vector", "lexical": "keyword"}
"""What an answer lacks where an arm failed."""


class Shares(NamedTuple):
    """What a score of a named ranking is the sum of."""

    lexical: float = 0.0
    dense: float = 0.0
    recency: float = 0.0
    confidence: float = 0.0
    related: float = 0.0


class Parts(Protocol):
    """What a score is the sum of, by name."""

    def _asdict(self) -> dict[str, Any]: ...


class Entry(Protocol):
    """A memory in its place of a ranking."""

    @property
    def candidate(self) -> Candidate:
        """The memory."""
        ...

    @property
    def score(self) -> float:
        """Its score, the sum of its parts."""
        ...

    @property
    def found_by(self) -> frozenset[FoundBy]:
        """What found it."""
        ...

    @property
    def parts(self) -> Parts:
        """What the score is the sum of."""
        ...


class Placed(NamedTuple):
    """A memory in its place of a named ranking, or of a list nothing was asked for."""

    candidate: Candidate
    score: float = 0.0
    found_by: frozenset[FoundBy] = frozenset()
    parts: Shares = Shares()


@dataclass(frozen=True, slots=True)
class Found:
    """What was found.

    Attributes:
        ranked: best first, those the caller has seen left out.
        pool: what is known of them.
        lacks: what could not be had.
        limits: in what it is not exact.
        usage: what it cost.
        cursor: where the list goes on, None at its end.
    """

    ranked: Sequence[Entry] = ()
    pool: Pool = field(default_factory=Pool)
    lacks: tuple[str, ...] = ()
    limits: tuple[Limit, ...] = ()
    usage: Usage = field(default_factory=Usage)
    cursor: str | None = None


class Credible(NamedTuple):
    """Which memories are believed enough: the effective confidence at an instant. None: all of them."""

    least: float | None
    at: datetime

    def admits(self, payload: Mapping[str, Any]) -> bool:
        """Whether a memory is believed enough."""
        return self.least is None or effective_of(payload, self.at) >= self.least

    def of(self, hits: Iterable[Hit]) -> list[Hit]:
        """Those of the hits that are believed enough."""
        return list(hits) if self.least is None else [hit for hit in hits if self.admits(hit.payload)]

    def of_search(self, found: SearchHits, limit: int) -> tuple[SearchHits, tuple[Limit, ...]]:
        """The same of both arms, which were asked for ``limit`` hits each; and whether that leaves some unseen."""
        if self.least is None:
            return found, ()
        kept = replace(found, dense=self.of(found.dense), lexical=self.of(found.lexical))
        cut = any(
            len(after) < len(before) == limit
            for before, after in ((found.dense, kept.dense), (found.lexical, kept.lexical))
        )
        return kept, ("pool",) if cut else ()


EVERYTHING = Credible(None, datetime.max.replace(tzinfo=UTC))
"""All memories, however far they are believed."""
