"""The naive model: what a partition's log must leave in the store, by the plainest possible code.

Written from the design and the contract alone, without a look at the recorder, so that both can be compared. Every
command looks through all points again; nothing is kept but the points. Where a digest is asked for, a readable form of
what it covers stands in its place (``digest`` of a payload): comparing means that the recorder's digests are equal
exactly where these are.

What design and contract leave open, and is settled here as the recorder does: a message's tags come before its turn's,
its data over its turn's; ``part`` and ``parts`` are there also where a message is one part; the count ``parts`` of an
outcome is of memories that are a part of a longer message; a misrouted command of a tenant has an event and no receipt;
a command without a tenant has neither; of two reasons to skip a turn the order is off, scope, blank.
"""

from __future__ import annotations

import hashlib
import json
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from afterturn.consumers.text.split import cut, split
from afterturn.schemas.settings import FoldSettings
from afterturn.streams.records import Record
from support.naive_decoding import TURN, Poison, Said, blank, read, written

Payload = dict[str, Any]
_LAST_MS = 253_402_300_799_999
_LIVE = ("candidate", "active", "superseded")
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


@dataclass(frozen=True)
class Ended:
    """How one record ended: the ending's name, the reason where it was not applied, and the outcome event's fields."""

    ending: str
    reason: str | None = None
    event: Payload | None = None


@dataclass(frozen=True)
class Expected:
    """The points by id (all but the checkpoint), how each record ended, and the checkpoint."""

    points: dict[str, Payload]
    ended: list[Ended]
    checkpoint: Payload | None


def naive_id(kind: str, tenant: str | None, key: object, ordinal: int) -> str:
    """uuid5, by hand: SHA-1 over the namespace and the compact JSON array."""
    name = json.dumps([kind, tenant, key, ordinal], ensure_ascii=False, separators=(",", ":")).encode()
    return str(uuid.UUID(bytes=hashlib.sha1(_NAMESPACE.bytes + name).digest()[:16], version=5))


def naive_fold(
    records: Sequence[Record],
    settings: FoldSettings,
    *,
    before: Mapping[str, Payload] | None = None,
    dead: Mapping[int, str] | None = None,
) -> Expected:
    """What the records leave behind, starting from the points ``before``; ``dead``: what was decided at run time."""
    points = {i: dict(p) for i, p in (before or {}).items()}
    ended, checkpoint = [], None
    for record in records:
        ended.append(_Command(points, record, settings, (dead or {}).get(record.offset)).fold())
        checkpoint = {
            "point": "checkpoint",
            "partition": record.partition,
            "next": _rev(settings, record.offset + 1),
            "key": (record.key or b"").hex()[:512],
            "time": max(record.timestamp_ms, 0),
        }
    return Expected(points, ended, checkpoint)


def _rev(settings: FoldSettings, offset: int) -> int:
    return settings.epoch * 2**44 + offset


class _Command:
    """One record, folded into the points."""

    def __init__(self, points: dict[str, Payload], record: Record, settings: FoldSettings, dead: str | None) -> None:
        self.points = points
        self.record = replace(record, timestamp_ms=min(max(record.timestamp_ms, 0), _LAST_MS))
        self.settings = settings
        self.dead = dead
        self.rev = _rev(settings, record.offset)
        self.said: Said
        self.key: list[Any]

    def fold(self) -> Ended:
        try:
            self.said = read(self.record, self.settings)
        except Poison as poison:
            return Ended("dead_lettered", poison.reason)
        if self.said.misrouted:
            return Ended("dead_lettered", "misrouted", self.skipped("dead_letter").event if self.said.tenant else None)
        body = self.said.body
        scope = sorted([d, v] for d, v in body["scope"].items()) if self.said.type == TURN else []
        turn = self.said.type == TURN
        self.key = [scope, body["thread"], body["turn_id"]] if turn else [self.said.ce_source, self.said.ce_id]
        earlier = self.points.get(self.id(0))
        if earlier is not None and not self.is_replay_of(earlier):
            same = earlier.get("digest") == self.digest()
            return self.skipped("duplicate" if same else "conflict")
        if not turn or body["replaces"] is not None:
            return self.died("unsupported")
        if self.dead is not None:
            return self.died(self.dead)
        return self.turn()

    def id(self, ordinal: int) -> str:
        return naive_id("memory", self.said.tenant, self.key, ordinal)

    def is_replay_of(self, earlier: Payload) -> bool:
        original = self.said.original_offset
        return bool(earlier.get("dead")) and earlier["born"] % 2**44 == original

    def digest(self) -> str:
        if self.said.type != TURN:
            return json.dumps([self.said.type, self.said.body], sort_keys=True)
        return json.dumps([[m["role"], m["author"], m["content"]] for m in self.said.body["messages"]])

    # What is reported

    def event(self, kind: str, **fields: Any) -> Payload:
        turn = self.said.type == TURN
        return {
            "event": kind,
            "tenant": self.said.tenant,
            "thread": self.said.body["thread"] if turn else None,
            "turn_id": self.said.body["turn_id"] if turn else None,
            "id": self.said.ce_id,
            "type": self.said.type,
            "offset": self.record.offset,
            **fields,
        }

    def skipped(self, reason: str) -> Ended:
        event = self.event("memory.skipped.v1", operation=_OPERATIONS.get(self.said.type), reason=reason)
        ending = {"duplicate": "duplicate", "dead_letter": "dead_lettered"}.get(reason, "skipped")
        return Ended(ending, reason, event)

    def receipt(self, reason: str, *, dead: bool) -> None:
        self.put(self.id(0), {
            "point": "receipt",
            "tenant": self.said.tenant,
            "outcome": {"event": "memory.skipped.v1", "operation": _OPERATIONS.get(self.said.type), "reason": reason},
            "digest": self.digest(),
            "dead": dead,
        })  # fmt: skip

    def died(self, reason: str) -> Ended:
        if not self.said.tenant:
            return Ended("dead_lettered", reason)
        self.receipt("dead_letter", dead=True)
        return Ended("dead_lettered", reason, self.skipped("dead_letter").event)

    def left_out(self, reason: str) -> Ended:
        self.receipt(reason, dead=False)
        return self.skipped(reason)

    # Points

    def put(self, point_id: str, payload: Payload) -> None:
        old = self.points.get(point_id)
        born = self.rev if old is None or old.get("dead") else old["born"]
        whole = {**payload, "partition": self.record.partition, "born": born, "rev": self.rev}
        self.points[point_id] = {
            k: v for k, v in whole.items() if v is not None and v is not False and v not in ([], {})
        }

    def tenant_state(self) -> Payload:
        state = self.points.get(naive_id("tenant", self.said.tenant, [], 0), {})
        return {"point": "tenant", "tenant": self.said.tenant, "live": 0, "number": 0, "authors": [], **state}

    def live(self) -> dict[str, Payload]:
        return {
            i: p
            for i, p in self.points.items()
            if p["point"] == "memory" and p["tenant"] == self.said.tenant and p["status"] in _LIVE
        }

    # The turn

    def turn(self) -> Ended:
        own = self.tenant_state().get("settings", {})
        if own.get("phases", {}).get("record") == "off":
            return self.left_out("off")
        if any(dimension not in self.said.body["scope"] for dimension in own.get("required_scope", [])):
            return self.left_out("scope")
        recording: Payload = {"roles": ["user", "assistant"], "max_chars": 4_000, "long": "split"}
        recording |= own.get("recording") or self.settings.recording.model_dump(mode="json")
        kept = [m for m in self.said.body["messages"] if m["role"] in recording["roles"] and not blank(m["content"])]
        if not kept:
            return self.left_out("blank")
        added, parts = self.record_messages(kept, recording)
        bound = own.get("bounds", {}).get("max_memories") or self.settings.bounds.max_memories
        evicted = self.keep_bound(bound)
        counts = {"added": added, "evicted": evicted, "parts": parts}
        receipt = self.points[self.id(0)]
        receipt["outcome"] = {"event": "memory.recorded.v1", "counts": counts}
        receipt["digest"] = self.digest()
        return Ended("applied", None, self.event("memory.recorded.v1", **counts))

    def record_messages(self, kept: list[Payload], recording: Payload) -> tuple[int, int]:
        body = self.said.body
        scope = sorted([d, v] for d, v in body["scope"].items())
        thread_id = naive_id("thread", self.said.tenant, [scope, body["thread"]], 0)
        position = self.points.get(thread_id, {}).get("next_position", 0)
        state = self.tenant_state()
        number, authors, ordinal, split_ones = state["number"], list(state["authors"]), 0, 0
        for message in kept:
            parts = self.parts(message["content"], recording)
            for part, text in enumerate(parts):
                number += 1
                place = {"ordinal": ordinal, "position": position, "part": part, "parts": len(parts)}
                split_ones += len(parts) > 1
                self.put(self.id(ordinal), self.memory(message, text, number) | place)
                ordinal += 1
            position += 1
            if message["author"] is not None and message["author"] not in authors and len(authors) < 256:
                authors.append(message["author"])
        thread = {"point": "thread", "tenant": self.said.tenant, "scope": body["scope"], "thread": body["thread"]}
        self.put(thread_id, thread | {"next_position": position})
        self.put_tenant(state | {"number": number, "authors": authors})
        return ordinal, split_ones

    def parts(self, content: str, recording: Payload) -> list[str]:
        most = recording["max_chars"]
        if len(content) <= most:
            return [content]
        return split(content, most) if recording["long"] == "split" else [cut(content, most)]

    def memory(self, message: Payload, text: str, number: int) -> Payload:
        body = self.said.body
        importance = 0.5 if message["importance"] is None else message["importance"]
        recorded = datetime.fromtimestamp(0, UTC) + timedelta(milliseconds=self.record.timestamp_ms)
        return {
            "point": "memory",
            "tenant": self.said.tenant,
            "scope": body["scope"],
            "status": "active",
            "kind": "episodic",
            "type": "conversation",
            "content": text,
            "chars": len(text),
            "asks": len(text.strip()) < 120 and text.strip().endswith(("?", "\uff1f")),
            "thread": body["thread"],
            "turn_id": body["turn_id"],
            "role": message["role"],
            "author": message["author"],
            "occurred_at": body["occurred_at"],
            "recorded_at": written(recorded),
            "content_revised": written(recorded),
            "metadata_revised": written(recorded),
            "importance": importance,
            "confidence": 1.0,
            "evict_key": (1 + math.floor(1_000 * importance)) * 2**43 + number,
            "tags": list(dict.fromkeys(message["tags"] + body["tags"])),
            "data": body["data"] | message["data"],
            "source": {"type": "run", "id": body["run"]["id"]} if body["run"] else None,
            "embedder": self.settings.embedder,
        }

    def put_tenant(self, state: Payload) -> None:
        state = state | {"live": len(self.live())}
        numbers = {k: v for k, v in state.items() if v != 0 or k in ("born", "rev", "partition")}
        self.put(naive_id("tenant", self.said.tenant, [], 0), numbers)

    def keep_bound(self, bound: int) -> int:
        evicted = 0
        while len(self.live()) > bound:
            victim, payload = min(self.live().items(), key=lambda item: item[1]["evict_key"])
            kept = ("point", "tenant", "ordinal", "evict_key", "scope", "thread", "position", "outcome", "digest")
            self.put(victim, {k: payload.get(k) for k in kept} | {"status": "evicted"})
            evicted += 1
        self.put_tenant(self.tenant_state())
        return evicted
