"""Laws of consolidations, revisions and reviews, each with the case that shows it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import pytest
from support.naive_points import naive_id
from support.turn_logs import SETTINGS, TENANTS, record
from support.whole_log import WholeLog, fold_log

from afterturn.consumers.recorder.decoding import decode
from afterturn.schemas.points import Memory, Outcome, TenantState
from afterturn.streams.records import Record

TENANT = TENANTS[0]
WEEK = 7 * 86_400
CONSOLIDATE, REVISE, REVIEW = "memory.consolidate.v1", "memory.revise.v1", "memory.review.v1"


def fact_id(offset: int) -> str:
    return naive_id("memory", TENANT, ["app", f"id-{offset}"], 0)


def fact(offset: int, content: str, **fields: Any) -> Record:
    body = {"tenant": TENANT, "content": content, "source": {"type": "user", "id": "1"}, **fields}
    return record(offset, body, kind="memory.remember.v1")


def command(offset: int, kind: str, **fields: Any) -> Record:
    return record(offset, {"tenant": TENANT, **fields}, kind=kind)


def consolidation(offset: int, sources: Mapping[int, int], **fields: Any) -> Record:
    """A summary of the facts recorded at these offsets, each as of a rev."""
    summary = {"kind": "semantic", "content": "all of it", "confidence": 1, "importance": 0.9, "level": 1}
    summary["data"] = {"source_count": len(sources), "derived_from": []}
    told: dict[str, Any] = {"policy": "thread", "group": "g", "summary": summary, "source_ttl_s": WEEK}
    told |= {"min_sources": 2, "based_on": offset - 1}
    named = [{"id": fact_id(of), "rev": rev} for of, rev in sources.items()]
    return command(offset, CONSOLIDATE, sources=named, **told | fields)


def folded(*log: Record) -> WholeLog:
    return fold_log([decode(each, SETTINGS) for each in log], SETTINGS)


def outcome(whole: WholeLog) -> Outcome:
    last = whole.decisions[-1].outcome
    assert last is not None
    return last


def memory(whole: WholeLog, offset: int) -> Memory:
    point = whole.points[fact_id(offset)]
    assert isinstance(point, Memory)
    return point


def test_row_60_a_summary_and_what_it_does_to_its_sources_are_one_change() -> None:
    """And row 63: only what is linked to it gets its expiry; what changed meanwhile is left as it is."""
    pinned = command(13, "memory.pin.v1", ids=[fact_id(12)])
    log = [fact(10, "a"), fact(11, "b", importance=0.9), fact(12, "c"), pinned]
    whole = folded(*log, consolidation(14, {10: 10, 11: 11, 12: 12}))
    assert outcome(whole).counts == {"groups": 1, "removed": 2, "evicted": 0, "left_out": 1}
    summary, at = memory(whole, 14), memory(whole, 14).recorded_at
    assert at is not None
    assert (summary.status, summary.content, summary.importance) == ("active", "all of it", 0.9)
    assert summary.source_ids == (fact_id(10), fact_id(11))
    for offset in (10, 11):
        source = memory(whole, offset)
        assert (source.status, source.summary) == ("superseded", fact_id(14))
        assert source.expires_at == at + timedelta(seconds=WEEK)
    left = memory(whole, 12)
    assert (left.status, left.summary, left.expires_at, left.pinned) == ("active", None, None, True)


def test_a_source_keeps_an_earlier_end_of_its_own() -> None:
    ends = "2023-11-15T00:00:00Z"
    whole = folded(fact(10, "a", expires_at=ends), fact(11, "b"), consolidation(12, {10: 10, 11: 11}))
    assert memory(whole, 10).expires_at == datetime.fromisoformat(ends)


@pytest.mark.parametrize(("meanwhile", "why"), [
    (command(12, "memory.forget.v1", ids=[fact_id(10)], reason="asked", confirm=True), "stale"),
    (command(12, "tenant.erase.v1", confirm=TENANT, reason="asked"), "erased"),
    (command(12, REVISE, changes=[{"id": fact_id(10), "set": {"status": "superseded"}}], reason="stale"), "stale"),
    (command(12, REVISE, changes=[{"id": fact_id(10), "set": {"importance": 1}}], reason="corrected"), "stale"),
    (command(12, "tenant.configure.v1", phases={"consolidate": "off"}), "off"),
])  # fmt: skip
def test_a_summary_of_what_is_no_longer_so_is_not_written(meanwhile: Record, why: str) -> None:
    """A source forgotten while it was summarised leaves no orphan (I-22): nothing of its text comes back."""
    based_on = {"based_on": 11}
    whole = folded(fact(10, "a"), fact(11, "b"), meanwhile, consolidation(13, {10: 10, 11: 11}, **based_on))
    assert outcome(whole).reason == why
    contents = {point.content for point in whole.points.values() if isinstance(point, Memory)}
    assert "all of it" not in contents
    assert all(point.summary is None for point in whole.points.values() if isinstance(point, Memory))


def test_forgetting_all_that_a_summary_was_made_of_takes_it_along() -> None:
    log = [fact(10, "a"), fact(11, "b"), fact(12, "c"), consolidation(13, {10: 10, 11: 11})]
    ids = [fact_id(10), fact_id(11)]
    whole = folded(*log, command(14, "memory.forget.v1", ids=ids, reason="asked", confirm=True))
    assert outcome(whole).counts == {"forgotten": 2, "derived": 1, "unknown": 0}
    assert memory(whole, 13).status == "deleted"
    expired = [{"id": id_, "set": {"status": "evicted"}} for id_ in ids]
    kept = folded(*log, command(14, REVISE, changes=expired, reason="expired"))
    assert memory(kept, 13).status == "active"
    assert [memory(kept, offset).content for offset in (10, 11)] == [None, None]


def test_no_group_and_no_merge_crosses_a_scope() -> None:
    mine, yours = fact(10, "a", scope={"user": "u1"}), fact(11, "b", scope={"user": "u2"})
    crossing = consolidation(12, {10: 10, 11: 11}, scope={"user": "u1"})
    assert outcome(folded(mine, yours, crossing)).reason == "scope"
    changes = [{"id": fact_id(10), "set": {"reinforce_count": 1}}, {"id": fact_id(11), "set": {"status": "merged"}}]
    assert outcome(folded(mine, yours, command(12, REVISE, changes=changes, reason="merged"))).reason == "scope"
    upkeep = [{"id": fact_id(offset), "set": {"status": "superseded"}} for offset in (10, 11)]
    assert outcome(folded(mine, yours, command(12, REVISE, changes=upkeep, reason="stale"))).counts["stale"] == 2


@pytest.mark.parametrize(("fields", "moves"), [
    ({"confidence": 0.4}, True), ({"entities": [{"span": "Ann", "type": "person"}]}, True),
    ({"tags": ["x"]}, False), ({"status": "superseded"}, False), ({"trust": 0.5}, False), ({"importance": 1}, False),
])  # fmt: skip
def test_row_36_two_clocks(fields: dict[str, Any], moves: bool) -> None:
    """What a memory means moves the decay's beginning; status, tags and the like move only the other clock."""
    changes = [{"id": fact_id(10), "set": fields}]
    whole = folded(fact(10, "a"), command(11, REVISE, changes=changes, reason="corrected"))
    revised = memory(whole, 10)
    assert revised.recorded_at is not None
    clocks = (revised.content_revised, revised.metadata_revised)
    assert [clock == revised.recorded_at for clock in clocks] == ([False, True] if moves else [True, False])


@pytest.mark.parametrize("reason", ["stale", "expired", "contradicted", "merged", "generalised"])
def test_row_77_a_pinned_memory_is_spared(reason: str) -> None:
    """The pinned loser of a contradiction is announced for review, and nothing of it is changed."""
    log = [fact(10, "a"), fact(11, "b"), command(12, "memory.pin.v1", ids=[fact_id(10)])]
    changes = [{"id": fact_id(10), "set": {"confidence": 0.05, "status": "superseded"}}]
    whole = folded(*log, command(13, REVISE, changes=changes, reason=reason))
    assert (memory(whole, 10).status, memory(whole, 10).confidence) == ("active", 1.0)
    if reason == "contradicted":
        assert outcome(whole).counts == {"contradicted": 0, "review": 1, "left_out": 0}
    else:
        assert outcome(whole).reason == "stale"


def test_what_went_stale_can_be_revived_and_nothing_else_can() -> None:
    """A fact that a newer one has replaced stays replaced: one key, one memory."""
    log = [fact(10, "a"), fact(11, "b", key="k"), fact(12, "c", key="k")]
    down, up = ([{"id": fact_id(10), "set": {"status": status}}] for status in ("superseded", "active"))
    stale = command(13, REVISE, changes=down, reason="stale")
    whole = folded(*log, stale, command(14, REVISE, changes=up, reason="revived"))
    assert (memory(whole, 10).status, memory(whole, 10).stale) == ("active", False)
    replaced = [{"id": fact_id(11), "set": {"status": "active"}}]
    assert outcome(folded(*log, command(13, REVISE, changes=replaced, reason="revived"))).reason == "stale"


def test_a_candidate_is_activated_takes_a_key_or_is_found_to_be_said_already() -> None:
    """And a rejected one goes, with what was made from it alone."""
    known, new = fact(10, "tea", key="drink"), fact(11, "coffee", key="drink", mode="candidate")
    same, free = fact(12, "tea", key="drink", mode="candidate"), fact(13, "cake", mode="candidate")
    approve = command(14, REVIEW, ids=[fact_id(n) for n in (12, 11, 13, 10)], decision="approve", reviewer="r")
    whole = folded(known, new, same, free, approve)
    counts = {"activated": 1, "superseded": 1, "deduped": 1, "rejected": 0, "unknown": 1, "derived": 0}
    assert outcome(whole).counts == counts
    assert [memory(whole, n).status for n in (10, 11, 12, 13)] == ["superseded", "active", "merged", "active"]
    made = fact(14, "cake at tea", derived={"source_ids": [fact_id(13)], "based_on": 13})
    reject = command(15, REVIEW, ids=[fact_id(13)], decision="reject", reviewer="r")
    whole = folded(known, new, same, free, made, reject)
    assert outcome(whole).counts["rejected"] == outcome(whole).counts["derived"] == 1
    state = next(point for point in whole.points.values() if isinstance(point, TenantState))
    assert state.live == 2, "of five one had left before, by the bound"


def test_a_review_of_nothing_that_waits_for_it_says_so() -> None:
    unknown = command(11, REVIEW, ids=[fact_id(99)], decision="approve", reviewer="r")
    assert outcome(folded(fact(10, "a"), unknown)).reason == "gone"
    active = command(11, REVIEW, ids=[fact_id(10)], decision="approve", reviewer="r")
    assert outcome(folded(fact(10, "a"), active)).reason == "refused"
