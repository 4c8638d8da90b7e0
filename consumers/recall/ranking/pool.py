"""What was read for one question, as values ranking works on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from afterturn.consumers.recall.ranking.candidates import Candidate
from afterturn.consumers.recall.ranking.kernel import Place
from afterturn.consumers.recall.ranking.looking import NOWHERE, Looking
from afterturn.consumers.store.read import Hit, SearchHits
from afterturn.schemas.scope import DIMENSIONS, Scope

Payload = Mapping[str, Any]
_NO_SCOPE = Scope()
LONG_AGO = datetime(1970, 1, 1, tzinfo=UTC)
"""When something happened that does not say so."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread by its name and scope."""

    name: str
    scope: Scope


@dataclass(frozen=True, slots=True)
class Pool:
    """The hits of a search, and their neighbours as far as they were read.

    Attributes:
        candidates: what ranking knows, by id.
        dense, lexical: the arms' scores by id.
        threads: threads by their key in the candidates.
        divided: places that hold a message in several parts; of its parts, hits may be some.
        payloads: what an answer shows, by id.
        looking: what texts are looked at for; it costs a look at every text.
    """

    candidates: dict[str, Candidate] = field(default_factory=dict)
    dense: dict[str, float] = field(default_factory=dict)
    lexical: dict[str, float] = field(default_factory=dict)
    threads: dict[str, Thread] = field(default_factory=dict)
    divided: set[Place] = field(default_factory=set)
    payloads: dict[str, Payload] = field(default_factory=dict)
    looking: Looking = NOWHERE

    @classmethod
    def of(cls, found: SearchHits, looking: Looking = NOWHERE) -> Pool:
        """The pool of a search's hits."""
        pool = cls(
            dense={hit.id: hit.score for hit in found.dense},
            lexical={hit.id: hit.score for hit in found.lexical},
            looking=looking,
        )
        pool.add(found.lexical)
        pool.add(found.dense)
        return pool

    def add(self, read: Iterable[Hit]) -> dict[str, Candidate]:
        """Take in what was read and isn't there yet; returns that."""
        new: dict[str, Candidate] = {}
        candidates, threads, payloads = self.candidates, self.threads, self.payloads
        for identity, _, payload in read:
            if identity not in candidates and identity not in new:
                key = thread_key(payload)
                if key and key not in threads:
                    scope = payload.get("scope")
                    threads[key] = Thread(payload["thread"], Scope.model_validate(scope) if scope else _NO_SCOPE)
                if payload.get("parts", 1) > 1:
                    self.divided.add((key, payload.get("position", 0)))
                new[identity] = candidate_of(identity, payload, key, self.looking)
                payloads[identity] = payload
        candidates.update(new)
        return new


def thread_key(payload: Payload) -> str:
    """A thread's name with its scope, one text; no part of it holds a control character. Empty for no place in one.

    A summary of a thread belongs to it, and has no place among its messages.
    """
    thread: str = payload.get("thread") or "" if "position" in payload else ""
    scope = payload.get("scope")
    if not scope or not thread:
        return thread
    return "\0".join([thread, *(f"{name}={scope[name]}" for name in DIMENSIONS if name in scope)])


def candidate_of(identity: str, payload: Payload, key: str, looking: Looking = NOWHERE) -> Candidate:
    """A memory as ranking knows it."""
    get = payload.get
    author, role = get("author") or "", get("role") or ""
    return Candidate(
        identity,
        key,
        get("position", 0),
        get("ordinal", 0),
        author,
        role,
        moment_of(payload),
        get("chars") or len(get("content", "")),
        get("asks", False),
        get("kind") or "episodic",
        *(looking.at(get("content", ""), author, role) if looking is not NOWHERE else ()),
    )


def moment_of(payload: Payload) -> datetime:
    """When it happened, else when it was recorded; in UTC."""
    text = payload.get("occurred_at") or payload.get("recorded_at")
    return datetime.fromisoformat(text) if text else LONG_AGO
