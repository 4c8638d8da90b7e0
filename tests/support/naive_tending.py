"""The naive model of what tends memories: summaries that take a group's place, revisions, and reviews of candidates."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from support.naive_decoding import written
from support.naive_points import NUMBERS, Applying, Ended, Payload, asks, expiry, is_live, rank_key
from support.naive_removing import cascade

_UPKEEP = ("stale", "revived", "expired")
_SPARING_PINNED = ("stale", "expired", "contradicted", "merged", "generalised")

# Consolidating


def consolidate(at: Applying) -> Ended:
    """A summary is added, and what it was made of and is still the same is superseded until it expires."""
    body = at.body
    if at.own().get("phases", {}).get("consolidate") == "off":
        return at.left_out("off")
    met = {s["id"]: at.points.get(s["id"]) for s in body["sources"]}
    known = {i: p for i, p in met.items() if p and p["point"] == "memory" and p["tenant"] == at.said.tenant}
    if any(p["status"] not in ("deleted", "erased") and p.get("scope", {}) != body["scope"] for p in known.values()):
        return at.left_out("scope")
    if len(known) < len(met) or any(_taken_back(p) for p in known.values()):
        return at.left_out("stale")
    wanted = [(s["id"], s["rev"]) for s in body["sources"]]
    same = {i: known[i] for i, rev in wanted if known[i]["rev"] == rev and known[i]["status"] == "active"}
    same = {i: p for i, p in same.items() if not p.get("pinned")}
    if len(same) < body["min_sources"]:
        return at.left_out("stale")
    state = at.tenant_state()
    at.put(at.id(0), _summary(at, same, state["number"] + 1))
    for i, p in same.items():
        at.put(i, p | {
            "status": "superseded", "evict_key": p["evict_key"] % NUMBERS, "summary": at.id(0),
            "expires_at": _sooner(p.get("expires_at"), _later(at, body["source_ttl_s"])),
            "metadata_revised": written(at.time()),
        })  # fmt: skip
        at.ranked[i] = p["evict_key"]
    at.put_tenant(state | {"number": state["number"] + 1})
    counts = {"groups": 1, "removed": len(same), "evicted": at.keep_bound(), "left_out": len(met) - len(same)}
    receipt = at.points[at.id(0)]
    receipt["outcome"] = {"event": "memory.consolidated.v1", "counts": counts}
    receipt["digest"] = at.digest()
    return Ended("applied", None, at.event("memory.consolidated.v1", dict(counts)))


def _taken_back(memory: Payload) -> bool:
    return memory["status"] in ("deleted", "erased") or (memory["status"] == "superseded" and "summary" not in memory)


def _later(at: Applying, seconds: int) -> str | None:
    try:
        return written(at.time() + timedelta(seconds=seconds))
    except OverflowError:
        return None


def _sooner(one: str | None, other: str | None) -> str | None:
    times = [t for t in (one, other) if t is not None]
    return min(times, key=datetime.fromisoformat, default=None)


def _summary(at: Applying, sources: dict[str, Payload], number: int) -> Payload:
    said, now = at.body["summary"], written(at.time())
    threads = {p.get("thread") for p in sources.values()}
    told = {name: said["data"][name] for name in ("period", "source_count") if name in said["data"]}
    return {name: said.get(name) for name in ("kind", "type", "content", "tags", "confidence", "importance")} | {
        "point": "memory",
        "tenant": at.said.tenant,
        "scope": at.body["scope"],
        "status": "active",
        "ordinal": 0,
        "chars": len(said["content"]),
        "asks": asks(said["content"]),
        "data": {**told, "policy": at.body["policy"], "group": at.body["group"]},
        "thread": threads.pop() if len(threads) == 1 else None,
        "occurred_at": told["period"][1] if "period" in told else now,
        "recorded_at": now,
        "expires_at": expiry(at, said["kind"]),
        "content_revised": now,
        "metadata_revised": now,
        "level": said["level"] or None,
        "source_ids": list(sources),
        "derived_from": said["data"]["derived_from"],
        "evict_key": rank_key(said["importance"], number),
        "embedder": at.settings.embedder,
    }


# Revising


def revise(at: Applying) -> Ended:
    """Fields of memories are set, where the memory is there, of the version meant, and not spared."""
    reason, changes = at.body["reason"], at.body["changes"]
    met = {c["id"]: at.live().get(c["id"]) for c in changes}
    scopes = {str(sorted(p.get("scope", {}).items())) for p in met.values() if p}
    if reason not in _UPKEEP and len(scopes) > 1:
        return at.left_out("scope")
    counts = {reason: 0, "review": 0, "left_out": 0}
    removed = False
    for change in changes:
        what = _what_becomes_of(at, change, reason)
        counts[what] += 1
        if what == reason:
            removed |= _set(at, change["id"], change["set"], reason)
    if counts["left_out"] == len(changes):
        return at.left_out("stale" if any(met.values()) else "gone")
    if removed:
        at.put_tenant(at.tenant_state())
    return at.applied("memory.revised.v1", counts)


def _what_becomes_of(at: Applying, change: dict[str, Any], reason: str) -> str:
    memory = at.live().get(change["id"])
    if memory is None or ("rev" in change and change["rev"] != memory["rev"]):
        return "left_out"
    if memory.get("pinned") and reason in _SPARING_PINNED:
        return "review" if reason == "contradicted" else "left_out"
    to = change["set"].get("status")
    if to == "active" and not memory.get("stale"):
        return "left_out"
    return "left_out" if to == "superseded" and memory["status"] == "candidate" else reason


def _set(at: Applying, i: str, given: Payload, reason: str) -> bool:
    """Sets the fields; whether the memory is gone then."""
    to = given.get("status")
    if to in ("merged", "evicted"):
        at.remove(i, to)
        return True
    fields = {name: value for name, value in given.items() if name != "status"}
    means = "confidence" in fields or "entities" in fields
    memory: Payload = at.points[i] | fields | {"content_revised" if means else "metadata_revised": written(at.time())}
    memory |= {"decay": memory.get("decay") or None, "level": memory.get("level") or None}
    memory["reinforce_count"] = memory.get("reinforce_count") or None
    if to is not None:
        memory |= {"status": to, "stale": to == "superseded" and reason == "stale"}
    if to == "superseded":
        memory["summary"] = None
    number = memory["evict_key"] % NUMBERS
    if to is not None or "importance" in fields:
        ranked = memory["status"] != "superseded"
        memory["evict_key"] = rank_key(memory["importance"], number) if ranked else number
    if to == "superseded":
        at.ranked[i] = rank_key(memory["importance"], number)
    at.put(i, memory)
    return False


# Reviewing


def review(at: Applying) -> Ended:
    """Candidates come into use, or go."""
    ids = list(dict.fromkeys(at.body["ids"]))
    counts: dict[str, int] = dict.fromkeys(("activated", "superseded", "deduped", "rejected", "unknown"), 0)
    gone: set[str] = set()
    for i in ids:
        memory = at.live().get(i)
        if memory is None or memory["status"] != "candidate":
            counts["unknown"] += 1
        elif at.body["decision"] == "reject":
            at.remove(i, "deleted")
            counts["rejected"] += 1
            gone.add(i)
        else:
            counts[_approve(at, i, memory)] += 1
    if counts["unknown"] == len(ids):
        return at.left_out("refused" if any(is_live(at.live().get(i)) for i in ids) else "gone")
    derived = cascade(at, gone)
    if counts["rejected"] or counts["deduped"]:
        at.put_tenant(at.tenant_state())
    return at.applied("memory.reviewed.v1", {**counts, "derived": derived})


def _approve(at: Applying, i: str, candidate: Payload) -> str:
    key = at.key_id(candidate) if "key" in candidate else None
    state = at.points.get(key, {}) if key else {}
    current = at.live().get(state.get("current", ""))
    if current and current["status"] == "active":
        says, same = [(p["content"], p.get("data", {})) for p in (current, candidate)]
        if says == same:
            at.remove(i, "merged")
            return "deduped"
    replaced = 0
    if key:
        named = {name: candidate.get(name) for name in ("tenant", "scope", "key")}
        at.put(key, named | {"point": "key", "current": i, "version": state.get("version")})
        replaced = at.supersede([state["current"]]) if "current" in state else 0
    number = candidate["evict_key"] % NUMBERS
    now = written(at.time())
    at.put(i, candidate | {
        "status": "active", "metadata_revised": now, "evict_key": rank_key(candidate["importance"], number),
    })  # fmt: skip
    return "superseded" if replaced else "activated"
