"""Ids: uuid5 over compact UTF-8 JSON arrays, so no two keys can ever share one. Golden files pin their bytes."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import lru_cache
from uuid import NAMESPACE_OID, uuid5

import orjson

from afterturn.schemas.commands import Collect, Command, TurnCompleted
from afterturn.schemas.scope import Scope

NAMESPACE = uuid5(NAMESPACE_OID, "afterturn")
EPOCH_SHIFT = 44
"""rev = epoch · 2^44 + offset: a later epoch is after every offset of an earlier one."""

MAX_REV = 512 << EPOCH_SHIFT
"""Beyond every rev; below 2^53, where stores compare integers exactly."""

_REMEMBERED = 8_192
"""Ids of threads and tenants that are kept: each turn asks for its own several times."""

CommandKey = list[object]
"""A command's idempotency key: (scope, thread, turn_id) of a turn, (source, id) of any other command."""


def point_id(kind: str, tenant: str | None, key: object, ordinal: int) -> str:
    """The id of a point: ``uuid5(NAMESPACE, [kind, tenant, key, ordinal])``."""
    return str(uuid5(NAMESPACE, orjson.dumps([kind, tenant, key, ordinal]).decode()))


def turn_key(scope: Scope, thread: str, turn_id: str) -> CommandKey:
    """The idempotency key of a turn."""
    return [scope.pairs(), thread, turn_id]


def command_key(command: Command, ce_source: str, ce_id: str) -> CommandKey:
    """The idempotency key of any command."""
    if isinstance(command, TurnCompleted):
        return turn_key(command.scope, command.thread, command.turn_id)
    return [ce_source, ce_id]


def memory_id(tenant: str, key: CommandKey, ordinal: int) -> str:
    """The id of a command's point; ordinal 0 is its receipt, whether that is a memory or not."""
    return point_id("memory", tenant, key, ordinal)


def memory_ids(tenant: str, key: CommandKey, count: int) -> list[str]:
    """The ids of a command's first ``count`` points."""
    return [memory_id(tenant, key, ordinal) for ordinal in range(count)]


def receipt_id(command: Command, ce_source: str, ce_id: str) -> str:
    """The id of the point that proves that a command was applied."""
    tenant = "" if isinstance(command, Collect) else command.tenant
    return memory_id(tenant, command_key(command, ce_source, ce_id), 0)


def thread_id(tenant: str, scope: Scope, thread: str) -> str:
    """The id of a thread's state point."""
    return _thread_id(tenant, tuple(scope.pairs()), thread)


def key_id(tenant: str, scope: Scope, key: str) -> str:
    """The id of the state of a publisher's own key."""
    return point_id("key", tenant, [scope.pairs(), key], 0)


@lru_cache(maxsize=_REMEMBERED)
def tenant_id(tenant: str) -> str:
    """The id of a tenant's state point."""
    return point_id("tenant", tenant, [], 0)


def checkpoint_id(partition: int) -> str:
    """The id of a partition's checkpoint."""
    return point_id("checkpoint", None, [partition], 0)


def event_id(ce_id: str, epoch: int, partition: int, offset: int) -> str:
    """The id of a command's outcome event: the same however often it is published again."""
    return str(uuid5(NAMESPACE, orjson.dumps(["event", ce_id, epoch, partition, offset]).decode()))


def rev_of(epoch: int, offset: int) -> int:
    """A turn-log position as one number, ordered over epochs."""
    return (epoch << EPOCH_SHIFT) + offset


def position_of(rev: int) -> tuple[int, int]:
    """The (epoch, offset) of a rev."""
    return rev >> EPOCH_SHIFT, rev & ((1 << EPOCH_SHIFT) - 1)


def digest_of(parts: Sequence[object]) -> str:
    """32 hex digits that differ where a command's content differs; never its content."""
    return hashlib.blake2b(orjson.dumps(list(parts)), digest_size=16).hexdigest()


def content_digest(command: Command) -> str:
    """What tells a repeated command from another one under the same key."""
    if isinstance(command, TurnCompleted):
        return digest_of([[m.role, m.author, m.content] for m in command.messages])
    return digest_of([command.TYPE, command.model_dump(mode="json", exclude_none=True)])


@lru_cache(maxsize=_REMEMBERED)
def _thread_id(tenant: str, pairs: tuple[tuple[str, str], ...], thread: str) -> str:
    return point_id("thread", tenant, [pairs, thread], 0)
