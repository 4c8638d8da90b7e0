"""From a group and a text to the command, and what the recorder makes of it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.naive_points import naive_id
from support.sourced_memories import DAY, LAW, NOW, episode, id_of, message, sourced, tenants_memories
from support.turn_logs import SETTINGS, TENANTS, record
from support.whole_log import fold_log

from afterturn.consumers.consolidator.grouping.commands import (
    CONSOLIDATED,
    NotASummary,
    Written,
    command_id,
    consolidation,
)
from afterturn.consumers.consolidator.grouping.groups import Group, group
from afterturn.consumers.consolidator.grouping.policies import Policies, policies_of
from afterturn.consumers.consolidator.grouping.sourced import Sourced
from afterturn.consumers.recorder.decoding import decode
from afterturn.schemas.commands import Consolidate
from afterturn.schemas.parts import Usage
from afterturn.schemas.points import Memory
from afterturn.schemas.scope import Scope

POLICIES = Policies()
TENANT = TENANTS[0]


def of_thread(*sources: Sourced) -> Group:
    return Group("thread", "a", sources[0].memory.scope, sources)


def summarised(found: Group, text: str = "all of it", **fields: Any) -> Consolidate:
    return consolidation(found, Written(text, **fields), POLICIES.of(found.policy)).command


def test_a_summary_is_as_important_as_its_most_important_source() -> None:
    """Its scope is theirs exactly, its level one above theirs, and it is believed."""
    scope = Scope(user="u", agent="a")
    sources = [message(n, "a", scope=scope, importance=n / 10, confidence=0.2, level=1) for n in (3, 9, 1)]
    usage = Usage(model="m", model_calls=1, tokens_in=10, tokens_out=5)
    command = summarised(of_thread(*sources), usage=usage)
    summary = command.summary
    assert (command.tenant, command.scope, command.policy, command.group) == ("t", scope, "thread", "a")
    assert (summary.importance, summary.confidence, summary.level) == (0.9, 1.0, 2)
    assert (summary.kind, summary.type, summary.data.source_count) == ("semantic", "conversation", 3)
    assert (command.based_on, command.min_sources, command.source_ttl_s) == (9, 10, 7 * 86_400)
    assert command.usage == usage
    assert summarised(of_thread(sourced(1), sourced(2))).summary.importance == 0.5


def test_row_62_a_weeks_summary_is_an_episode_of_the_whole_period() -> None:
    """From the first to a millisecond after the last, so that it is never older than what it came from."""
    week = [episode(n, NOW - 30 * DAY + n * timedelta(minutes=1), type=f"type {n}") for n in range(5)]
    summary = summarised(Group("week", "2026-W09", Scope(), tuple(week))).summary
    first, last = (week[at].memory.occurred_at for at in (0, -1))
    assert last is not None
    assert summary.data.period == (first, last + timedelta(milliseconds=1))
    assert (summary.kind, summary.type) == ("episodic", None)
    end = datetime.max.replace(tzinfo=UTC)
    assert summarised(of_thread(sourced(1, occurred_at=end))).summary.data.period == (end, end)
    undated = summarised(of_thread(sourced(1, occurred_at=None))).summary
    assert undated.data.period is None


def test_tags_are_those_of_all_sources_as_far_as_they_fit() -> None:
    sources = [sourced(n, tags=[f"{n}-{m}" for m in range(40)]) for n in (1, 2)]
    tags = summarised(of_thread(*sources), tags=("own", "own", "x" * 200, "")).summary.tags
    assert tags[:3] == (CONSOLIDATED, "own", "1-0")
    assert len(tags) == len(set(tags)) == 64


def test_what_sources_were_made_of_is_named_as_far_as_it_can_be() -> None:
    """So that forgetting all of it takes the summary along, and a source is no origin of its own group."""
    sources = [sourced(n, source_ids=[id_of(1), *(id_of(1_000 * n + m) for m in range(150))]) for n in (1, 2)]
    origins = summarised(of_thread(*sources)).summary.data.derived_from
    assert len(origins) == len(set(origins)) == 256
    assert origins[0] == id_of(1_000)
    assert id_of(1) not in origins
    further = sourced(3, source_ids=[id_of(7)], derived_from=[id_of(8)])
    assert summarised(of_thread(further)).summary.data.derived_from == (id_of(7), id_of(8))


@pytest.mark.parametrize("text", ["...", "", " \n", "—", "🙂", "{}", "***", "\0", "???"])
def test_row_66_a_placeholder_is_no_summary(text: str) -> None:
    with pytest.raises(NotASummary, match="no letter and no digit"):
        summarised(of_thread(sourced(1)), text)


@pytest.mark.parametrize(("text", "content"), [
    ("  x" * 1 + "\n", "x"),
    ("7", "7"),
    ("x" * 2_000, "x" * 2_000),
    ("x" * 2_001, "x" * 1_999 + "…"),
    ("x" * 1_990 + " " * 20 + "y", "x" * 1_990 + "…"),
    ("a\ud800b\0", "a\ufffdb"),
])  # fmt: skip
def test_row_58_a_summary_has_at_most_2000_characters(text: str, content: str) -> None:
    assert summarised(of_thread(sourced(1)), text).summary.content == content


@LAW
@given(tenants_memories(), st.text(min_size=1), st.lists(st.text(), max_size=3))
def test_every_group_has_its_command(memories: list[Sourced], text: str, tags: list[str]) -> None:
    """And its importance, tags and scope come from its own sources alone."""
    for found in group(memories, policies_of({"week": {"min_sources": 2}}), NOW).groups:
        command = summarised(found, f"a{text}", tags=tuple(tags))
        assert all(source.memory.scope == command.scope for source in found.sources)
        assert command.summary.level <= POLICIES.of(found.policy).max_level
        assert Consolidate.model_validate(command.model_dump(mode="json", exclude_none=True)) == command


@given(st.lists(st.integers(1, 99), min_size=2, max_size=9, unique=True), st.randoms(use_true_random=False))
def test_the_same_sources_in_the_same_versions_are_one_command(given_: list[int], random: Random) -> None:
    """Whoever finds them, and in whatever order; another version of one of them is another command."""
    sources = [sourced(number) for number in given_]
    id_ = command_id("thread", sources)
    random.shuffle(sources)
    assert command_id("thread", sources) == id_
    assert command_id("week", sources) != id_
    assert command_id("thread", sources[1:]) != id_
    changed = sourced(1_000)._replace(id=sources[0].id)
    assert command_id("thread", [changed, *sources[1:]]) != id_
    assert len(id_) == 64
    assert set(id_) <= set("0123456789abcdef")


def test_row_58_the_recorder_puts_the_summary_in_its_sources_place_once() -> None:
    """A second consolidator's command is a duplicate, and what has been summarised is not grouped again."""
    told = {"tenant": TENANT, "type": "user_fact", "scope": {"user": "u"}, "source": {"type": "user", "id": "u"}}
    log = [record(n, {**told, "content": f"fact {n}"}, kind="memory.remember.v1") for n in range(3)]
    policies = policies_of({"user": {"min_sources": 2}})
    whole = fold_log([decode(each, SETTINGS) for each in log], SETTINGS)
    later = datetime(2030, 1, 1, tzinfo=UTC)

    def pass_() -> tuple[Group, ...]:
        there = [Sourced(id_, point) for id_, point in whole.points.items() if isinstance(point, Memory)]
        return group(there, policies, later).groups

    (found,) = pass_()
    prepared = consolidation(found, Written("what there is of u"), policies.user)
    body = prepared.command.model_dump(mode="json", exclude_none=True)
    twice = [record(n, body, kind=Consolidate.TYPE, ce_id=prepared.ce_id) for n in (3, 4)]
    whole.take([decode(each, SETTINGS) for each in twice])
    first, second = (decision.outcome for decision in whole.decisions[-2:])
    assert first is not None
    assert second is not None
    assert (first.event, first.counts["removed"], first.counts["left_out"]) == ("memory.consolidated.v1", 3, 0)
    assert second.reason == "duplicate"
    summary = naive_id("memory", TENANT, ["app", prepared.ce_id], 0)
    written = whole.points[summary]
    assert isinstance(written, Memory)
    assert (written.content, written.level, written.scope) == ("what there is of u", 1, Scope(user="u"))
    sources = [whole.points[source.id] for source in found.sources]
    assert {source.status for source in sources if isinstance(source, Memory)} == {"superseded"}
    assert {source.summary for source in sources if isinstance(source, Memory)} == {summary}
    assert pass_() == ()
