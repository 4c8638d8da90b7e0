"""The naive model itself, held by examples that were computed by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support.naive_model import Payload, naive_fold, naive_id
from support.turn_logs import PARTITION, SETTINGS, TENANTS, record, turn

from afterturn.schemas.points import point_of
from afterturn.streams.records import Record

ANNA, BEN = TENANTS[0], TENANTS[1]
SOURCE = {"type": "user", "id": "1"}
RANK_HALF = 501 * 2**43


def told(offset: int, **fields: Any) -> Record:
    return record(offset, turn(**{"turn_id": offset, **fields}))


def said(*texts: str, **fields: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": text, **fields} for text in texts]


def command(offset: int, kind: str, tenant: str = ANNA, *, original: int | None = None, **fields: Any) -> Record:
    extra = [] if original is None else [("afterturn_original_rev", str(original).encode())]
    return record(offset, {"tenant": tenant, **fields}, kind=f"{kind}.v1", extra=extra)


def fact(offset: int, **fields: Any) -> Record:
    return command(offset, "memory.remember", **{"content": "Ann likes tea.", "source": SOURCE, **fields})


def forget(offset: int, **fields: Any) -> Record:
    return command(offset, "memory.forget", reason="asked", **fields)


def erase(offset: int, **fields: Any) -> Record:
    return command(offset, "tenant.erase", confirm=ANNA, reason="asked", **fields)


def collect(offset: int, below: int) -> Record:
    return record(offset, {"partition": PARTITION, "below": below}, kind="log.collect.v1")


def turn_id(turn: int, ordinal: int = 0, tenant: str = ANNA) -> str:
    return naive_id("memory", tenant, [[], "t1", str(turn)], ordinal)


def fact_id(offset: int, tenant: str = ANNA) -> str:
    return naive_id("memory", tenant, ["app", f"id-{offset}"], 0)


class Folded:
    """What a log leaves, with every payload checked to be one of the contract's."""

    def __init__(self, *log: Record) -> None:
        expected = naive_fold(log, SETTINGS)
        self.points, self.ended = expected.points, expected.ended
        for payload in self.points.values():
            assert point_of(payload).payload() == payload

    @property
    def reasons(self) -> list[str | None]:
        return [e.reason for e in self.ended]

    def counts(self, at: int = -1) -> dict[str, int]:
        event = self.ended[at].event or {}
        return {k: v for k, v in event.items() if isinstance(v, int) and k != "offset" and v}

    def statuses(self, *ids: str) -> list[str | None]:
        return [self.points[i].get("status") if i in self.points else None for i in ids]

    def tenant(self) -> Payload:
        fields = ("live", "episodes", "pinned", "number", "authors", "settings", "erased_at", "rev")
        state = self.points[naive_id("tenant", ANNA, [], 0)]
        return {name: state[name] for name in fields if name in state}


def test_a_fact_is_one_memory_with_its_outcome() -> None:
    after = Folded(fact(10, importance=0.29, decay=0.25, effective_at="2025-01-01T00:00:00", key="k", version=2))
    memory = after.points[fact_id(10)]
    now = "2023-11-14T22:13:20.170000Z"
    assert {k: v for k, v in memory.items() if k != "digest"} == {
        "point": "memory", "tenant": ANNA, "status": "active", "ordinal": 0, "kind": "semantic", "key": "k",
        "content": "Ann likes tea.", "chars": 14, "importance": 0.29, "confidence": 1.0, "decay": 0.25,
        "occurred_at": "2025-01-01T00:00:00Z", "effective_at": "2025-01-01T00:00:00Z", "recorded_at": now,
        "content_revised": now, "metadata_revised": now, "evict_key": 291 * 2**43 + 1, "source": SOURCE,
        "embedder": "none", "born": 10, "rev": 10, "partition": PARTITION,
        "outcome": {"event": "memory.recorded.v1",
                    "counts": {"added": 1, "evicted": 0, "superseded": 0, "parts": 0}},
    }  # fmt: skip
    assert after.points[naive_id("key", ANNA, [[], "k"], 0)] == {
        "point": "key", "tenant": ANNA, "key": "k", "current": fact_id(10), "version": 2, "born": 10, "rev": 10,
        "partition": PARTITION,
    }  # fmt: skip
    assert after.tenant() == {"live": 1, "number": 1, "rev": 10}


def test_a_key_stands_for_the_last_fact_but_an_older_version_is_stale() -> None:
    after = Folded(
        fact(10, key="k", version=2), fact(11, key="k", version=1), fact(12, key="k"), fact(13, key="k", version=1),
        fact(14, key="k", version=3, mode="candidate"), fact(15, key="k", scope={"user": "u"}, version=0),
    )  # fmt: skip
    assert after.reasons == [None, "stale", None, "stale", None, None]
    assert after.statuses(fact_id(10), fact_id(12), fact_id(14)) == ["superseded", "active", "candidate"]
    assert (after.points[fact_id(10)]["evict_key"], after.points[fact_id(10)]["rev"]) == (1, 12)
    state = after.points[naive_id("key", ANNA, [[], "k"], 0)]
    assert (state["current"], state["version"], state["born"], state["rev"]) == (fact_id(12), 2, 10, 12)
    assert after.tenant() == {"live": 4, "number": 4, "rev": 15}


def test_a_turn_supersedes_the_one_it_replaces_and_that_leaves_first() -> None:
    after = Folded(
        told(10, messages=said("a", "b", importance=1)),
        told(11, messages=said("c", importance=0)),
        told(12, messages=said("d", "e"), replaces=10),
        told(13, replaces=13),
        told(14, replaces="none"),
    )
    assert after.counts(2) == {"added": 2, "superseded": 2, "evicted": 1}
    assert after.statuses(turn_id(10), turn_id(10, 1), turn_id(11)) == ["evicted", "evicted", "evicted"]
    assert after.counts(3) == {"added": 1, "evicted": 1}
    assert after.counts(4) == {"added": 1, "evicted": 1}
    assert after.points[turn_id(10, 1)]["evict_key"] == 2
    assert after.points[turn_id(10)]["evict_key"] == 1_001 * 2**43 + 1, "it left with the command that superseded it"


def test_what_is_forgotten_takes_along_what_was_made_from_it_alone() -> None:
    after = Folded(
        told(10),
        told(11),
        fact(12, derived={"source_ids": [turn_id(10)], "based_on": 11}),
        fact(13, derived={"source_ids": [turn_id(11), fact_id(12)], "based_on": 12}),
        forget(14, ids=[turn_id(10), turn_id(10), fact_id(99)]),
        forget(15, ids=[turn_id(11)]),
        forget(16, ids=[turn_id(11)], confirm=True),
        told(17),
    )
    assert [after.counts(at) for at in (4, 6)] == [{"forgotten": 1, "derived": 1, "unknown": 1}, {"unknown": 1}]
    assert after.counts(5) == {"forgotten": 1, "derived": 1}
    stone = after.points[fact_id(13)]
    assert (stone["status"], stone["cascade"], stone["source_ids"]) == ("deleted", True, [turn_id(11), fact_id(12)])
    assert stone["evict_key"] == RANK_HALF + 4
    assert not {"content", "tags", "occurred_at", "embedder"} & stone.keys()
    assert after.tenant() == {"live": 1, "episodes": 1, "number": 5, "rev": 17}


def test_beyond_half_is_forgotten_only_with_confirm_and_of_others_nothing() -> None:
    after = Folded(
        told(10), told(11), told(12), told(12, tenant=BEN),
        forget(13, ids=[turn_id(10), turn_id(11)]),
        forget(14, ids=[turn_id(12, tenant=BEN)]),
        forget(15, filter={"threads": ["t1"]}),
        forget(16, filter={"threads": ["t2"]}),
        forget(17, filter={"threads": ["t1"]}, confirm=True),
    )  # fmt: skip
    assert after.reasons[4:] == ["unconfirmed", None, "unconfirmed", None, None]
    assert [after.counts(at) for at in (5, 7, 8)] == [{"unknown": 1}, {}, {"forgotten": 3}]
    assert after.tenant() == {"number": 3, "rev": 17}


@pytest.mark.parametrize(("chosen", "met"), [
    ({"authors": ["Ann"]}, [True, False, False]),
    ({"kinds": ["semantic"]}, [False, False, True]),
    ({"tags_any": ["x", "a"]}, [True, False, True]),
    ({"scope": {"user": "u"}}, [False, True, False]),
    ({"since": "2025-07-24T17:00:00Z"}, [True, True, False]),
    ({"until": "2025-07-24T17:00:00Z"}, [False, False, True]),
    ({"threads": ["t1"], "until": "2025-07-24T17:00:00.001Z"}, [True, False, False]),
])  # fmt: skip
def test_a_filter_selects_by_all_its_fields(chosen: dict[str, Any], met: list[bool]) -> None:
    ids = [turn_id(10), naive_id("memory", ANNA, [[["user", "u"]], "t2", "11"], 0), fact_id(12)]
    after = Folded(
        told(10, messages=said("a", author="Ann", tags=["a"])),
        told(11, thread="t2", scope={"user": "u"}),
        fact(12, tags=["b", "a"]),
        forget(13, filter=chosen, confirm=True),
    )
    assert after.statuses(*ids) == ["deleted" if m else "active" for m in met]


def test_pins_keep_what_the_bound_would_take_up_to_half_of_it() -> None:
    ids = [turn_id(10, n) for n in range(4)]
    after = Folded(
        told(10, messages=said("a", "b", "c", "d", importance=0)),
        command(11, "memory.pin", ids=[*ids[:3], ids[0], fact_id(1)]),
        command(12, "memory.pin", ids=ids[2:3]),
        command(13, "memory.pin", ids=ids[:1]),
        told(14, messages=said("e", "f", "g")),
        command(15, "memory.pin", ids=ids[:1], pinned=False),
        command(16, "memory.pin", ids=[ids[3]]),
    )
    assert after.reasons[1:] == [None, "pin_limit", None, None, None, "gone"]
    assert [after.counts(at) for at in (1, 3, 5)] == [{"pinned": 2, "refused": 1, "unknown": 1}, {}, {"unpinned": 1}]
    assert after.statuses(*ids) == ["active", "active", "evicted", "evicted"]
    assert [after.points[i].get("pinned") for i in ids] == [None, True, None, None]
    assert after.points[ids[0]]["metadata_revised"] == "2023-11-14T22:13:20.255000Z"
    assert after.tenant() == {"live": 4, "episodes": 4, "pinned": 1, "number": 7, "rev": 15}


def test_settings_replace_field_by_field_and_new_bounds_hold_at_once() -> None:
    after = Folded(
        told(10, messages=said("a", "b", "c")),
        fact(11),
        command(12, "memory.pin", ids=[turn_id(10)]),
        command(13, "tenant.configure", bounds={"max_memories": 9, "max_episodes": 2}, ttl_s={"semantic": 60}),
        command(14, "tenant.configure", bounds={"max_memories": 9, "max_episodes": 1}),
        command(15, "tenant.configure", phases={"record": "on"}, recording={"roles": ["user", "assistant"]}),
        fact(16),
    )
    assert after.reasons == [None, None, None, None, "pin_limit", None, None]
    assert after.counts(3) == {"evicted": 1}
    assert after.statuses(*(turn_id(10, n) for n in range(3)), fact_id(11)) == ["active", "evicted", "active", "active"]
    bounds = {"max_memories": 9, "max_episodes": 2}
    assert after.tenant()["settings"] == {"bounds": bounds, "ttl_s": {"semantic": 60}, "phases": {}, "recording": {}}
    assert "expires_at" not in after.points[fact_id(11)]
    assert after.points[fact_id(16)]["expires_at"] == "2023-11-14T22:14:20.272000Z"


def test_an_erased_tenant_knows_its_keys_and_nothing_else() -> None:
    log = (told(10, messages=said("a", author="Ann")), fact(11, key="k"), told(12, messages=said(" ")))
    after = Folded(
        *log, command(13, "tenant.configure", bounds={"max_memories": 3}), erase(14),
        told(15, turn_id=10, messages=said("something else")), told(16),
        fact(17, derived={"source_ids": [turn_id(16)], "based_on": 13}),
        fact(18, derived={"source_ids": [turn_id(16), turn_id(10)], "based_on": 14}),
        fact(19, original=13),
    )  # fmt: skip
    assert after.reasons[4:] == [None, "duplicate", None, "erased", "stale", "erased"]
    assert after.counts(4) == {"erased": 2}
    outcome = {"event": "memory.recorded.v1", "counts": {"added": 1, "evicted": 0, "superseded": 0, "parts": 0}}
    common = {"tenant": ANNA, "status": "erased", "rev": 14, "partition": PARTITION}
    assert after.points[turn_id(10)] == common | {"point": "memory", "ordinal": 0, "outcome": outcome, "born": 10}
    assert after.points[naive_id("key", ANNA, [[], "k"], 0)] == common | {"point": "key", "born": 11}
    assert after.points[turn_id(12)]["status"] == "erased"
    assert "digest" not in after.points[turn_id(12)]
    thread = after.points[naive_id("thread", ANNA, [[], "t1"], 0)]
    assert (thread["born"], thread["next_position"], thread.get("status")) == (10, 1, None)
    assert after.points[turn_id(16)]["position"] == 0
    assert after.tenant() == {"live": 1, "episodes": 1, "number": 3, "erased_at": 14, "rev": 16}


def test_collecting_deletes_what_the_log_cannot_ask_for() -> None:
    before = (
        told(10, messages=said("a", "b")),
        told(11, messages=said(" ")),
        told(12, thread="t2", messages=said("c")),
        fact(13, key="k"),
        forget(14, ids=[turn_id(10)]),
        forget(15, filter={"threads": ["t2"], "kinds": ["episodic"]}),
        forget(16, ids=[fact_id(13)], confirm=True),
    )
    gone = [naive_id("memory", ANNA, [[], "t2", "12"], 0), turn_id(11), fact_id(13), fact_id(14), fact_id(15)]
    states = [naive_id("thread", ANNA, [[], "t2"], 0), naive_id("key", ANNA, [[], "k"], 0)]
    early, late = Folded(*before, collect(17, 10)), Folded(*before, collect(17, 17), told(18, turn_id=11))
    assert len(early.points) == len(Folded(*before).points) + 1
    assert late.points.keys() & {*gone[:1], *gone[2:], *states, fact_id(16)} == set()
    assert late.statuses(turn_id(10), turn_id(10, 1)) == ["deleted", "active"], "the receipt of a part that stays"
    assert (late.ended[7].ending, late.ended[7].event) == ("applied", None)
    receipt = late.points[naive_id("memory", "", ["app", "id-17"], 0)]
    assert (receipt["tenant"], receipt["outcome"]) == ("", {"event": "log.collected.v1"})
    assert late.ended[8].ending == "applied", "what was collected is new"
    assert late.points[turn_id(11)]["born"] == 18


@pytest.mark.parametrize("odd", [
    fact(10, collection="people"),
    fact(10, mode="ask"),
])  # fmt: skip
def test_what_is_unsupported_dies_and_only_its_replay_lives(odd: Record) -> None:
    replay = fact(10, original=10)
    after = Folded(odd, record(11, turn()), replace(replay, offset=12))
    assert after.reasons[0] == "unsupported"
    assert (after.ended[2].ending, after.points[fact_id(10)]["born"]) == ("applied", 12)
