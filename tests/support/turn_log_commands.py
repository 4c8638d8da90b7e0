"""Commands that are no turns, drawn at random for the logs of ``turn_logs``: bodies that name what stands before them.

The ids of what earlier records made are computed as the contract says, so a command may meet memories that are there,
that have left, that are another tenant's, that never were, and points that are no memories.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from afterturn.streams.records import Record
from support.naive_points import naive_id

Body = dict[str, Any]
SCOPES: tuple[Body, ...] = ({}, {"user": "u1"}, {"user": "u2"}, {"user": "u1", "agent": 7})
NOTHING = "00000000-0000-5000-8000-000000000000"
_TURN = "turn.completed.v1"
_RECENT = 4


@dataclass(frozen=True)
class Place:
    """Where a command is drawn for: its tenant, what stands before it, at which offset it will stand."""

    rng: Random
    log: Sequence[Record]
    offset: int
    tenant: str


def names(record: Record) -> dict[str, str]:
    """A record's headers, as text."""
    return {name: raw.decode("utf-8", "replace") for name, raw in record.headers}


def body_of(record: Record) -> Body | None:
    """A record's body, if it is an object."""
    try:
        body = json.loads(record.value or b"")
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _recorded(body: Body) -> int:
    """How many memories a turn or a fact makes, at a guess."""
    messages = body.get("messages", [{"role": "user", "content": body.get("content", "")}])
    if not isinstance(messages, list):
        return 0
    return sum(m["role"] in ("user", "assistant") and m["content"].strip("\0\u200b \n") != "" for m in messages)


def ids_made_by(record: Record) -> tuple[str, list[str]] | None:
    """The tenant of a record, and the ids of the first memories it may have made, and of one more."""
    body, headers = body_of(record), names(record)
    if body is None or not isinstance(body.get("tenant"), str):
        return None
    tenant, key = body["tenant"], [headers.get("ce_source"), headers.get("ce_id")]
    if headers.get("ce_type") != _TURN:
        return tenant, [naive_id("memory", tenant, key, 0)]
    pairs = sorted([d, str(v)] for d, v in body.get("scope", {}).items())
    turn_key = [pairs, str(body["thread"]), str(body["turn_id"])]
    return tenant, [naive_id("memory", tenant, turn_key, n) for n in range(_recorded(body) + 1)]


def _id(at: Place) -> str:
    """One id: mostly of a memory the tenant got a short while ago."""
    rng = at.rng
    dice = rng.randrange(20)
    if dice == 0:
        return NOTHING
    if dice == 1:
        return rng.choice((
            naive_id("tenant", at.tenant, [], 0),
            naive_id("thread", at.tenant, [[], "t1"], 0),
            naive_id("key", at.tenant, [[], "k1"], 0),
            naive_id("checkpoint", None, [0], 0),
        ))  # fmt: skip
    records = at.log if dice < 5 else [r for r in at.log if (b := body_of(r)) is not None and _recorded(b)]
    made = [m for m in map(ids_made_by, records) if m is not None]
    own = [m for m in made if m[0] == at.tenant]
    among = made if dice == 2 else own if dice < 7 else own[-_RECENT:]
    among = among or made
    if not among:
        return NOTHING
    ids = rng.choice(among)[1]
    return rng.choice((ids[0], ids[0], rng.choice(ids)))


def _ids(at: Place) -> list[str]:
    """Ids to pin or to remove: some of the tenant's, or those that an earlier command named."""
    bodies = [b for b in map(body_of, at.log) if b is not None and b.get("tenant") == at.tenant]
    derived = [b["derived"]["source_ids"] for b in bodies if "derived" in b]
    named = [b["ids"] for b in bodies if "ids" in b and NOTHING not in b["ids"]]
    again = at.rng.choice((derived, derived, named, []))
    if again and at.rng.randrange(3):
        return [*at.rng.choice(again[-3:]), *([_id(at)] if at.rng.randrange(3) == 0 else [])]
    return [_id(at) for _ in range(at.rng.choice((1, 1, 2, 3, 6)))]


def _source(at: Place) -> str:
    """An id to derive from; often of what was derived itself."""
    derived = [r for r in at.log if b'"derived"' in (r.value or b"")]
    own = [m for m in map(ids_made_by, derived) if m is not None and m[0] == at.tenant]
    return own[-1][1][0] if own and at.rng.randrange(5) < 2 else _id(at)


def _offset(at: Place) -> int:
    """An offset that stands before, or about there."""
    return at.rng.choice((at.offset, max(at.offset - 1, 0), *(r.offset for r in at.log[-12:])))


_WORDS = ("Ann likes tea.", "Is it so?", "Caf\u00e9 \U0001f44b", "a\u0000b", "x", "word " * 250)
_TIMES = ("2025-01-01T00:00:00Z", "2025-07-24T17:00:00Z", "2025-08-01T12:00:00.5+02:00", "2030-01-01T00:00:00")


def remember(at: Place) -> Body:
    """A fact, often under a key, often made from memories that may have left."""
    rng = at.rng
    source: Body = rng.choice(({"type": "user", "id": 1}, {"type": "tool", "id": "x", "uri": "u", "label": "l"}))
    body: Body = {"tenant": at.tenant, "scope": rng.choice(SCOPES), "content": rng.choice(_WORDS), "source": source}
    if rng.randrange(2):
        body |= {"scope": rng.choice(SCOPES[:2]), "key": rng.choice(("k1", "k1", "k2", 5))}
        body |= rng.choice(({}, {"version": rng.randrange(4)}))
    if at.log and rng.randrange(5) < 2:
        based_on = rng.choice((at.offset, _offset(at)))
        body["derived"] = {"source_ids": [_source(at) for _ in range(rng.choice((1, 1, 2)))], "based_on": based_on}
    optional: Body = {
        "kind": rng.choice(("semantic", "episodic", "procedural", "reflection")),
        "importance": rng.choice((0, 0.29, 0.5, 0.9, 1)),
        "mode": rng.choice(("auto", "candidate", "candidate", "off", "ask")),
        "tags": ["a", "fact"],
        "data": {"deep": {"n": None}},
        "confidence": rng.choice((0, 0.5, 1)),
        "decay": rng.choice((0, 0.25)),
        "entities": [{"span": "Ann", "type": "person", "role": "subject"}, {"span": "tea", "type": "thing", "id": 7}],
        "effective_at": rng.choice(_TIMES),
        "observed_at": rng.choice(_TIMES),
        "expires_at": rng.choice(_TIMES),
        "valid_from": _TIMES[0],
        "valid_to": rng.choice(_TIMES),
        "type": "user_fact",
        "collection": "people",
        "unknown": 1,
    }
    often = {"kind": 3, "importance": 2, "mode": 6, "collection": 25}
    return body | {name: value for name, value in optional.items() if rng.randrange(often.get(name, 8)) == 0}


def forget(at: Place) -> Body:
    """Ids or a filter, confirmed or not."""
    rng = at.rng
    body: Body = {"tenant": at.tenant, "reason": "asked"}
    body |= rng.choice(({}, {"confirm": True}, {"confirm": True}))
    return body | ({"ids": _ids(at)} if rng.randrange(2) else {"filter": _filter(rng)})


def _filter(rng: Random) -> Body:
    fields: tuple[Body, ...] = (
        {"scope": rng.choice(SCOPES)},
        {"threads": rng.choice((["t1"], ["t2", 5], ["none"]))},
        {"tags_any": rng.choice((["a"], ["b", "fact"], ["none"]))},
        {"kinds": rng.choice((["episodic"], ["semantic", "procedural"]))},
        {"authors": rng.choice((["Ann"], ["Ben", 3]))},
        {"since": rng.choice(_TIMES)},
        {"until": rng.choice(_TIMES)},
    )
    chosen: Body = {}
    for field in rng.sample(fields, rng.choice((1, 1, 1, 2, 3))):
        chosen |= field
    return chosen


def pin(at: Place) -> Body:
    """Pins, often more than may be."""
    return {"tenant": at.tenant, "ids": _ids(at), **at.rng.choice(({}, {}, {"pinned": True}, {"pinned": False}))}


def _rev(at: Place, *, sure: bool = False) -> int:
    """A version: that of something that stood before, which may have changed since."""
    made = [r.offset for r in at.log if (b := body_of(r)) is not None and b.get("tenant") == at.tenant]
    return at.rng.choice(made[-_RECENT:] if made and (sure or at.rng.randrange(4)) else (0, _offset(at)))


def _versioned(at: Place, scope: Body | None = None) -> Body:
    """A memory of the tenant as the record that may have made it left it; mostly one of the scope, where given."""
    records = [r for r in at.log[-12:] if (b := body_of(r)) is not None and (_recorded(b) or "source" in b)]
    if scope is not None and at.rng.randrange(12):
        records = [r for r in records if (body_of(r) or {}).get("scope", {}) == scope]
    made = [(r, m[1]) for r in records if (m := ids_made_by(r)) is not None and m[0] == at.tenant]
    if not made or at.rng.randrange(10) == 0:
        return {"id": _id(at), "rev": _rev(at)}
    record, ids = at.rng.choice(made)
    return {"id": at.rng.choice(ids[: max(1, len(ids) - 1)]), "rev": record.offset}


def consolidate(at: Place) -> Body:
    """A summary of what the tenant got lately, some of which may have changed or gone, or be of another scope."""
    rng = at.rng
    bodies = [b for b in map(body_of, at.log[-12:]) if b is not None and b.get("tenant") == at.tenant and "scope" in b]
    scope = rng.choice(bodies)["scope"] if bodies else {}
    data: Body = {"source_count": 2, "derived_from": [_id(at)] if rng.randrange(4) == 0 else []}
    data |= rng.choice(({}, {"period": list(_TIMES[:2])}))
    summary: Body = {
        "kind": rng.choice(("semantic", "episodic")),
        "content": rng.choice(_WORDS),
        "confidence": 1,
        "importance": rng.choice((0.5, 0.9)),
        "level": rng.choice((0, 1)),
        "data": data,
        "tags": rng.choice(([], ["consolidated"])),
    }
    return {
        "tenant": at.tenant,
        "scope": scope,
        "policy": "thread",
        "group": "g",
        "sources": [_versioned(at, scope) for _ in range(rng.choice((1, 1, 2, 3)))],
        "min_sources": rng.choice((1, 1, 2)),
        "summary": summary,
        "source_ttl_s": rng.choice((0, 60, 10**9)),
        "based_on": rng.choice((at.offset, _offset(at))),
    }


def revise(at: Place) -> Body:
    """Changes of some memories, for all reasons."""
    rng = at.rng
    changes: list[Body] = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        fields: Body = {
            "status": rng.choice(("active", "superseded", "superseded", "merged", "evicted")),
            "confidence": rng.choice((0, 0.4)),
            "importance": rng.choice((0, 0.29, 1)),
            "decay": rng.choice((0, 0.5)),
            "reinforce_count": rng.choice((0, 3)),
            "level": rng.choice((0, 2)),
            "trust": 0.5,
            "tags": rng.choice(([], ["b"])),
            "entities": rng.choice(([], [{"span": "Ann", "type": "person"}])),
            "expires_at": rng.choice(_TIMES),
        }
        chosen = {name: v for name, v in fields.items() if rng.randrange(2 if name == "status" else 5) == 0}
        versioned = _versioned(at) if rng.randrange(2) else {"id": _id(at)}
        if versioned["id"] not in [change["id"] for change in changes]:
            changes.append({**versioned, "set": chosen})
    reasons = (
        "merged",
        "reinforced",
        "contradicted",
        "generalised",
        "stale",
        "stale",
        "revived",
        "expired",
        "corrected",
    )
    body: Body = {"tenant": at.tenant, "reason": rng.choice(reasons), "changes": changes}
    if rng.randrange(4) == 0:
        body["derived"] = {"source_ids": [_source(at)], "based_on": rng.choice((at.offset, _offset(at)))}
    return body


def review(at: Place) -> Body:
    """Decisions on candidates, mostly."""
    candidates = [r for r in at.log if b'"candidate"' in (r.value or b"")]
    own = [m[1][0] for m in map(ids_made_by, candidates) if m is not None and m[0] == at.tenant]
    ids = [at.rng.choice(own) if own and at.rng.randrange(5) else _id(at) for _ in range(at.rng.choice((1, 1, 2, 3)))]
    decision = at.rng.choice(("approve", "approve", "reject"))
    return {"tenant": at.tenant, "ids": ids, "decision": decision, "reviewer": "r"}


def configure(at: Place) -> Body:
    """Some of the settings; the bounds are small, so that they cut."""
    rng = at.rng
    bounds: Body = {"max_memories": rng.choice((1, 2, 3, 4, 6, 9, 10_000))}
    bounds |= rng.choice(({}, {}, {"max_episodes": rng.choice((1, 2, 3, 5))}))
    fields: Body = {
        "bounds": rng.choice((bounds, bounds, {})),
        "required_scope": rng.choice(([], [], ["user"])),
        "ttl_s": rng.choice(({"episodic": 60}, {"semantic": 3_600, "procedural": 0}, {})),
        "recording": rng.choice(({}, {"roles": ["user", "tool"]}, {"max_chars": 500, "long": "cut"})),
        "consolidation": {"after": 3, "nothing": None},
        "phases": rng.choice(({}, {"recall": "off"}, {"record": "off"}, {"record": "on"}, {"consolidate": "off"})),
    }
    chosen = {name: value for name, value in fields.items() if rng.randrange(1 if name == "bounds" else 6) == 0}
    if rng.randrange(5) == 0:
        chosen.pop("bounds")
    return {"tenant": at.tenant, **chosen}


def erase(at: Place) -> Body:
    """The end of what the tenant had."""
    return {"tenant": at.tenant, "confirm": at.tenant, "reason": "asked"}


def collect(at: Place) -> Body:
    """All below an earlier offset, in the records' own partition."""
    return {"partition": at.log[0].partition if at.log else 0, "below": _offset(at)}


DRAWN: dict[str, tuple[str, Callable[[Place], Body]]] = {
    "facts": ("memory.remember.v1", remember),
    "forgets": ("memory.forget.v1", forget),
    "pins": ("memory.pin.v1", pin),
    "consolidations": ("memory.consolidate.v1", consolidate),
    "revisions": ("memory.revise.v1", revise),
    "reviews": ("memory.review.v1", review),
    "configures": ("tenant.configure.v1", configure),
    "erases": ("tenant.erase.v1", erase),
    "collects": ("log.collect.v1", collect),
}
"""What a share of a mix draws: the command's type, and how its body is drawn."""
