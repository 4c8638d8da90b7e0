"""What the document shows of each request and answer."""

from __future__ import annotations

from typing import Any

Table = dict[str, Any]

ASK: Table = {
    "text": "Where does Ada want to travel in spring?",
    "scope": {"user": "ada"},
    "since": "-90d",
    "limit": 10,
    "max_tokens": 1_000,
}
ANSWER: Table = {
    "memories": [
        {
            "id": "5b0c7c2e-5d0e-5b1f-9a53-0f4f5c3c1f10",
            "text": "I would love to see the cherry trees in Kyoto.",
            "kind": "episodic",
            "type": "conversation",
            "author": "Ada",
            "role": "user",
            "thread": "trips",
            "turn_id": "17",
            "position": 34,
            "occurred_at": "2026-01-31T09:30:00Z",
            "importance": 0.5,
            "confidence": 1.0,
            "tags": [],
            "found_by": ["vector", "keyword"],
            "score": 1.62,
            "in_text": True,
        }
    ],
    "text": "[31 January 2026, 09:30]\nAda: I would love to see the cherry trees in Kyoto.",
    "tokens": 19,
    "degraded": [],
    "took_ms": 4.2,
}
TURN: Table = {
    "scope": {"user": "ada"},
    "thread": "trips",
    "turn_id": "17",
    "occurred_at": "2026-01-31T09:30:00Z",
    "messages": [
        {"role": "user", "author": "Ada", "content": "I would love to see the cherry trees in Kyoto."},
        {"role": "assistant", "content": "They bloom there from late March to early April."},
    ],
}

ID = "5b0c7c2e-5d0e-5b1f-9a53-0f4f5c3c1f10"
TOKEN = f"0-3-1042-{ID}-87c2644e3a3ab106"
ACCEPTED: Table = {
    "status": "accepted",
    "token": TOKEN,
    "event_id": "0d4f1a52-8a55-4e39-8a0e-3c2a7c5b9e77",
}
WRITTEN: Table = {
    "status": "visible",
    "token": TOKEN,
    "event": "memory.recorded",
    "counts": {"added": 2, "evicted": 0, "superseded": 0, "parts": 0},
}
FACT: Table = {
    "content": "Ada is allergic to peanuts.",
    "scope": {"user": "ada"},
    "type": "user_fact",
    "key": "allergies",
    "tags": ["health"],
    "importance": 0.9,
}
FORGET: Table = {"filter": {"threads": ["trips"], "until": "2026-01-01T00:00:00Z"}, "dry_run": True}
WOULD_FORGET: Table = {"would_forget": 12, "of": 340, "needs_confirm": False}
SETTINGS: Table = {"bounds": {"max_memories": 5_000}, "required_scope": ["user"]}
ERASE: Table = {"confirm": "acme", "reason": "the customer left"}
MEMORY: Table = {
    "id": ID,
    "status": "active",
    "kind": "semantic",
    "type": "user_fact",
    "text": "Ada is allergic to peanuts.",
    "scope": {"user": "ada"},
    "key": "allergies",
    "tags": ["health"],
    "data": {},
    "entities": [],
    "source": {"type": "tool", "id": "http"},
    "source_ids": [],
    "derived_from": [],
    "importance": 0.9,
    "confidence": 1.0,
    "decay": 0.0,
    "reinforce_count": 0,
    "level": 0,
    "pinned": False,
    "occurred_at": "2026-01-31T09:30:00Z",
    "recorded_at": "2026-01-31T09:30:00Z",
}
PAGE: Table = {
    "memories": [MEMORY],
    "total": 340,
    "total_exact": True,
    "limit": 1,
    "max_limit": 1_000,
    "cursor": "WyI5",
}
THREAD: Table = {
    "thread": "trips",
    "scope": {"user": "ada"},
    "messages": [
        {
            "position": 34,
            "ids": [ID],
            "text": "I would love to see the cherry trees in Kyoto.",
            "status": "active",
            "role": "user",
            "author": "Ada",
            "turn_id": "17",
            "occurred_at": "2026-01-31T09:30:00Z",
            "tags": [],
        },
        {"position": 35, "removed": "deleted", "ids": [], "tags": []},
    ],
    "total": 36,
    "limit": 50,
    "max_limit": 200,
}
STATS: Table = {
    "tenant": "acme",
    "scope": {},
    "memories": 340,
    "by_status": {"active": 331, "superseded": 9},
    "by_kind": {"episodic": 300, "semantic": 40},
    "by_type": {"conversation": 300, "user_fact": 40},
    "pinned": 3,
    "bounds": {"max_memories": 10_000},
}
TENANTS: Table = {
    "tenants": [{"tenant": "acme", "memories": 340, "episodes": 300, "pinned": 3, "partition": 3}],
    "states": 1,
    "limit": 50,
    "max_limit": 1_000,
}
EVENT = (
    "id: 3-1042\nevent: memory.recorded.v1\n"
    'data: {"specversion":"1.0","type":"memory.recorded.v1","data":{"tenant":"acme","added":2}}\n\n'
)
PROBLEM: Table = {
    "error": {"field": "messages.0.role", "problem": "Input should be 'user', 'assistant', 'system' or 'tool'"}
}
ME: Table = {"rights": ["read", "write"], "tenants": ["acme"], "scope": {"user": "ada"}}
