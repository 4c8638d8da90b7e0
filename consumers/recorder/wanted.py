"""What a batch reads: the points its commands name, and how many eviction candidates. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from afterturn.consumers.recorder.decoding import Arrival
from afterturn.consumers.recorder.fold.tenants import bounds_of
from afterturn.consumers.recorder.fold.turns import count_parts, replaced_ids
from afterturn.schemas.commands import Command, Consolidate, Forget, Pin, Remember, Review, Revise, TurnCompleted
from afterturn.schemas.ids import key_id, memory_id, tenant_id, thread_id, turn_key
from afterturn.schemas.points import KeyState, Memory, StoredPoint, TenantState
from afterturn.schemas.settings import FoldSettings


def ids_of(batch: Sequence[Arrival]) -> set[str]:
    """The points a batch names: receipts, the states of its tenants, threads and keys, and memories by their ids."""
    return {id_ for arrival in batch for id_ in _named(arrival)}


def _named(arrival: Arrival) -> Iterator[str]:
    yield arrival.receipt
    if arrival.tenant:
        yield tenant_id(arrival.tenant)
    match arrival.command:
        case TurnCompleted() as turn:
            yield thread_id(turn.tenant, turn.scope, turn.thread)
            if turn.replaces is not None:
                yield memory_id(turn.tenant, turn_key(turn.scope, turn.thread, turn.replaces), 0)
        case Remember() as fact:
            if fact.key is not None:
                yield key_id(fact.tenant, fact.scope, fact.key)
            if fact.derived is not None:
                yield from fact.derived.source_ids
        case Revise(derived=derived) if derived is not None:
            yield from derived.source_ids
        case _:
            pass
    yield from named_memories(arrival.command)


def named_memories(command: Command) -> Sequence[str]:
    """The memories a command names, to change them."""
    match command:
        case Forget() | Pin() | Review():
            return command.ids or ()
        case Revise():
            return [change.id for change in command.changes]
        case Consolidate():
            return [source.id for source in command.sources]
        case _:
            return ()


def ids_behind(points: Mapping[str, StoredPoint], batch: Sequence[Arrival]) -> set[str]:
    """The points that those a batch names lead to: memories of replaced turns, and those its keys stand for.

    What is found may lead on: a candidate to the state of its key, and that to the memory it stands for.
    """
    ids: set[str] = set()
    for arrival in batch:
        match arrival.command:
            case TurnCompleted() as turn:
                ids.update(replaced_ids(points.get, turn))
            case Remember(key=str() as key) as fact:
                ids.update(_under_key(points, key_id(arrival.tenant, fact.scope, key)))
            case Review() as review:
                for candidate in (points.get(id_) for id_ in review.ids):
                    if isinstance(candidate, Memory) and candidate.key is not None:
                        ids.update(_under_key(points, key_id(candidate.tenant, candidate.scope, candidate.key)))
            case _:
                pass
    return ids - points.keys()


def _under_key(points: Mapping[str, StoredPoint], key: str) -> Iterator[str]:
    yield key
    state = points.get(key)
    if isinstance(state, KeyState) and state.current is not None:
        yield state.current


def forgotten_ids(batch: Sequence[Arrival]) -> dict[str, set[str]]:
    """The ids a batch forgets or rejects, by tenant: what was made from them may have to go too."""
    ids: dict[str, set[str]] = {}
    for arrival in batch:
        match arrival.command:
            case Forget(ids=tuple() as named) | Review(ids=named, decision="reject"):
                ids.setdefault(arrival.tenant, set()).update(named)
            case _:
                pass
    return ids


def tail_sizes(
    points: Mapping[str, StoredPoint], batch: Sequence[Arrival], fold: FoldSettings, strays: Mapping[str, StoredPoint]
) -> tuple[dict[str, int], dict[str, int]]:
    """How many eviction candidates to read of each tenant the batch may bring beyond its bounds: of all, of episodes.

    As many as the batch adds and names (what it pins or finds more important no longer leaves), and one more for each
    stray, since a stray may take a candidate's place in the read.
    """
    adds: Counter[str] = Counter()
    named: Counter[str] = Counter()
    for arrival in batch:
        state = points.get(tenant_id(arrival.tenant))
        adds[arrival.tenant] += _added(arrival, state, fold)
        named[arrival.tenant] += len(named_memories(arrival.command))
    for point in strays.values():
        named[point.tenant] += 1
    every: dict[str, int] = {}
    episodes: dict[str, int] = {}
    for tenant, count in adds.items():
        state = points.get(tenant_id(tenant))
        if not count or not isinstance(state, TenantState):
            continue
        bounds = bounds_of(state, fold)
        if (over := state.live + count - bounds.max_memories) > 0:
            every[tenant] = max(count, over) + named[tenant]
        if bounds.max_episodes is not None and (over := state.episodes + count - bounds.max_episodes) > 0:
            episodes[tenant] = max(count, over) + named[tenant]
    return every, episodes


def _added(arrival: Arrival, state: StoredPoint | None, fold: FoldSettings) -> int:
    match arrival.command:
        case TurnCompleted() as turn:
            recording = state.settings.recording if isinstance(state, TenantState) else None
            return count_parts(turn, recording or fold.recording)
        case Remember() | Consolidate():
            return 1
        case _:
            return 0
