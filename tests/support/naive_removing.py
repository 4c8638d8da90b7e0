"""The naive model of what removes: forgetting by ids or a filter, erasing a tenant, collecting what nobody asks for."""

from __future__ import annotations

from datetime import datetime

from support.naive_points import Applying, Ended, Payload, is_live, rev_of

# Forgetting


def forget(at: Applying) -> Ended:
    """The named or selected memories go, and what was made from them alone."""
    live = at.live()
    ids = list(dict.fromkeys(at.body.get("ids", [])))
    if "filter" in at.body:
        ids = [i for i, p in live.items() if _selects(at.body["filter"], p)]
    removed = [i for i in ids if i in live]
    if 2 * len(removed) > len(live) and not at.body["confirm"]:
        return at.left_out("unconfirmed")
    for i in removed:
        at.remove(i, "deleted")
    derived = cascade(at, set(ids))
    if removed or derived:
        at.put_tenant(at.tenant_state())
    counts = {"forgotten": len(removed), "derived": derived, "unknown": len(ids) - len(removed)}
    return at.applied("memory.forgotten.v1", counts)


def cascade(at: Applying, gone: set[str]) -> int:
    """What was made from these alone goes too, and what was made from that; how many."""
    derived = 0
    while gone:
        gone = {i for i, p in at.live().items() if _was_made_from(at, p, gone)}
        for i in gone:
            at.remove(i, "deleted", cascade=True)
        derived += len(gone)
    return derived


def _was_made_from(at: Applying, memory: Payload, gone: set[str]) -> bool:
    """Whether a memory rests on something that is gone, and on nothing that is there."""
    sources = [*memory.get("source_ids", []), *memory.get("derived_from", [])]
    return any(s in gone for s in sources) and not any(is_live(at.points.get(s)) for s in sources)


def _selects(chosen: Payload, memory: Payload) -> bool:
    scope = memory.get("scope", {})
    if any(scope.get(dimension) != value for dimension, value in chosen.get("scope", {}).items()):
        return False
    for name, field in (("threads", "thread"), ("kinds", "kind"), ("authors", "author")):
        if name in chosen and memory.get(field) not in chosen[name]:
            return False
    if "tags_any" in chosen and not any(tag in chosen["tags_any"] for tag in memory.get("tags", [])):
        return False
    occurred = datetime.fromisoformat(memory["occurred_at"])
    if "since" in chosen and occurred < datetime.fromisoformat(chosen["since"]):
        return False
    return "until" not in chosen or occurred < datetime.fromisoformat(chosen["until"])


# Erasing


def erase(at: Applying) -> Ended:
    """All that the tenant has loses its content; what is known of its commands stays known."""
    tenant = at.said.tenant
    live, number = len(at.live()), at.tenant_state()["number"]
    for i, point in list(at.points.items()):
        if point["tenant"] != tenant or point["point"] == "tenant":
            continue
        at.put_born(i, _erased(point), point["born"])
    at.put_tenant({"point": "tenant", "tenant": tenant, "number": number, "erased_at": at.rev})
    return at.applied("tenant.erased.v1", {"erased": live})


def _erased(point: Payload) -> Payload:
    if point["point"] == "receipt":
        left = {name: value for name, value in point.items() if name != "digest"}
    elif point["point"] == "memory":
        left = {name: point.get(name) for name in ("point", "tenant", "ordinal", "outcome")}
    else:
        left = {name: point[name] for name in ("point", "tenant")}
    return left | {"status": "erased"}


# Collecting


def collect(at: Applying) -> Ended:
    """Receipts and tombstones that the log can't ask for any more are deleted, then states that stand for nothing."""
    below = rev_of(at.settings, at.body["below"])
    stones = [i for i, p in at.points.items() if _is_over(p, below) and _is_whole(at, p, below)]
    for i in stones:
        del at.points[i]
    memories = [p for p in at.points.values() if p["point"] == "memory"]
    for i, point in list(at.points.items()):
        old = point["rev"] < below
        if (old and point["point"] == "thread" and not any(_is_in(m, point) for m in memories)) or (
            old and point["point"] == "key" and point.get("current") not in at.points
        ):
            del at.points[i]
    return at.applied("log.collected.v1", {})


def _is_over(point: Payload, below: int) -> bool:
    """Whether a point is a receipt or a tombstone that the log can't ask for."""
    kind = point["point"] == "receipt" or (point["point"] == "memory" and not is_live(point))
    return kind and point["born"] < below and point["rev"] < below


def _is_whole(at: Applying, point: Payload, below: int) -> bool:
    """Whether a point is no receipt of something that stays."""
    if point["point"] == "receipt" or point["ordinal"] != 0:
        return True
    others = [
        p
        for p in at.points.values()
        if p["point"] == "memory" and (p["tenant"], p["born"]) == (point["tenant"], point["born"]) and p is not point
    ]
    return all(_is_over(p, below) for p in others)


def _is_in(memory: Payload, thread: Payload) -> bool:
    """Whether a memory, or its tombstone, is of a thread; an erased thread has lost its name, and nothing is of it."""
    if thread.get("status") == "erased":
        return False
    place = (thread["tenant"], thread.get("scope", {}), thread["thread"])
    return (memory["tenant"], memory.get("scope", {}), memory.get("thread")) == place
