"""What a message gains from the talk it stands in, beyond its near neighbours: its session, and what it replies to."""

from __future__ import annotations

from collections.abc import Mapping

from afterturn.consumers.recall.ranking.candidates import Candidates, session
from afterturn.consumers.recall.ranking.kernel import Place

Session = tuple[str, int]
"""A thread's key and a day."""
BEST_OF_SESSION = 3


def session_scores(places: Mapping[Place, float], candidates: Candidates) -> dict[Session, float]:
    """Return, for each thread and day, the mean of its 3 best places' scores; a place that isn't there counts 0.

    Args:
        places: The hits' scores by place.
        candidates: What is known of the hits.
    """
    found: dict[Session, dict[Place, float]] = {}
    for candidate in candidates.values():
        place = (candidate.thread_key, candidate.position)
        if place in places:
            found.setdefault(session(candidate), {})[place] = places[place]
    return {
        key: sum(sorted(scores.values(), reverse=True)[:BEST_OF_SESSION]) / BEST_OF_SESSION
        for key, scores in found.items()
    }


def reply_scores(places: Mapping[Place, float], candidates: Candidates) -> dict[Place, float]:
    """Return the scores of short questions among the hits, at the places right after them: what replies to them."""
    return {
        (candidate.thread_key, candidate.position + 1): places[candidate.thread_key, candidate.position]
        for candidate in candidates.values()
        if candidate.short_question and (candidate.thread_key, candidate.position) in places
    }
