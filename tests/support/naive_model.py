"""The naive model: what a partition's log must leave in the store, by the plainest possible code.

Written from the design and the contract alone, without a look at the recorder, so that both can be compared. Every
command looks through all points again; nothing is kept but the points. Where a digest is asked for, a readable form of
what it covers stands in its place (``digest`` of a payload): comparing means that the recorder's digests are equal
exactly where these are.

What design and contract leave open, and is settled here as the recorder does: a message's tags come before its turn's,
its data over its turn's; ``part`` and ``parts`` are there also where a message is one part; the count ``parts`` of an
outcome is of memories that are a part of a longer message; a misrouted command of a tenant has an event and no receipt;
a dead letter without a tenant has neither; of two reasons to skip a turn the order is off, scope, blank; to skip a
fact: off, scope, stale. What a command rests on is asked first: erased, then stale.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from afterturn.schemas.settings import FoldSettings
from afterturn.streams.records import Record
from support.naive_decoding import TURN, Poison, read
from support.naive_points import Applying, Ended, Payload, naive_id, rev_of
from support.naive_recording import remember, turn
from support.naive_removing import collect, erase, forget
from support.naive_settings import configure, pin
from support.naive_tending import consolidate, review, revise

__all__ = ["Ended", "Expected", "Payload", "naive_fold", "naive_id"]

_LAST_MS = 253_402_300_799_999
_COMMANDS: dict[str, Callable[[Applying], Ended]] = {
    TURN: turn,
    "memory.remember.v1": remember,
    "memory.forget.v1": forget,
    "memory.revise.v1": revise,
    "memory.review.v1": review,
    "memory.consolidate.v1": consolidate,
    "memory.pin.v1": pin,
    "tenant.configure.v1": configure,
    "tenant.erase.v1": erase,
    "log.collect.v1": collect,
}


@dataclass(frozen=True)
class Expected:
    """The points by id (all but the checkpoint), how each record ended, and the checkpoint."""

    points: dict[str, Payload]
    ended: list[Ended]
    checkpoint: Payload | None


def naive_fold(
    records: Sequence[Record],
    settings: FoldSettings,
    *,
    before: Mapping[str, Payload] | None = None,
    dead: Mapping[int, str] | None = None,
) -> Expected:
    """What the records leave behind, starting from the points ``before``; ``dead``: what was decided at run time."""
    points = {i: dict(p) for i, p in (before or {}).items()}
    ended, checkpoint = [], None
    for record in records:
        ended.append(_fold(points, record, settings, (dead or {}).get(record.offset)))
        checkpoint = {
            "point": "checkpoint",
            "partition": record.partition,
            "next": rev_of(settings, record.offset + 1),
            "key": (record.key or b"").hex()[:512],
            "time": max(record.timestamp_ms, 0),
        }
    return Expected(points, ended, checkpoint)


def _fold(points: dict[str, Payload], record: Record, settings: FoldSettings, dead: str | None) -> Ended:
    try:
        said = read(record, settings)
    except Poison as poison:
        return Ended("dead_lettered", poison.reason)
    at = Applying(points, replace(record, timestamp_ms=min(max(record.timestamp_ms, 0), _LAST_MS)), settings, said)
    if said.misrouted:
        return Ended("dead_lettered", "misrouted", at.skipped("dead_letter").event)
    earlier = points.get(at.id(0))
    if earlier is not None and not _is_replay_of(at, earlier):
        if dead is not None:
            return Ended("dead_lettered", dead, at.skipped("dead_letter").event)
        same = earlier.get("digest") in (None, at.digest())
        return at.skipped("duplicate" if same else "conflict")
    overtaken = _overtaken(at)
    if dead is not None:
        return at.died(dead, replayable=not overtaken)
    if overtaken:
        return at.left_out(overtaken)
    if "collection" in at.body or at.body.get("mode") == "ask":
        return at.died("unsupported")
    return _COMMANDS[said.type](at)


def _is_replay_of(at: Applying, earlier: Payload) -> bool:
    return bool(earlier.get("dead")) and earlier["born"] == at.said.original_rev


def _overtaken(at: Applying) -> str | None:
    """What has happened since to what a command rests on."""
    derived = at.body.get("derived")
    if at.said.type == "memory.consolidate.v1":
        derived = {"based_on": at.body["based_on"], "source_ids": []}
    erased_at = at.tenant_state().get("erased_at")
    if derived and erased_at is not None and derived["based_on"] < erased_at:
        return "erased"
    stood = None if derived else at.said.original_rev
    if stood is not None and erased_at is not None and stood <= erased_at:
        return "erased"
    if derived and any(source not in at.live() for source in derived["source_ids"]):
        return "stale"
    return None
