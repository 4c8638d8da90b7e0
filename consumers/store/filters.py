"""Filters, as the JSON the store is sent: building the client's models for them would cost more than the search.

A test checks that each is one the client's own models accept.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, get_args

from afterturn.consumers.store.search import Search, Window
from afterturn.schemas.parts import LIVE, Status
from afterturn.schemas.parts import Filter as Selection
from afterturn.schemas.scope import DIMENSIONS, Scope

Condition = dict[str, Any]
Filter = dict[str, Any]
_LIVE = sorted(LIVE)


def match(key: str, value: str | int) -> Condition:
    """The field is this value, or a list that holds it."""
    return {"key": key, "match": {"value": value}}


def any_of(key: str, values: Iterable[str]) -> Condition:
    """The field is one of these, or a list that holds one; none of them matches nothing."""
    return {"key": key, "match": {"any": list(values)}}


def bounds(key: str, *, gte: float | None = None, lt: float | None = None) -> Condition:
    """A number from ``gte`` to below ``lt``."""
    return {"key": key, "range": _given(gte=gte, lt=lt)}


def times(key: str, **limits: datetime | None) -> Condition:
    """A time within ``gte``, ``gt``, ``lte``, ``lt``, those that are given."""
    return {"key": key, "range": {name: moment.isoformat() for name, moment in _given(**limits).items()}}


def absent(key: str) -> Condition:
    """The field isn't there."""
    return {"is_empty": {"key": key}}


def has_id(ids: Iterable[str]) -> Condition:
    """The point is one of these."""
    return {"has_id": list(ids)}


def one_of(*conditions: Condition) -> Filter:
    """At least one of the conditions holds."""
    return {"should": list(conditions)}


def all_of(*conditions: Condition) -> Filter:
    """Every condition holds."""
    return {"must": list(conditions)}


def tenant_is(tenant: str) -> Condition:
    """The tenant; also the corpus of its lexical weights."""
    return match("tenant", tenant)


def live() -> Condition:
    """Candidate, active or superseded."""
    return any_of("status", _LIVE)


def not_pinned() -> Condition:
    """Not pinned: payloads leave ``pinned`` out where it is false. Engines differ in how they compare booleans."""
    return absent("pinned")


def unwritten(previous: int, next_: int) -> Filter:
    """What a batch may overwrite: the checkpoint it read or one on the way to its own, and any point not as new.

    Only the checkpoint has ``next``, only other points have ``rev``.
    """
    checkpoint = {"key": "next", "range": {"gte": previous, "lt": next_}}
    return one_of(checkpoint, bounds("rev", lt=next_))


def tail(tenant: str, first_rev: int, *, episodes: bool = False, above: int | None = None) -> Filter:
    """A tenant's memories (or episodes) that may have to leave, and those from ``first_rev`` on whatever they are.

    ``above``: only what ranks higher than this ``evict_key``.
    """
    leaving = all_of(live(), not_pinned())
    further = [match("kind", "episodic")] if episodes else []
    if above is not None:
        further.append(bounds("evict_key", gte=above + 1))
    return all_of(tenant_is(tenant), match("point", "memory"), one_of(leaving, bounds("rev", gte=first_rev)), *further)


def landed(checkpoint: str, tenants: Iterable[str], first_rev: int) -> Filter:
    """A checkpoint by its id, and every point of these tenants from ``first_rev`` on."""
    written = all_of(any_of("tenant", tenants), bounds("rev", gte=first_rev))
    return one_of(has_id([checkpoint]), written)


def born_at(tenant: str, rev: int) -> Filter:
    """What the command at this rev has made of a tenant's memories and receipts."""
    made = bounds("born", gte=rev, lt=rev + 1)
    return all_of(tenant_is(tenant), any_of("point", ("memory", "receipt")), made)


def forgotten(tenant: str, chosen: Selection | None, below: int) -> Filter:
    """A tenant's live memories that a command selects and hasn't written yet."""
    return all_of(tenant_is(tenant), match("point", "memory"), live(), bounds("rev", lt=below), *_selected(chosen))


def derived(tenant: str, ids: Iterable[str], first_rev: int) -> Filter:
    """A tenant's live memories made from any of these, and those written from ``first_rev`` on, as they are."""
    sources = list(ids)
    made = one_of(any_of("source_ids", sources), any_of("derived_from", sources))
    there = one_of(live(), bounds("rev", gte=first_rev))
    return all_of(tenant_is(tenant), match("point", "memory"), there, made)


def everything(tenant: str, kinds: Iterable[str], below: int) -> Filter:
    """A tenant's points of these kinds that a command hasn't written yet."""
    return all_of(tenant_is(tenant), any_of("point", kinds), bounds("rev", lt=below))


def changed_at(tenant: str, rev: int) -> Filter:
    """A tenant's memories that the command at this rev last changed."""
    return all_of(tenant_is(tenant), match("point", "memory"), bounds("rev", gte=rev, lt=rev + 1))


def collectable(partition: int, below: int) -> Filter:
    """A partition's receipts and tombstones from before a rev."""
    return all_of(match("partition", partition), *_old(below), _gone())


def states(partition: int, kind: str, below: int) -> Filter:
    """A partition's states of threads or keys that were last changed before a rev."""
    return all_of(match("partition", partition), match("point", kind), bounds("rev", lt=below))


def kept_beside(tenant: str, born: int, below: int) -> Filter:
    """What the command at this rev made of a tenant's memories and can't be collected yet."""
    made = all_of(tenant_is(tenant), match("point", "memory"), bounds("born", gte=born, lt=born + 1))
    return {**made, "must_not": [all_of(bounds("rev", lt=below), _gone())]}


def of_thread(tenant: str, scope: Scope, thread: str) -> Filter:
    """Every memory of a thread, removed or not."""
    return all_of(tenant_is(tenant), match("point", "memory"), match("thread", thread), *_exactly(scope))


def _old(below: int) -> list[Condition]:
    return [bounds("born", lt=below), bounds("rev", lt=below)]


def _gone() -> Filter:
    tombstone = all_of(match("point", "memory"), any_of("status", sorted(set(get_args(Status)) - LIVE)))
    return one_of(match("point", "receipt"), tombstone)


def _selected(chosen: Selection | None) -> list[Condition]:
    if chosen is None:
        return []
    wanted = {"thread": chosen.threads, "tags": chosen.tags_any, "kind": chosen.kinds, "author": chosen.authors}
    selected = [match(f"scope.{name}", value) for name, value in (chosen.scope.pairs() if chosen.scope else ())]
    selected += [any_of(key, values) for key, values in wanted.items() if values is not None]
    if chosen.since or chosen.until:
        selected.append(times("occurred_at", gte=chosen.since, lt=chosen.until))
    return selected


def searched(search: Search) -> list[Condition]:
    """Which memories a search may find: all of these hold."""
    return [
        tenant_is(search.tenant),
        match("point", "memory"),
        _status(search.statuses),
        *(match(f"scope.{dimension}", value) for dimension, value in search.scope),
        *_listed(search),
        *(match("tags", tag) for tag in search.tags_all or ()),
        *_bounded(search),
    ]


def _status(statuses: Sequence[str]) -> Condition:
    # Every memory of a tenant is tested: one value is tested in half the time of a list of one.
    if statuses == ("active",):
        return one_of(match("status", "active"), summarised())
    return match("status", statuses[0]) if len(statuses) == 1 else any_of("status", statuses)


def summarised() -> Condition:
    """A summary has taken its place: until it expires it is recalled beside that."""
    return {"must_not": [absent("summary")]}


def _listed(search: Search) -> list[Condition]:
    wanted = {
        "thread": search.threads,
        "author": search.authors,
        "role": search.roles,
        "kind": search.kinds,
        "type": search.types,
        "tags": search.tags_any,
    }
    listed = [any_of(key, values) for key, values in wanted.items() if values is not None]
    if search.exclude_threads:
        listed.append({"must_not": [any_of("thread", search.exclude_threads)]})
    return listed


def _bounded(search: Search) -> list[Condition]:
    bounded: list[Condition] = []
    if search.since or search.until:
        bounded.append(times("occurred_at", gte=search.since, lt=search.until))
    if search.min_importance is not None:
        bounded.append(bounds("importance", gte=search.min_importance))
    if search.min_confidence is not None:
        bounded.append(bounds("confidence", gte=search.min_confidence))
    if search.as_of is not None:
        bounded.append(_current(search.as_of))
    if search.where is not None:
        bounded.append(search.where)
    if search.without:
        bounded.append({"must_not": [has_id(search.without)]})
    return bounded


def _current(at: datetime) -> Filter:
    """What has not expired then, holds then and was not invalidated by then.

    Few memories have any of these times: what they must not be costs the store a third of what they may be.
    """
    moment = at.isoformat()
    passed = [{"key": key, "range": {"lte": moment}} for key in ("expires_at", "valid_to", "invalidated_at")]
    return {"must_not": [*passed, {"key": "valid_from", "range": {"gt": moment}}]}


def windows(wanted: Iterable[Window]) -> Filter:
    """The memories at these places of their threads; a thread of another scope is another thread.

    Each scope is named once for all its windows: conditions cost the store more than the points they let through.
    """
    by_scope: dict[Scope, list[Filter]] = {}
    for window in wanted:
        place = bounds("position", gte=window.first, lt=window.last + 1)
        by_scope.setdefault(window.scope, []).append(all_of(match("thread", window.thread), place))
    return one_of(*(all_of(*_exactly(scope), one_of(*places)) for scope, places in by_scope.items()))


def _exactly(scope: Scope) -> list[Condition]:
    return [_dimension(f"scope.{dimension}", getattr(scope, dimension)) for dimension in DIMENSIONS]


def _dimension(key: str, value: str | None) -> Condition:
    return absent(key) if value is None else match(key, value)


def _given(**values: Any) -> dict[str, Any]:  # noqa: ANN401 - numbers or times
    return {name: value for name, value in values.items() if value is not None}
