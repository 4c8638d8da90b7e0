"""Laws of grouping, each with the case that shows it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sourced_memories import DAY, LAW, NOW, episode, id_of, message, sourced, tenants_memories

from afterturn.consumers.consolidator.grouping.groups import Group, group
from afterturn.consumers.consolidator.grouping.policies import Policies, policies_of
from afterturn.consumers.consolidator.grouping.sourced import Sourced
from afterturn.schemas.parts import Entity, Source
from afterturn.schemas.scope import Scope

SMALL = policies_of({
    name: {"min_sources": 2, "max_sources": 4} for name in ("thread", "week", "entity", "source", "user", "outcome")
})  # fmt: skip


def numbers(found: Group) -> list[int]:
    return [source.memory.born for source in found.sources]


@LAW
@given(tenants_memories(), st.randoms(use_true_random=False), st.sampled_from((3, 12, 10_000)))
def test_groups_hold_what_they_may_and_nothing_twice(memories: list[Sourced], random: Random, tokens: int) -> None:
    """No group holds two scopes; all groups together hold each memory once; sizes, order, surplus are as told."""
    found = group(memories, SMALL, NOW, tokens)
    members = Counter(source.id for each in found.groups for source in each.sources)
    assert all(count == 1 for count in members.values())
    for each in found.groups:
        assert all(source.memory.scope == each.scope for source in each.sources)
        assert len({source.memory.level for source in each.sources}) == 1
        assert 2 <= len(each.sources) <= 4
        assert sum(len(source.memory.content or "") for source in each.sources) <= tokens * 4 * 0.8
        times = [source.memory.occurred_at or NOW for source in each.sources]
        assert times == sorted(times)
        for _, memory in each.sources:
            assert memory.status == "active"
            assert not memory.pinned
            assert memory.level < SMALL.of(each.policy).max_level
            assert (memory.expires_at or NOW + DAY) > NOW
            assert memory.occurred_at is not None
            assert NOW - memory.occurred_at >= 7 * DAY
    starts = [each.sources[0].memory.occurred_at or NOW for each in found.groups]
    assert starts == sorted(starts)
    shuffled = list(memories)
    random.shuffle(shuffled)
    assert group(shuffled, SMALL, NOW, tokens) == found


@LAW
@given(tenants_memories())
def test_what_is_due_is_grouped_or_counted(memories: list[Sourced]) -> None:
    """A pass over what a pass has left finds the surplus and nothing else: it loses no memory and takes none again."""
    left, most, surplus = memories, len(memories), len(memories)
    while (found := group(left, SMALL, NOW)).groups:
        assert sum(len(each.sources) for each in found.groups) <= surplus
        taken = {source.id for each in found.groups for source in each.sources}
        left = [source for source in left if source.id not in taken]
        surplus = sum(found.surplus.values())
        most -= 1
        assert most >= 0
    assert not found.surplus


def test_row_58_a_thread_of_sixty_messages_gives_one_group_of_fifty() -> None:
    """The oldest fifty; ten are left for the next pass, nine would be too few."""
    thread = [message(n, "a") for n in range(1, 61)]
    few = [message(n, "b") for n in range(101, 110)]
    found = group([*thread, *few], Policies(), NOW)
    assert [(each.policy, each.key, numbers(each)) for each in found.groups] == [("thread", "a", list(range(1, 51)))]
    assert found.surplus == {"thread": 10}
    again = group([*thread[50:], *few], Policies(), NOW)
    assert ([numbers(each) for each in again.groups], again.surplus) == ([list(range(51, 61))], {})
    assert group(thread[51:], Policies(), NOW).groups == ()


@pytest.mark.parametrize(("newest", "due"), [(7 * DAY, True), (7 * DAY - timedelta(seconds=1), False), (-DAY, False)])
def test_a_thread_is_due_once_its_newest_memory_is_a_week_old(newest: timedelta, due: bool) -> None:
    """Even where that one is pinned, and whoever else has a thread of this name."""
    old = [message(n, "a") for n in range(1, 12)]
    last = message(12, "a", occurred_at=NOW - newest, pinned=True)
    elsewhere = message(13, "a", occurred_at=NOW, scope=Scope(user="u"))
    assert bool(group([*old, last, elsewhere], Policies(), NOW).groups) == due


def test_row_62_twelve_episodes_over_two_weeks_give_two_groups() -> None:
    """By ISO week in UTC: Sunday's last second and Monday's first are of two weeks, and of two years here."""
    monday = datetime(2025, 12, 29, tzinfo=UTC)
    week_before = [episode(n, monday - n * timedelta(seconds=1)) for n in range(1, 7)]
    week_after = [episode(10 + n, monday + n * DAY) for n in range(6)]
    made = [episode(20 + n, monday, source_ids=[id_of(99)]) for n in range(5)]
    found = group([*week_after, *week_before, *made], Policies(), NOW)
    assert [(each.policy, each.key, numbers(each)) for each in found.groups] == [
        ("week", "2025-W52", [6, 5, 4, 3, 2, 1]),
        ("week", "2026-W01", [10, 11, 12, 13, 14, 15]),
    ]
    assert group([*week_after[:4], *week_before[:4]], Policies(), NOW).groups == ()


@pytest.mark.parametrize(("fields", "belongs"), [
    ({"entities": (Entity(span="Ben", type="person", id="ben"), Entity(span="A", type="p", id="ann", role="subject"))},
     ("entity", "ann")),
    ({"entities": (Entity(span="someone", type="person"), Entity(span="Ben", type="person", id="ben"))},
     ("entity", "ben")),
    ({"entities": (Entity(span="someone", type="person"),)}, None),
    ({"type": "knowledge", "source": Source(type="tool", id="manual")}, ("source", "tool:manual")),
    ({"type": "knowledge"}, None),
    ({"type": "user_fact", "scope": Scope(user="u")}, ("user", "u")),
    ({"type": "user_fact"}, ("user", "unknown")),
    ({"type": "task", "data": {"success": True}}, ("outcome", "true")),
    ({"type": "task", "data": {"success": "partly"}}, ("outcome", "partly")),
    ({"type": "task", "data": {"success": [1]}}, ("outcome", "unknown")),
    ({"type": "task"}, ("outcome", "unknown")),
    ({"type": "mood"}, None),
    ({"level": 1, "source_ids": [id_of(99)], "data": {"policy": "user", "group": "u"}}, ("user", "u")),
    ({"level": 1, "source_ids": [id_of(99)], "data": {"policy": "week", "group": "2026-W01"}}, None),
    ({"level": 1, "source_ids": [id_of(99)], "data": {"policy": "mine", "group": "x"}}, None),
])  # fmt: skip
def test_row_58_where_a_fact_belongs(fields: dict[str, Any], belongs: tuple[str, str] | None) -> None:
    """What is of a custom type is left as it is; a summary belongs where what it was made of did."""
    found = group([sourced(n, **fields) for n in range(1, 11)], Policies(), NOW)
    assert [(each.policy, each.key) for each in found.groups] == ([] if belongs is None else [belongs])


def test_a_key_too_long_for_a_command_is_told_by_its_digest() -> None:
    facts = [sourced(n, type="knowledge", source=Source(type="tool", id="x" * 256)) for n in range(1, 11)]
    (found,) = group(facts, Policies(), NOW).groups
    assert len(found.key) == 32


def test_levels_are_summarised_apart_and_up_to_the_highest() -> None:
    """Row 80: five facts of one entity are one level up; what has reached the highest is left alone."""
    about = {"entities": (Entity(span="Ann", type="person", id="ann"),)}
    facts = [sourced(10 * level + n, level=level, **about) for level in range(4) for n in range(1, 6)]
    found = group(facts, Policies(), NOW).groups
    assert [{source.memory.level for source in each.sources} for each in found] == [{0}, {1}, {2}]


def test_a_group_is_what_the_model_can_read() -> None:
    """Four fifths of 100 tokens are 320 characters; a text that fits nowhere holds up nothing that comes after it."""
    policies = policies_of({"thread": {"min_sources": 2}})
    texts = {1: 300, 2: 400, 3: 100, 4: 100, 5: 120, 6: 1}
    thread = [message(n, "a", content="x" * length) for n, length in texts.items()]
    found = group(thread, policies, NOW, context_tokens=100)
    assert ([numbers(each) for each in found.groups], found.surplus) == ([[3, 4, 5]], {"thread": 3})
    assert group(thread, policies, NOW, context_tokens=1).surplus == {"thread": 6}


@pytest.mark.parametrize("fields", [
    {"pinned": True}, {"status": "superseded"}, {"status": "candidate"}, {"level": 3}, {"expires_at": NOW},
    {"valid_to": NOW}, {"invalidated_at": NOW}, {"status": "deleted", "content": None},
])  # fmt: skip
def test_what_is_never_summarised(fields: dict[str, Any]) -> None:
    """What is not in use, is pinned, or holds no longer as of now; a moment later it still holds."""
    facts = [sourced(n, type="user_fact") for n in range(1, 10)]
    assert group([*facts, sourced(10, type="user_fact", **fields)], Policies(), NOW).groups == ()
    later = {name: NOW + timedelta(seconds=1) for name in fields if fields[name] == NOW}
    if later:
        assert group([*facts, sourced(10, type="user_fact", **later)], Policies(), NOW).groups


def test_a_policy_that_is_off_groups_nothing() -> None:
    thread = [message(n, "a") for n in range(1, 20)]
    assert group(thread, policies_of({"thread": {"enabled": False}}), NOW).groups == ()


def test_memories_of_two_tenants_are_refused() -> None:
    with pytest.raises(ValueError, match="several tenants"):
        group([sourced(1), sourced(2, tenant="other")], Policies(), NOW)
