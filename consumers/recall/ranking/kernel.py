"""What a message gains from its neighbours in the thread, and which neighbours to read.

Scores stand at positions, not at points: the parts of a split message share a position, whose score is the best of its
parts. So a long message weighs in its neighbourhood as much as a short one, and its parts give each other nothing.
"""

from collections.abc import Mapping
from typing import NamedTuple

from afterturn.consumers.recall.ranking.candidates import Candidates
from afterturn.consumers.recall.ranking.recipe import MEASURED

Place = tuple[str, int]
"""A thread's key and a position in it."""


class Window(NamedTuple):
    """A range of positions of a thread, both ends included."""

    thread_key: str
    from_position: int
    to_position: int


def place_scores(scores: Mapping[str, float], candidates: Candidates) -> dict[Place, float]:
    """Return the best score of each position. Memories of no thread, and ids that are no candidates, have no place."""
    places: dict[Place, float] = {}
    for identity, score in scores.items():
        candidate = candidates.get(identity)
        if candidate is None or not candidate.thread_key:
            continue
        place = (candidate.thread_key, candidate.position)
        if score > places.get(place, -1.0):
            places[place] = score
    return places


def windows(
    places: Mapping[Place, float], best: int = MEASURED.best, reach: int = len(MEASURED.kernel)
) -> list[Window]:
    """Return what to read around the `best` places: `reach` positions to each side, overlapping ranges merged.

    Sorted by thread and position. Of equal scores the earlier in `places` counts as better.
    """
    top = sorted(places, key=places.__getitem__, reverse=True)[:best]
    merged: list[Window] = []
    for thread_key, position in sorted(top):
        first, last = max(0, position - reach), position + reach
        open_window = merged[-1] if merged else None
        if open_window and open_window.thread_key == thread_key and first <= open_window.to_position + 1:
            merged[-1] = open_window._replace(to_position=last)
        else:
            merged.append(Window(thread_key, first, last))
    return merged


def by_thread(places: Mapping[Place, float]) -> dict[str, dict[int, float]]:
    """Return the scores by thread, then by position."""
    threads: dict[str, dict[int, float]] = {}
    for (thread_key, position), score in places.items():
        threads.setdefault(thread_key, {})[position] = score
    return threads


def gain(scores: Mapping[int, float], position: int, kernel: tuple[float, ...] = MEASURED.kernel) -> float:
    """Return what a position gets from the scores around it.

    That is kernel[d - 1] · (score at position - d + score at position + d), summed over the distances d = 1, 2, … of
    the kernel.

    Args:
        scores: The scores of one thread, by position.
        position: Any position; its own score plays no part.
        kernel: The weights by distance.
    """
    total = 0.0
    for distance, weight in enumerate(kernel, 1):
        before, after = position - distance, position + distance
        if before in scores:
            total += weight * scores[before]
        if after in scores:
            total += weight * scores[after]
    return total
