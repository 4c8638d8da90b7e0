"""From a tenant's memories to groups that are due. Each memory has one policy, so that no two summaries compete for it.

The exact scope is part of every group, and so is the level: a summary is summarised with its like, and what it says is
not worn down by each new batch.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from pydantic import JsonValue

from afterturn.consumers.consolidator.grouping.policies import (
    CONTEXT_TOKENS,
    POLICY_NAMES,
    GroupPolicy,
    Policies,
    PolicyName,
)
from afterturn.consumers.consolidator.grouping.sourced import Sourced, in_order, is_free, one_tenant, when
from afterturn.schemas.budget import chars_for
from afterturn.schemas.ids import digest_of
from afterturn.schemas.parts import Entity
from afterturn.schemas.points import Memory
from afterturn.schemas.scope import Scope
from afterturn.schemas.types import is_identifier

UNKNOWN = "unknown"
"""The key of user facts without a user, and of tasks of which nobody said how they ended."""


@dataclass(frozen=True)
class Group:
    """Memories that one summary can take the place of, oldest first; they share tenant, scope and level."""

    policy: PolicyName
    key: str
    scope: Scope
    sources: tuple[Sourced, ...]

    @property
    def tenant(self) -> str:
        """Whose they are."""
        return self.sources[0].memory.tenant


@dataclass(frozen=True)
class Grouped:
    """The groups of one pass, the oldest first, and by policy how many due memories are left for a later one."""

    groups: tuple[Group, ...]
    surplus: Mapping[PolicyName, int]


class _Place(NamedTuple):
    """Where a memory belongs: what differs in any of these is never summarised together."""

    policy: PolicyName
    key: str
    scope: tuple[tuple[str, str], ...]
    level: int


def group(
    memories: Iterable[Sourced], policies: Policies, now: datetime, context_tokens: int = CONTEXT_TOKENS
) -> Grouped:
    """Group a tenant's memories; at most one group a place, the rest waits.

    Args:
        memories: of one tenant, in any order; threads should be whole, since their newest memory decides.
        context_tokens: what the model reads at once (> 0).

    Raises:
        ValueError: the memories are of several tenants.
    """
    given = in_order(memories)
    one_tenant(given)
    found: list[Group] = []
    surplus: Counter[PolicyName] = Counter()
    chars = chars_for(context_tokens) * 4 // 5
    for place, due in _due(given, policies, now).items():
        policy = policies.of(place.policy)
        if len(due) < policy.min_sources:
            continue
        taken = _packed(due, policy, chars)
        surplus[place.policy] += len(due) - len(taken)
        if taken:
            found.append(Group(place.policy, place.key, taken[0].memory.scope, taken))
    rank = {source.id: number for number, source in enumerate(given)}
    found.sort(key=lambda each: rank[each.sources[0].id])
    return Grouped(tuple(found), {name: count for name, count in surplus.items() if count})


def _due(given: Iterable[Sourced], policies: Policies, now: datetime) -> dict[_Place, list[Sourced]]:
    """What may be summarised and is old enough, by where it belongs; of a thread all or nothing."""
    places: dict[_Place, list[Sourced]] = defaultdict(list)
    lively: set[tuple[str, tuple[tuple[str, str], ...]]] = set()
    for source in given:
        memory = source.memory
        place = place_of(memory)
        if place is None:
            continue
        policy = policies.of(place.policy)
        if not _older(memory, now, policy):
            if place.policy == "thread":
                lively.add((place.key, place.scope))
            continue
        if policy.enabled and place.level < policy.max_level and is_free(memory, now):
            places[place].append(source)
    return {
        place: sources
        for place, sources in places.items()
        if place.policy != "thread" or (place.key, place.scope) not in lively
    }


def _older(memory: Memory, now: datetime, policy: GroupPolicy) -> bool:
    at = when(memory)
    return at is not None and now - at >= timedelta(seconds=policy.older_than_s)


def _packed(due: Iterable[Sourced], policy: GroupPolicy, chars: int) -> tuple[Sourced, ...]:
    """The oldest that the model can read together, up to the maximum; nothing where the minimum doesn't fit anywhere.

    Where a long memory would leave too few, the older ones before it wait: it must not hold up all that come after.
    """
    taken: deque[Sourced] = deque()
    size = 0
    for source in due:
        length = len(source.memory.content or "")
        if length > chars:
            continue
        if size + length > chars and len(taken) >= policy.min_sources:
            break
        while size + length > chars:
            size -= len(taken.popleft().memory.content or "")
        taken.append(source)
        size += length
        if len(taken) == policy.max_sources:
            break
    return tuple(taken) if len(taken) >= policy.min_sources else ()


def place_of(memory: Memory) -> _Place | None:
    """Where a memory belongs, if anywhere: what is of a custom type is never summarised."""
    found = _belongs(memory)
    if found is None:
        return None
    policy, key = found
    return _Place(policy, key if is_identifier(key) else digest_of([key]), tuple(memory.scope.pairs()), memory.level)


def _belongs(memory: Memory) -> tuple[PolicyName, str] | None:
    if memory.level and memory.source_ids:
        return _as_before(memory.data)
    match memory.type:
        case "conversation" if memory.thread is not None:
            return "thread", memory.thread
        case "task":
            return "outcome", _success(memory.data.get("success"))
        case "user_fact":
            return "user", memory.scope.user or UNKNOWN
        case "knowledge" if memory.source is not None:
            return "source", f"{memory.source.type}:{memory.source.id}"
    return _by_kind(memory)


def _as_before(data: Mapping[str, JsonValue]) -> tuple[PolicyName, str] | None:
    """A summary belongs where what it was made of did; weeks are not summarised again."""
    key = data.get("group")
    policy: PolicyName | None = next(
        (name for name in POLICY_NAMES if name == data.get("policy") and name != "week"), None
    )
    return (policy, key) if policy is not None and isinstance(key, str) else None


def _by_kind(memory: Memory) -> tuple[PolicyName, str] | None:
    if memory.kind == "episodic" and memory.type != "conversation":
        return _by_week(memory)
    about = _about(memory.entities)
    if memory.kind == "semantic" and memory.type in (None, "entity") and about is not None:
        return "entity", about
    return None


def _by_week(memory: Memory) -> tuple[PolicyName, str] | None:
    """The ISO week, in UTC; none for what is itself made of others."""
    at = when(memory)
    if at is None or memory.source_ids or memory.derived_from:
        return None
    year, week, _ = at.astimezone(UTC).isocalendar()
    return "week", f"{year}-W{week:02}"


def _about(entities: Iterable[Entity]) -> str | None:
    """The known entity a memory speaks of: its subject, else the first it mentions."""
    known = [entity for entity in entities if entity.id is not None]
    subjects = [entity for entity in known if entity.role == "subject"]
    return next((entity.id for entity in subjects or known), None)


def _success(value: JsonValue) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return value if isinstance(value, str) and value else UNKNOWN
