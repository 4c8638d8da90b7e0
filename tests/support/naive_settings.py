"""The naive model of what keeps and sets: pins, and a tenant's own settings."""

from __future__ import annotations

from typing import Any

from support.naive_decoding import written
from support.naive_points import Applying, Ended, Payload

_DEFAULTS: dict[str, Payload] = {
    "bounds": {"max_memories": 10_000},
    "recording": {"roles": ["user", "assistant"], "max_chars": 4_000, "long": "split"},
    "phases": {"recall": "on", "record": "on", "consolidate": "on"},
}


def _most_pins(bounds: tuple[int, int | None]) -> int:
    return min(most for most in bounds if most is not None) // 2


def pin(at: Applying) -> Ended:
    """Memories stay whatever the bound says, or no longer do."""
    wanted = at.body["pinned"]
    ids = list(dict.fromkeys(at.body["ids"]))
    changed = refused = unknown = 0
    for i in ids:
        memory = at.live().get(i)
        pins = sum(p.get("pinned", False) for p in at.live().values())
        if memory is None:
            unknown += 1
        elif memory.get("pinned", False) != wanted:
            if wanted and pins >= _most_pins(at.bounds()):
                refused += 1
                continue
            at.put(i, memory | {"pinned": wanted, "metadata_revised": written(at.time())})
            changed += 1
    if changed == 0 and refused > 0:
        return at.left_out("pin_limit")
    if changed == 0 and unknown == len(ids):
        return at.left_out("gone")
    if changed:
        at.put_tenant(at.tenant_state())
    name, other = ("pinned", "unpinned") if wanted else ("unpinned", "pinned")
    return at.applied("memory.pinned.v1", {name: changed, "refused": refused, "unknown": unknown}, **{other: 0})


def configure(at: Applying) -> Ended:
    """The fields it gives replace the tenant's own settings."""
    names = ("bounds", "required_scope", "ttl_s", "recording", "consolidation", "phases")
    given = {name: _without_defaults(name, at.body[name]) for name in names if name in at.body}
    if "bounds" in given:
        most = (at.body["bounds"]["max_memories"], at.body["bounds"].get("max_episodes"))
        if sum(p.get("pinned", False) for p in at.live().values()) > _most_pins(most):
            return at.left_out("pin_limit")
    state = at.tenant_state()
    at.put_tenant(state | {"settings": state["settings"] | given})
    return at.applied("tenant.configured.v1", {"evicted": at.keep_bound()})


def _without_defaults(name: str, value: Any) -> Any:
    if name not in _DEFAULTS:
        return value
    return {field: v for field, v in value.items() if v != _DEFAULTS[name].get(field)}
