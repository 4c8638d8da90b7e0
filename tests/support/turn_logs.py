"""Logs of one partition, drawn at random: all that can stand in one, with many collisions. One source for all tests.

Everything is drawn from a ``random.Random``: a seeded one for simulations, hypothesis's own for what it should shrink.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from typing import Any

from afterturn.schemas.points import TenantState
from afterturn.schemas.settings import Bounds, FoldSettings, Phases, Recording, TenantSettings
from afterturn.streams.partitioner import partition_for
from afterturn.streams.records import Record
from support.turn_log_commands import DRAWN, NOTHING, SCOPES, Place, body_of, names

TOPIC, PARTITION, PARTITIONS = "afterturn.turns", 0, 3
EPOCH_MS = 1_700_000_000_000
SETTINGS = FoldSettings(
    embedder="none",
    dimension=1,
    topic=TOPIC,
    partitions=PARTITIONS,
    group="recorder",
    bounds=Bounds(max_memories=4),
    recording=Recording(max_chars=500),
)
TURN = "turn.completed.v1"


def home(name: str) -> str:
    """A tenant of this name whose key belongs to the partition under test."""
    return next(n for i in range(100) if partition_for((n := f"{name}{i}").encode(), PARTITIONS) == PARTITION)


def away(name: str) -> str:
    """A tenant of this name whose key belongs to another partition."""
    return next(n for i in range(100) if partition_for((n := f"{name}{i}").encode(), PARTITIONS) != PARTITION)


TENANTS = (home("anna"), home("b\u00e9a"), home("\u5f20"))
OFF, SCOPED, SMALL, LARGE = home("off"), home("scoped"), home("small"), home("large")
STRANGER = away("stranger")
TEXTS = (
    "Good morning.", "What is it?", "Caf\u00e9 \U0001f44b\U0001f525", "\u6211\u559c\u6b22\u5317\u4eac\u70e4\u9e2d",
    "a\u0000b", "half an emoji \ud83d", "x",
)  # fmt: skip
BLANKS = ("", "   ", "\n\t", "\u200b", "\u00ad\u3164", "\u0000")
LONG = (
    "A sentence of some length. " * 30,
    "First part.\n\n" + "word " * 150,
    "x" * 1_201,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 150,
    "   " * 200 + "after much white space",
)
IMPORTANCES = (None, None, 0, 0.2, 0.29, 0.5, 0.9, 1)
AUTHORS = (None, "Ann", "Ben", 3)


def record(
    offset: int,
    body: object,
    *,
    kind: str = TURN,
    key: str | None = None,
    ce_id: str | None = None,
    extra: Sequence[tuple[str, bytes]] = (),
) -> Record:
    """A record as a publisher puts it on the log; the key is the body's tenant unless another is given."""
    tenant = str(body.get("tenant", "")) if isinstance(body, dict) else ""
    value = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {
        "ce_specversion": "1.0",
        "ce_id": ce_id or f"id-{offset}",
        "ce_source": "app",
        "ce_type": kind,
        "ce_time": "2026-01-31T09:30:00Z",
    }
    pairs = tuple((name, text.encode()) for name, text in headers.items())
    chosen = tenant if key is None else key
    return Record(TOPIC, PARTITION, offset, EPOCH_MS + 17 * offset, chosen.encode(), value, pairs + tuple(extra))


def turn(tenant: str = TENANTS[0], **fields: Any) -> dict[str, Any]:
    """A turn's body with one message, but for the fields given."""
    return {
        "tenant": tenant,
        "thread": "t1",
        "turn_id": "1",
        "occurred_at": "2025-07-25T02:00:00+09:00",
        "messages": [{"role": "user", "content": "Good morning."}],
        **fields,
    }


def configured() -> dict[str, TenantState]:
    """States of tenants that have settings of their own, as a later version's configure leaves them, by tenant."""
    settings = {
        OFF: TenantSettings(phases=Phases(record="off")),
        SCOPED: TenantSettings(required_scope=("user",), recording=Recording(roles=("user", "tool"), max_chars=500)),
        SMALL: TenantSettings(bounds=Bounds(max_memories=2), recording=Recording(max_chars=600, long="cut")),
        LARGE: TenantSettings(bounds=Bounds(max_memories=12, max_episodes=9)),
    }
    return {
        name: TenantState(partition=PARTITION, born=3, rev=3, tenant=name, settings=own)
        for name, own in settings.items()
    }


@dataclass(frozen=True)
class Mix:
    """How often, of a hundred records, what stands in a log; the rest are fresh turns. A share of 0 is none at all.

    ``long`` is of a hundred messages, ``replacing`` of a hundred fresh turns.
    """

    repeated: int = 10
    conflicting: int = 3
    other: int = 3
    poison: int = 4
    misrouted: int = 3
    replayed: int = 4
    facts: int = 16
    forgets: int = 7
    pins: int = 7
    consolidations: int = 6
    revisions: int = 6
    reviews: int = 4
    configures: int = 4
    erases: int = 1
    collects: int = 3
    long: int = 8
    replacing: int = 12
    tenants: tuple[str, ...] = (*TENANTS, TENANTS[0], TENANTS[0], OFF, SCOPED, SMALL, LARGE, LARGE, LARGE)


ALL = Mix()
BUSY = Mix(
    repeated=5, conflicting=1, other=1, poison=0, misrouted=0, facts=26, forgets=10, pins=8,
    consolidations=10, revisions=10, reviews=5, configures=4, erases=2,
    collects=4, tenants=(TENANTS[0], LARGE),
)  # fmt: skip
"""Few turns, and commands that meet each other's memories."""
Log = list[Record]


@dataclass(frozen=True)
class _Spot:
    """Where a record is drawn for: what stands before it, and at which offset it will."""

    rng: Random
    log: Log
    offset: int
    mix: Mix


_Draw = Callable[[_Spot], Record]


def draw_log(rng: Random, size: int, mix: Mix = ALL, first: int = 10) -> Log:
    """A log of so many records, from offset ``first`` on; now and then an offset is missing, as after a transaction.

    Most logs are of one to three of the mix's tenants, whose commands so meet each other.
    """
    log: Log = []
    offset = first
    few = tuple(rng.choice(mix.tenants) for _ in range(rng.choice((1, 2, 3, len(mix.tenants)))))
    mix = replace(mix, tenants=few)
    for _ in range(size):
        spot = _Spot(rng, log, offset, mix)
        log.append(_choice(spot)(spot))
        offset += 1 + (rng.randrange(12) == 0)
    return log


def _choice(at: _Spot) -> _Draw:
    shares: list[tuple[int, _Draw]] = [
        (at.mix.repeated if at.log else 0, _repeated),
        (at.mix.conflicting if at.log else 0, _conflicting),
        (at.mix.other, _other),
        (at.mix.poison, _poison),
        (at.mix.misrouted, _misrouted),
        (at.mix.replayed if at.log else 0, _replayed),
        *((getattr(at.mix, name), partial(_command, name=name)) for name in DRAWN),
    ]
    dice = at.rng.randrange(100)
    for share, draw in shares:
        if dice < share:
            return draw
        dice -= share
    return _fresh


def _fresh(at: _Spot) -> Record:
    rng = at.rng
    body = turn(
        rng.choice(at.mix.tenants),
        scope=rng.choice(SCOPES),
        thread=rng.choice(("t1", "t2", 5)),
        turn_id=rng.choice((at.offset, at.offset, at.offset, 1, 2)),
        messages=[_message(rng, at.mix) for _ in range(rng.choice((0, 1, 1, 2, 2, 3, 5)))],
    )
    if rng.randrange(8) == 0:
        body |= {"tags": ["Paris, France", "a"], "data": {"deep": {"n": 2**60}}, "unknown": "field"}
    if rng.randrange(8) == 0:
        body["run"] = {"id": "run-1", "outcome": "ok", "duration_ms": 12, "extra": 1}
    if rng.randrange(100) < at.mix.replacing:
        body["replaces"] = _replaced(at, body)
    return record(at.offset, body)


def _replaced(at: _Spot, body: dict[str, Any]) -> object:
    """A turn to replace: mostly a recent one of the tenant, whose thread the body takes; or an odd one, or its own."""
    bodies = [b for r in at.log if names(r).get("ce_type") == TURN and (b := body_of(r)) is not None]
    earlier = [b for b in bodies if b["tenant"] == body["tenant"]][-5:]
    if not earlier or at.rng.randrange(4) == 0:
        return at.rng.choice((1, "2", "none", body["turn_id"]))
    chosen = at.rng.choice(earlier)
    body |= {"scope": chosen.get("scope", {}), "thread": chosen["thread"]}
    return chosen["turn_id"]


def _message(rng: Random, mix: Mix) -> dict[str, Any]:
    kind = rng.randrange(100)
    texts = LONG if kind < mix.long else BLANKS if kind < mix.long + 8 else TEXTS
    message: dict[str, Any] = {"role": rng.choice(("user", "assistant", "user", "assistant", "system", "tool"))}
    message |= {"content": rng.choice(texts), "importance": rng.choice(IMPORTANCES), "author": rng.choice(AUTHORS)}
    if rng.randrange(6) == 0:
        message |= {"tags": ["a", "b"], "data": {"deep": 1, "shallow": None}}
    return message


def _repeated(at: _Spot) -> Record:
    return replace(at.rng.choice(at.log), offset=at.offset, timestamp_ms=EPOCH_MS + 17 * at.offset)


def _conflicting(at: _Spot) -> Record:
    again = _repeated(at)
    body = body_of(again)
    if body is None:
        return again
    other: dict[str, Any] = {"content": "something else", "reason": "corrected", "ids": [NOTHING]}
    changed = {name: other.get(name, value) for name, value in body.items()}
    if isinstance(body.get("messages"), list):
        changed["messages"] = [*body["messages"], {"role": "tool", "content": "something else"}]
    return replace(again, value=json.dumps(changed).encode())


def _replayed(at: _Spot) -> Record:
    """A dead letter as an operator replays it, half of them in a form that can be applied; or what was none."""
    unsupported = [r for r in at.log if names(r).get("ce_type", TURN) not in (TURN, "log.collect.v1")]
    original = at.rng.choice(unsupported if unsupported and at.rng.randrange(2) else at.log)
    header = ("afterturn_original_rev", str(original.offset).encode())
    time = EPOCH_MS + 17 * at.offset
    again = replace(original, offset=at.offset, timestamp_ms=time, headers=(*original.headers, header))
    body = body_of(again)
    if body is None or at.rng.randrange(2) or not {"collection", "mode"} & body.keys():
        return again
    mended = {name: value for name, value in body.items() if name not in ("collection", "mode")}
    return replace(again, value=json.dumps(mended).encode())


def _command(at: _Spot, name: str) -> Record:
    """A command that is no turn; what collects has neither tenant nor key."""
    tenant = at.rng.choice(at.mix.tenants)
    kind, draw = DRAWN[name]
    drawn = record(at.offset, draw(Place(at.rng, at.log, at.offset, tenant)), kind=kind)
    return replace(drawn, key=drawn.key or None)


def others(tenant: str) -> tuple[tuple[str, dict[str, Any]], ...]:
    """One valid body of each command that is not a turn, with its type."""
    summary = {"kind": "semantic", "content": "s", "confidence": 1, "importance": 1, "level": 1}
    return (
        ("memory.remember.v1", {"tenant": tenant, "content": "fact", "source": {"type": "user", "id": "1"}}),
        ("memory.revise.v1", {"tenant": tenant, "reason": "merged", "changes": [{"id": NOTHING, "set": {"level": 1}}]}),
        ("memory.review.v1", {"tenant": tenant, "ids": [NOTHING], "decision": "approve", "reviewer": "r"}),
        ("memory.consolidate.v1", {
            "tenant": tenant, "policy": "p", "group": "g", "sources": [{"id": NOTHING, "rev": 1}], "min_sources": 1,
            "summary": {**summary, "data": {"source_count": 1, "derived_from": []}}, "source_ttl_s": 1, "based_on": 1,
        }),
        ("memory.forget.v1", {"tenant": tenant, "ids": [NOTHING], "reason": "asked"}),
        ("memory.pin.v1", {"tenant": tenant, "ids": [NOTHING]}),
        ("tenant.configure.v1", {"tenant": tenant, "bounds": {"max_memories": 1}}),
        ("tenant.erase.v1", {"tenant": tenant, "confirm": tenant, "reason": "asked"}),
        ("log.collect.v1", {"partition": PARTITION, "below": 3}),
    )  # fmt: skip


def _other(at: _Spot) -> Record:
    left_out = {kind for name, (kind, _) in DRAWN.items() if not getattr(at.mix, name)}
    drawn = [other for other in others(at.rng.choice(at.mix.tenants)) if other[0] not in left_out]
    kind, body = at.rng.choice(drawn)
    return record(at.offset, body, kind=kind, ce_id=at.rng.choice((None, "same-id")))


def _poison(at: _Spot) -> Record:
    good = record(at.offset, turn(at.rng.choice(TENANTS)))
    return at.rng.choice((
        replace(good, value=b"\xff\x00not-json"),
        replace(good, value=None),
        replace(good, headers=good.headers[1:]),
        record(at.offset, turn(messages="none")),
        record(at.offset, turn(thread="")),
        record(at.offset, [1]),
        record(at.offset, turn(), kind="turn.completed.v2"),
    ))  # fmt: skip


def _misrouted(at: _Spot) -> Record:
    return at.rng.choice((
        record(at.offset, turn(STRANGER, turn_id=at.offset)),
        record(at.offset, turn(TENANTS[0], turn_id=at.offset), key=TENANTS[1]),
        record(at.offset, {"partition": PARTITION + 1, "below": 1}, kind="log.collect.v1"),
    ))  # fmt: skip
