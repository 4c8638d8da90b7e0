"""Points for tests of the store: whole memories with short texts and small vectors."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import NAMESPACE_OID, uuid4, uuid5

from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.points import Memory, StoredPoint, evict_key
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import FoldSettings

DIMENSION = 4
AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


def pid(name: str) -> str:
    """A point's id from any name."""
    return str(uuid5(NAMESPACE_OID, name))


def fold_settings(**fields: object) -> FoldSettings:
    """Settings of a collection no other test has."""
    given: dict[str, object] = {
        "embedder": f"test-{uuid4().hex}",
        "dimension": DIMENSION,
        "topic": "turns",
        "partitions": 12,
        "group": "recorder",
    }
    return FoldSettings.model_validate(given | fields)


def memory(tenant: str, number: int, rev: int, **fields: Any) -> Memory:
    """A live message of a tenant; `number` is also its position."""
    given: dict[str, Any] = {
        "partition": 0,
        "born": rev,
        "rev": rev,
        "tenant": tenant,
        "status": "active",
        "ordinal": 0,
        "evict_key": evict_key(0.5, number),
        "scope": Scope(user="ann"),
        "kind": "episodic",
        "type": "conversation",
        "content": f"message {number}",
        "chars": len(f"message {number}"),
        "thread": "t1",
        "turn_id": f"turn {number}",
        "position": number,
        "role": "user",
        "author": "Ann",
        "occurred_at": AT + timedelta(minutes=number),
        "importance": 0.5,
        "confidence": 1.0,
    }
    return Memory(**(given | fields))


def tombstone(tenant: str, number: int, rev: int, *, born: int) -> Memory:
    """What is left of a removed message."""
    return Memory(
        partition=0, born=born, rev=rev, tenant=tenant, status="evicted", ordinal=0, evict_key=evict_key(0.5, number)
    )


def put(
    name: str,
    point: StoredPoint,
    dense: list[float] | None = None,
    words: dict[int, float] | None = None,
) -> PointWrite:
    """A point to write under a name; `words` are token ids and weights."""
    sparse = (sorted(words), [words[token] for token in sorted(words)]) if words else None
    return PointWrite(pid(name), point, dense, sparse)
