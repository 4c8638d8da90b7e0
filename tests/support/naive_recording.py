"""The naive model of what records: turns and facts."""

from __future__ import annotations

from afterturn.consumers.text.split import cut, split
from support.naive_decoding import blank, written
from support.naive_points import Applying, Ended, Payload, asks, expiry, naive_id, pairs, rank_key


def not_wanted(at: Applying) -> str | None:
    """Why the tenant's settings keep a turn or a fact out."""
    own = at.own()
    if own.get("phases", {}).get("record") == "off" or at.body.get("mode") == "off":
        return "off"
    if any(dimension not in at.body["scope"] for dimension in own.get("required_scope", [])):
        return "scope"
    return None


def recorded(at: Applying, added: int, superseded: int, parts: int) -> Ended:
    """Applies the bound, and makes the memory at ordinal 0 the receipt."""
    counts = {"added": added, "evicted": at.keep_bound(), "superseded": superseded, "parts": parts}
    receipt = at.points[at.id(0)]
    receipt["outcome"] = {"event": "memory.recorded.v1", "counts": counts}
    receipt["digest"] = at.digest()
    return Ended("applied", None, at.event("memory.recorded.v1", dict(counts)))


# A turn


def turn(at: Applying) -> Ended:
    """Each recorded message becomes a memory, or several parts of one."""
    reason = not_wanted(at)
    if reason:
        return at.left_out(reason)
    recording = _recording(at)
    kept = [m for m in at.body["messages"] if m["role"] in recording["roles"] and not blank(m["content"])]
    if not kept:
        return at.left_out("blank")
    superseded = at.supersede(_replaced(at))
    added, parts = _record_messages(at, kept, recording)
    return recorded(at, added, superseded, parts)


def _recording(at: Applying) -> Payload:
    recording: Payload = {"roles": ["user", "assistant"], "max_chars": 4_000, "long": "split"}
    own = at.own()
    return recording | (own["recording"] if "recording" in own else at.settings.recording.model_dump(mode="json"))


def _replaced(at: Applying) -> list[str]:
    """The ids that the turn this one replaces has made, as its receipt says; a turn can't replace itself."""
    replaces = at.body["replaces"]
    if replaces is None or replaces == at.body["turn_id"]:
        return []
    key = [pairs(at.body["scope"]), at.body["thread"], replaces]
    receipt = at.points.get(naive_id("memory", at.said.tenant, key, 0), {})
    added = receipt.get("outcome", {}).get("counts", {}).get("added", 0)
    return [naive_id("memory", at.said.tenant, key, ordinal) for ordinal in range(added)]


def _record_messages(at: Applying, kept: list[Payload], recording: Payload) -> tuple[int, int]:
    thread_id = naive_id("thread", at.said.tenant, [pairs(at.body["scope"]), at.body["thread"]], 0)
    position = at.points.get(thread_id, {}).get("next_position", 0)
    state = at.tenant_state()
    number, authors, ordinal, split_ones = state["number"], list(state["authors"]), 0, 0
    for message in kept:
        parts = _parts(message["content"], recording)
        for part, text in enumerate(parts):
            number += 1
            place = {"ordinal": ordinal, "position": position, "part": part, "parts": len(parts)}
            split_ones += len(parts) > 1
            at.put(at.id(ordinal), _memory(at, message, text, number) | place)
            ordinal += 1
        position += 1
        if message["author"] is not None and message["author"] not in authors and len(authors) < 256:
            authors.append(message["author"])
    thread = {"point": "thread", "tenant": at.said.tenant, "scope": at.body["scope"], "thread": at.body["thread"]}
    at.put(thread_id, thread | {"next_position": position})
    at.put_tenant(state | {"number": number, "authors": authors})
    return ordinal, split_ones


def _parts(content: str, recording: Payload) -> list[str]:
    most = recording["max_chars"]
    if len(content) <= most:
        return [content]
    return split(content, most) if recording["long"] == "split" else [cut(content, most)]


def _memory(at: Applying, message: Payload, text: str, number: int) -> Payload:
    body = at.body
    importance = 0.5 if message["importance"] is None else message["importance"]
    return {
        "point": "memory",
        "tenant": at.said.tenant,
        "scope": body["scope"],
        "status": "active",
        "kind": "episodic",
        "type": "conversation",
        "content": text,
        "chars": len(text),
        "asks": asks(text),
        "thread": body["thread"],
        "turn_id": body["turn_id"],
        "role": message["role"],
        "author": message["author"],
        "occurred_at": body["occurred_at"],
        "recorded_at": written(at.time()),
        "expires_at": expiry(at, "episodic"),
        "content_revised": written(at.time()),
        "metadata_revised": written(at.time()),
        "importance": importance,
        "confidence": 1.0,
        "evict_key": rank_key(importance, number),
        "tags": list(dict.fromkeys(message["tags"] + body["tags"])),
        "data": body["data"] | message["data"],
        "source": {"type": "run", "id": body["run"]["id"]} if body["run"] else None,
        "embedder": at.settings.embedder,
    }


# A fact


def remember(at: Applying) -> Ended:
    """One fact becomes one memory; under a key it takes the place of what the key stood for."""
    reason = not_wanted(at)
    if reason:
        return at.left_out(reason)
    if _is_older(at):
        return at.left_out("stale")
    candidate = at.body.get("mode") == "candidate"
    state = at.tenant_state()
    number = state["number"] + 1
    superseded = 0 if candidate or "key" not in at.body else _take_key(at)
    at.put(at.id(0), _fact(at, number) | {"status": "candidate" if candidate else "active"})
    at.put_tenant(state | {"number": number})
    return recorded(at, 1, superseded, 0)


def _key_id(at: Applying) -> str:
    return naive_id("key", at.said.tenant, [pairs(at.body["scope"]), at.body["key"]], 0)


def _is_older(at: Applying) -> bool:
    if "key" not in at.body or "version" not in at.body:
        return False
    known = at.points.get(_key_id(at), {}).get("version")
    return known is not None and at.body["version"] < known


def _take_key(at: Applying) -> int:
    old = at.points.get(_key_id(at), {})
    current = old.get("current")
    superseded = at.supersede([current]) if current is not None else 0
    state = {"point": "key", "tenant": at.said.tenant, "scope": at.body["scope"], "key": at.body["key"]}
    version = at.body.get("version", old.get("version"))
    at.put(_key_id(at), state | {"current": at.id(0), "version": version})
    return superseded


def _fact(at: Applying, number: int) -> Payload:
    body = at.body
    named = ("type", "key", "data", "tags", "entities", "valid_from", "valid_to", "effective_at", "source")
    now = written(at.time())
    return {name: body.get(name) for name in named} | {
        "point": "memory",
        "tenant": at.said.tenant,
        "scope": body["scope"],
        "kind": body["kind"],
        "ordinal": 0,
        "content": body["content"],
        "chars": len(body["content"]),
        "asks": asks(body["content"]),
        "confidence": body["confidence"],
        "importance": body["importance"],
        "decay": body["decay"] or None,
        "occurred_at": body.get("effective_at") or body.get("observed_at") or now,
        "expires_at": body.get("expires_at") or expiry(at, body["kind"]),
        "recorded_at": now,
        "content_revised": now,
        "metadata_revised": now,
        "source_ids": body.get("derived", {}).get("source_ids"),
        "evict_key": rank_key(body["importance"], number),
        "embedder": at.settings.embedder,
    }
