"""What every command of the naive model stands on: ids, points, the tenant's state, the bound, and how a record ends.

Nothing is kept but the points: whoever asks what is live, or how many, looks through all of them again.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from afterturn.schemas.settings import FoldSettings
from afterturn.streams.records import Record
from support.naive_decoding import TURN, Said, written

Payload = dict[str, Any]
LIVE = ("candidate", "active", "superseded")
NUMBERS = 2**43
_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_OID, "afterturn")
_OPERATIONS = {
    TURN: "memory.record",
    "memory.remember.v1": "memory.record",
    "memory.revise.v1": "memory.revise",
    "memory.review.v1": "memory.review",
    "memory.consolidate.v1": "memory.consolidate",
    "memory.forget.v1": "memory.forget",
    "memory.pin.v1": "memory.pin",
    "tenant.configure.v1": "tenant.configure",
    "tenant.erase.v1": "tenant.erase",
}
_STONE = (
    "importance",
    "point", "tenant", "ordinal", "evict_key", "scope", "kind", "thread", "position", "pinned", "source_ids",
    "derived_from", "outcome", "digest",
)  # fmt: skip


@dataclass(frozen=True)
class Ended:
    """How one record ended: the ending's name, the reason where it was not applied, and the outcome event's fields."""

    ending: str
    reason: str | None = None
    event: Payload | None = None


def naive_id(kind: str, tenant: str | None, key: object, ordinal: int) -> str:
    """uuid5, by hand: SHA-1 over the namespace and the compact JSON array."""
    name = json.dumps([kind, tenant, key, ordinal], ensure_ascii=False, separators=(",", ":")).encode()
    return str(uuid.UUID(bytes=hashlib.sha1(_NAMESPACE.bytes + name).digest()[:16], version=5))


def pairs(scope: Payload) -> list[list[str]]:
    """A scope as ids hold it."""
    return sorted([dimension, value] for dimension, value in scope.items())


def rev_of(settings: FoldSettings, offset: int) -> int:
    """An offset of the epoch under test as a rev."""
    return settings.epoch * 2**44 + offset


def is_live(point: Payload | None) -> bool:
    """Whether a point is a memory that is there."""
    return point is not None and point["point"] == "memory" and point["status"] in LIVE


class Applying:
    """One decodable command, and the points it is applied to."""

    def __init__(self, points: dict[str, Payload], record: Record, settings: FoldSettings, said: Said) -> None:
        self.points = points
        self.record = record
        self.settings = settings
        self.said = said
        self.body = said.body
        self.rev = rev_of(settings, record.offset)
        self.is_turn = said.type == TURN
        turn_key = [pairs(self.body.get("scope", {})), self.body.get("thread"), self.body.get("turn_id")]
        self.key = turn_key if self.is_turn else [said.ce_source, said.ce_id]
        self.ranked: dict[str, int] = {}
        """Ranks, from before this command, of what it has superseded."""

    def id(self, ordinal: int) -> str:
        return naive_id("memory", self.said.tenant, self.key, ordinal)

    def digest(self) -> str:
        if not self.is_turn:
            return json.dumps([self.said.type, self.body], sort_keys=True)
        return json.dumps([[m["role"], m["author"], m["content"]] for m in self.body["messages"]])

    def time(self) -> datetime:
        return datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self.record.timestamp_ms)

    # How it ends

    def event(self, kind: str, fields: Payload) -> Payload | None:
        if not self.said.tenant:
            return None
        return {
            "event": kind,
            "tenant": self.said.tenant,
            "thread": self.body["thread"] if self.is_turn else None,
            "turn_id": self.body["turn_id"] if self.is_turn else None,
            "id": self.said.ce_id,
            "type": self.said.type,
            "offset": self.record.offset,
            **fields,
        }

    def skipped(self, reason: str) -> Ended:
        """Not carried out; nothing is written."""
        fields = {"operation": _OPERATIONS.get(self.said.type), "reason": reason}
        ending = {"duplicate": "duplicate", "dead_letter": "dead_lettered"}.get(reason, "skipped")
        return Ended(ending, reason, self.event("memory.skipped.v1", fields))

    def left_out(self, reason: str) -> Ended:
        """Not carried out, and that stays so: a receipt says it."""
        self._receipt_of_skipped(reason, dead=False)
        return self.skipped(reason)

    def died(self, reason: str, *, replayable: bool = True) -> Ended:
        if self.said.tenant:
            self._receipt_of_skipped("dead_letter", dead=replayable)
        return Ended("dead_lettered", reason, self.skipped("dead_letter").event)

    def applied(self, kind: str, counts: dict[str, int], **more: int) -> Ended:
        """Carried out: a receipt of its own says so; the event has ``more`` counts than the receipt."""
        self.receipt({"event": kind, "counts": counts} if counts else {"event": kind}, dead=False)
        return Ended("applied", None, self.event(kind, counts | more))

    def receipt(self, outcome: Payload, *, dead: bool) -> None:
        what = {"point": "receipt", "tenant": self.said.tenant, "outcome": outcome, "digest": self.digest()}
        self.put(self.id(0), what | {"dead": dead})

    def _receipt_of_skipped(self, reason: str, *, dead: bool) -> None:
        outcome = {"event": "memory.skipped.v1", "operation": _OPERATIONS.get(self.said.type), "reason": reason}
        self.receipt({k: v for k, v in outcome.items() if v is not None}, dead=dead)

    # Points

    def put(self, point_id: str, payload: Payload) -> None:
        """Writes a whole point; what it was born with stays, but for a dead letter's receipt that is overwritten."""
        old = self.points.get(point_id)
        born = self.rev if old is None or old.get("dead") else old["born"]
        self.put_born(point_id, payload, born)

    def put_born(self, point_id: str, payload: Payload, born: int) -> None:
        whole = {**payload, "partition": self.record.partition, "born": born, "rev": self.rev}
        self.points[point_id] = {
            k: v for k, v in whole.items() if v is not None and v is not False and v not in ([], {})
        }

    def live(self) -> dict[str, Payload]:
        """The tenant's memories that are there."""
        return {i: p for i, p in self.points.items() if p["tenant"] == self.said.tenant and is_live(p)}

    def remove(self, point_id: str, status: str, *, cascade: bool = False) -> None:
        """Puts a tombstone in a memory's place; it keeps the rank from before the command."""
        stone = {name: self.points[point_id].get(name) for name in _STONE}
        stone["evict_key"] = self.ranked.get(point_id, stone["evict_key"])
        self.put(point_id, stone | {"status": status, "cascade": cascade})

    def key_id(self, memory: Payload) -> str:
        """The id of the state of a memory's own key."""
        return naive_id("key", self.said.tenant, [pairs(memory.get("scope", {})), memory["key"]], 0)

    def supersede(self, point_ids: Sequence[str]) -> int:
        """Takes memories out of use that are there and in use; how many."""
        live = self.live()
        met = [i for i in point_ids if i in live and ("summary" in live[i] or live[i]["status"] != "superseded")]
        for i in met:
            old = self.points[i]
            self.ranked[i] = rank_key(old["importance"], old["evict_key"] % NUMBERS)
            self.put(i, old | {"status": "superseded", "evict_key": old["evict_key"] % NUMBERS, "summary": None})
        return len(met)

    # The tenant

    def tenant_id(self) -> str:
        return naive_id("tenant", self.said.tenant, [], 0)

    def tenant_state(self) -> Payload:
        state = self.points.get(self.tenant_id(), {})
        return {"point": "tenant", "tenant": self.said.tenant, "number": 0, "authors": [], "settings": {}, **state}

    def put_tenant(self, state: Payload) -> None:
        """Writes the tenant's state, counted anew."""
        live = self.live().values()
        counts = {
            "number": state["number"],
            "live": len(live),
            "episodes": sum(p["kind"] == "episodic" for p in live),
            "pinned": sum(p.get("pinned", False) for p in live),
        }
        self.put(self.tenant_id(), state | {name: count or None for name, count in counts.items()})

    def own(self) -> Payload:
        """The tenant's own settings."""
        return dict(self.tenant_state()["settings"])

    def bounds(self) -> tuple[int, int | None]:
        """How many memories, and how many episodes, the tenant may keep."""
        own = self.own()
        if "bounds" in own:
            return own["bounds"].get("max_memories", 10_000), own["bounds"].get("max_episodes")
        return self.settings.bounds.max_memories, self.settings.bounds.max_episodes

    def keep_bound(self) -> int:
        """Lets go what the tenant has no place for: episodes beyond their own cap first; how many left."""
        most, most_episodes = self.bounds()
        evicted = 0
        while True:
            live = self.live()
            episodes = {i: p for i, p in live.items() if p["kind"] == "episodic"}
            if most_episodes is not None and len(episodes) > most_episodes:
                leaving = episodes
            elif len(live) > most:
                leaving = live
            else:
                break
            free = {i: p for i, p in leaving.items() if not p.get("pinned")}
            self.remove(min(free, key=lambda i: free[i]["evict_key"]), "evicted")
            evicted += 1
        self.put_tenant(self.tenant_state())
        return evicted


def expiry(applying: Applying, kind: str) -> str | None:
    """When a memory of this kind that is recorded now expires, by the tenant's settings."""
    ttl = applying.own().get("ttl_s", {}).get(kind)
    try:
        return None if ttl is None else written(applying.time() + timedelta(seconds=ttl))
    except OverflowError:
        return None


def rank_key(importance: float, number: int) -> int:
    """The evict_key of a memory in use."""
    return (1 + int(1_000 * importance)) * NUMBERS + number


def asks(text: str) -> bool:
    """Whether a text is a short question."""
    return len(text.strip()) < 120 and text.strip().endswith(("?", "\uff1f"))
