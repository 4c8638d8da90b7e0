"""The recall recipe: from two lists of hits to one ranking."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from afterturn.consumers.recall.ranking.around import Session, reply_scores, session_scores
from afterturn.consumers.recall.ranking.asker import speaks_of_asker
from afterturn.consumers.recall.ranking.candidates import Candidate, Candidates, session
from afterturn.consumers.recall.ranking.fusion import Fused, Hits, fuse
from afterturn.consumers.recall.ranking.kernel import Place, Window, by_thread, gain, place_scores, windows
from afterturn.consumers.recall.ranking.names import named_authors
from afterturn.consumers.recall.ranking.recipe import MEASURED, Recipe
from afterturn.consumers.recall.ranking.times import NO_TIME, AskedTime, nearness
from afterturn.schemas.query import FoundBy


class Parts(NamedTuple):
    """What a score is the sum of.

    Attributes:
        lexical: From the lexical arm, 0..1.
        dense: From the dense arm, 0..0.7.
        neighbour: From the messages around it in its thread: its neighbours, the question it replies to, its session.
        author: Bonus of the named author's messages, or of the user's for a question in the first person; less for one
            that only speaks to another.
        question: Malus of a short question; 0 or less.
        time: Bonus of what names a time, where the question asks when, and of what was said when the question means.
        answer: Bonus of what names a thing of the kind the question asks for.
    """

    lexical: float
    dense: float
    neighbour: float
    author: float
    question: float
    time: float = 0.0
    answer: float = 0.0


class Ranked(NamedTuple):
    """A candidate in its place. Its score is the sum of its parts, which `parts` names."""

    candidate: Candidate
    score: float
    lexical: float
    dense: float
    neighbour: float
    author: float
    question: float
    found_by: frozenset[FoundBy]
    time: float = 0.0
    answer: float = 0.0

    @property
    def parts(self) -> Parts:
        """What the score is the sum of."""
        return Parts(self.lexical, self.dense, self.neighbour, self.author, self.question, self.time, self.answer)


class Favour(NamedTuple):
    """Whose messages a question asks for. At most one of the two is set."""

    author: str | None = None
    role: str | None = None


NOBODY = Favour()


def favour(question: str, authors: Iterable[str]) -> Favour:
    """Return the author a question names, or the role `user` where it speaks of its asker and names nobody."""
    named = named_authors(question, authors)
    if named:
        return Favour(author=next(iter(named))) if len(named) == 1 else Favour()
    return Favour(role="user") if speaks_of_asker(question) else Favour()


def rank(
    dense: Hits,
    lexical: Hits,
    candidates: Candidates,
    question: str,
    authors: Iterable[str],
    recipe: Recipe = MEASURED,
    asked: AskedTime = NO_TIME,
) -> list[Ranked]:
    """Return the hits, and the neighbours of the best of them, best first.

    Args:
        dense: Score by id of the vector arm; its query is the question without author names.
        lexical: Score by id of the keyword arm; its query is the question as asked.
        candidates: What is known of the hits and of the messages around the best of them (`kernel.windows`). A hit
            without a candidate is left out; so is a candidate that is neither a hit nor in a window.
        question: The question as asked.
        authors: The tenant's author names.
        recipe: The numbers.
        asked: What the question says of time.

    Returns:
        Equal scores stand newest first. Every hit is there: the weakest of a list, or its only one, has a score of 0
        and no bonus, so that a tenant's one memory is recalled. A message found by neighbours alone has gained
        something from them.
    """
    return Scoring.of(dense, lexical, candidates, favour(question, authors), recipe, asked).ranked(candidates)


@dataclass(frozen=True, slots=True)
class Scoring:
    """What a search's hits make of any memory: they alone give scores, so it stays as it is whatever is read later.

    Attributes:
        fused: The hits' scores.
        places: The same by place.
        threads: The same by thread, then position.
        around: The windows of the best places.
        favour: Whose messages are asked for.
        recipe: The numbers.
        asked: What the question says of time.
        sessions: The mean of the best places' scores by thread and day, where the recipe counts it.
        replies: The scores of short questions at the places after them, likewise.
    """

    fused: Fused
    places: Mapping[Place, float]
    threads: Mapping[str, Mapping[int, float]]
    around: Sequence[Window]
    favour: Favour
    recipe: Recipe
    asked: AskedTime
    sessions: Mapping[Session, float]
    replies: Mapping[Place, float]

    @classmethod
    def of(
        cls,
        dense: Hits,
        lexical: Hits,
        candidates: Candidates,
        favoured: Favour,
        recipe: Recipe = MEASURED,
        asked: AskedTime = NO_TIME,
    ) -> Scoring:
        """The scoring of a search: its arms' scores by id, and what is known of its hits."""
        fused = fuse(dense, lexical, recipe)
        places = place_scores(fused.scores, candidates)
        around = windows(places, recipe.best, len(recipe.kernel))
        sessions = session_scores(places, candidates) if recipe.session else {}
        replies = reply_scores(places, candidates) if recipe.reply else {}
        return cls(fused, places, by_thread(places), around, favoured, recipe, asked, sessions, replies)

    def ranked(self, candidates: Candidates) -> list[Ranked]:
        """Return the hits and neighbours among these, best first; equal scores stand newest first."""
        lexical, dense, found_by = self.fused.lexical, self.fused.dense, self.fused.found_by
        ranked = []
        for identity, candidate, near in self._considered(candidates):
            words, sense, gained = lexical.get(identity, 0.0), dense.get(identity, 0.0), near
            bonus = malus = time = answer = 0.0
            if words + sense + gained > 0:
                bonus, time = self._bonus(candidate), self._time(candidate)
                malus = -self.recipe.question if candidate.short_question else 0.0
                answer = self.recipe.answer if candidate.answers else 0.0
                gained += self.talk((candidate.thread_key, candidate.position), session(candidate))
            total = words + sense + gained + bonus + malus + time + answer
            found = found_by(identity)
            ranked.append(Ranked(candidate, total, words, sense, gained, bonus, malus, found, time, answer))
        ranked.sort(key=best_then_newest, reverse=True)
        return ranked

    def talk(self, place: Place, session_: Session) -> float:
        """Return what a place gains from the question before it and from its session."""
        return self.recipe.reply * self.replies.get(place, 0.0) + self.recipe.session * self.sessions.get(session_, 0.0)

    def _bonus(self, candidate: Candidate) -> float:
        author, role = self.favour
        told = self.recipe.address if candidate.addresses else 0.0
        if candidate.author == author:
            return self.recipe.author - told
        return self.recipe.first_person - told if candidate.role == role else 0.0

    def _time(self, candidate: Candidate) -> float:
        asked = self.asked
        if not (asked.when or asked.named or asked.spans):
            return 0.0
        told = self.recipe.when if asked.when and candidate.tells_when else 0.0
        return told + self.recipe.date * nearness(asked, candidate.occurred_at)

    def _considered(self, candidates: Candidates) -> Iterator[tuple[str, Candidate, float]]:
        """Yield the hits, and what gains from them in their windows: id, candidate, gain."""
        scores, threads, kernel = self.fused.scores, self.threads, self.recipe.kernel
        near = self._near() if any(identity not in scores for identity in candidates) else frozenset()
        for identity, candidate in candidates.items():
            thread_key, position = candidate.thread_key, candidate.position
            found = identity in scores
            if found or (thread_key, position) in near:
                gained = gain(threads[thread_key], position, kernel) if thread_key else 0.0
                if found or gained > 0:
                    yield identity, candidate, gained

    def _near(self) -> frozenset[Place]:
        return frozenset(
            (window.thread_key, position)
            for window in self.around
            for position in range(window.from_position, window.to_position + 1)
        )


def best_then_newest(ranked: Ranked) -> tuple[object, ...]:
    """Sort key, to be reversed: the score; between equals what happened last, then the place in the thread."""
    candidate = ranked.candidate
    return ranked.score, candidate.occurred_at, candidate.position, -candidate.ordinal, candidate.id
