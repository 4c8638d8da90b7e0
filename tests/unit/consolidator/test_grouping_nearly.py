"""Laws of merging near-duplicates, each with the case that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from math import cos, sin
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.naive_points import naive_id
from support.sourced_memories import DAY, LAW, NOW, id_of, sourced
from support.turn_logs import SETTINGS, TENANTS, record
from support.whole_log import fold_log

from afterturn.consumers.consolidator.grouping.nearly import Embedded, merges, plain
from afterturn.consumers.consolidator.grouping.policies import DuplicatePolicy
from afterturn.consumers.consolidator.grouping.sourced import Sourced
from afterturn.consumers.recorder.decoding import decode
from afterturn.schemas.commands import Revise
from afterturn.schemas.points import Memory
from afterturn.schemas.scope import Scope

POLICY = DuplicatePolicy()
TENANT = TENANTS[0]
ALIKE = "Ann keeps bees on the roof of her house in the old town"


def at(angle: float) -> tuple[float, float]:
    """The unit vector at an angle: the cosine of two of them is that of the angle between them."""
    return cos(angle), sin(angle)


def fact(number: int, content: str, vector: Sequence[float] | None = (1.0, 0.0), **fields: Any) -> Embedded:
    return Embedded(sourced(number, content=content, **fields), vector)


def merged(*facts: Embedded, policy: DuplicatePolicy = POLICY) -> list[list[str]]:
    """What each cluster consists of, the survivor first."""
    return [[change.id for change in each.command.changes] for each in merges(facts, policy, NOW)]


def ids(*numbers: int) -> list[str]:
    return [id_of(number) for number in numbers]


def test_row_79_of_three_near_copies_one_survives() -> None:
    """Nearly the same words in nearly the same direction; each of the others goes as it was compared."""
    copies = [fact(1, ALIKE), fact(2, f"{ALIKE} now", at(0.1)), fact(3, f"{ALIKE}, today", at(0.2))]
    (prepared,) = merges(copies, POLICY, NOW)
    survivor, *losers = prepared.command.changes
    assert prepared.command.reason == "merged"
    assert (survivor.id, survivor.rev, survivor.set.status, survivor.set.reinforce_count) == (id_of(1), 1, None, 2)
    assert [(each.id, each.rev, each.set.status) for each in losers] == [(id_of(n), n, "merged") for n in (2, 3)]
    assert prepared.command.derived is not None
    assert prepared.command.derived.based_on == 3


def test_row_79_a_chain_does_not_join_its_ends() -> None:
    """1 is like 2 and 2 like 3, but 1 is not like 3: by their vectors here, by their words below."""
    chain = [fact(n, f"{ALIKE} {extra}", at(0.25 * n)) for n, extra in ((1, "now"), (2, "too"), (3, "then"))]
    assert merged(*chain) == [ids(1, 2)]
    assert merged(chain[0], chain[2]) == []
    assert merged(chain[1], chain[2]) == [ids(2, 3)]
    words = [fact(1, "a b c d e f g h"), fact(2, "a b c d e f g h i j"), fact(3, "a b c d e f g h i j k l m")]
    assert merged(*words) == [ids(1, 2)]
    assert merged(words[1], words[2]) == [ids(2, 3)]


@pytest.mark.parametrize(("content", "vector", "same"), [
    (ALIKE, at(1.5), True),
    (ALIKE, None, True),
    (f"{ALIKE.upper()}!", (0.0, 0.0), True),
    (f"{ALIKE} today", at(0.31), True),
    (f"{ALIKE} today", at(0.33), False),
    (f"{ALIKE} today", None, False),
    (f"{ALIKE} today", (0.0, 0.0), False),
    (f"{ALIKE} today", (1.0, 0.0, 0.0), False),
    ("her house on the roof of Ann keeps bees", (1.0, 0.0), True),
    ("Ann keeps bees on a roof", (1.0, 0.0), False),
    (f"{ALIKE} not", (1.0, 0.0), False),
    (f"{ALIKE} since 2019", (1.0, 0.0), False),
])  # fmt: skip
def test_both_measures_count_and_the_same_words_are_enough(
    content: str, vector: tuple[float, ...] | None, same: bool
) -> None:
    """Case I-12c: exactly the same text is one fact, whatever its vectors; a number or a no makes it another."""
    assert merged(fact(1, ALIKE), fact(2, content, vector)) == ([ids(1, 2)] if same else [])


def test_a_name_met_in_four_turns_is_one() -> None:
    """Case I-12c."""
    assert merged(*(fact(n, text, at(n)) for n, text in enumerate(("DGIA", "dgia.", "»DGIA«", "DGIA"), 1))) == [
        ids(1, 2, 3, 4)
    ]


@pytest.mark.parametrize(("one", "other"), [
    ("3.5 litres", "35 litres"), ("I know C", "I know C#"), ("?!", "..."), ("a.b", "ab"), ("50% of it", "50 of it"),
])  # fmt: skip
def test_what_punctuation_tells_apart_stays_apart(one: str, other: str) -> None:
    assert plain(one) != plain(other)
    assert merged(fact(1, one), fact(2, other)) == []


@pytest.mark.parametrize(("fields", "first"), [
    ([{"confidence": 0.8}, {"confidence": 0.9}], 2),
    ([{"confidence": 0.9, "decay": 0.5, "content_revised": NOW - 5 * DAY}, {"confidence": 0.8}], 2),
    ([{"reinforce_count": 1}, {"reinforce_count": 2}], 2),
    ([{}, {}], 1),
])  # fmt: skip
def test_row_79_who_survives(fields: list[dict[str, Any]], first: int) -> None:
    """The best believed as of now, then the most often heard, then the lowest id."""
    (found,) = merged(*(fact(n, ALIKE, **each) for n, each in enumerate(fields, 1)))
    assert found[0] == id_of(first)


@pytest.mark.parametrize(("own", "others", "after"), [
    (0.5, [0.5, 0.4], 0.59), (0.9, [0.9], 0.95), (1.0, [1.0], 1.0), (0.97, [0.1], 0.97), (None, [0.2], 1.0),
])  # fmt: skip
def test_a_survivor_is_reinforced_and_never_believed_less(own: float | None, others: list[float], after: float) -> None:
    others_ = (fact(n, ALIKE, confidence=each, reinforce_count=0) for n, each in enumerate(others, 2))
    (prepared,) = merges([fact(1, ALIKE, confidence=own, reinforce_count=3), *others_], POLICY, NOW)
    kept = prepared.command.changes[0]
    assert kept.id == id_of(1)
    assert kept.set.confidence == pytest.approx(after)
    assert kept.set.reinforce_count == 3 + len(others)


def test_a_survivor_keeps_what_the_others_had() -> None:
    """The higher importance, all tags, the later end; it fades more slowly, having been heard again."""
    ends = (NOW + DAY, NOW + 9 * DAY)
    one = fact(1, ALIKE, importance=0.2, tags=["a"], expires_at=ends[0], decay=0.2, content_revised=NOW)
    other = fact(2, ALIKE, importance=0.7, tags=["b"], expires_at=ends[1], confidence=0.5)
    kept = merges([one, other], POLICY, NOW)[0].command.changes[0].set
    assert (kept.importance, kept.tags, kept.expires_at) == (0.7, ("a", "b"), ends[1])
    assert kept.decay == pytest.approx(0.17)


@pytest.mark.parametrize("fields", [
    {"scope": Scope(user="u")}, {"kind": "reflection"}, {"type": "x"}, {"collection": "x"}, {"level": 1},
    {"valid_from": NOW - DAY}, {"valid_to": NOW + DAY}, {"expires_at": NOW + DAY}, {"expires_at": NOW},
    {"pinned": True}, {"key": "k"}, {"turn_id": "1"}, {"kind": "episodic"}, {"status": "candidate"},
    {"status": "superseded"}, {"invalidated_at": NOW},
])  # fmt: skip
def test_what_is_never_merged(fields: dict[str, Any]) -> None:
    """Another scope, another kind of thing, another time; what is pinned, a message, or its publisher's to replace."""
    assert merged(fact(1, ALIKE), fact(2, ALIKE, **fields)) == []


def test_a_cluster_is_at_most_what_a_command_can_change() -> None:
    found = merged(*(fact(n, "the same") for n in range(1, 451)))
    assert [len(each) for each in found] == [200, 200, 50]


def test_nothing_is_merged_where_it_is_off_or_of_several_tenants() -> None:
    assert merged(fact(1, ALIKE), fact(2, ALIKE), policy=DuplicatePolicy(enabled=False)) == []
    with pytest.raises(ValueError, match="several tenants"):
        merged(fact(1, ALIKE), fact(2, ALIKE, tenant="other"))


_WORDS = st.lists(st.sampled_from("bees roof Ann house town keeps".split()), min_size=1, max_size=7).map(" ".join)
_FACTS = st.lists(
    st.tuples(_WORDS, st.floats(0, 1), st.sampled_from((Scope(), Scope(user="u"))), st.sampled_from((0.5, 0.9))),
    max_size=14,
).map(lambda rows: [fact(n, c, at(a), scope=s, confidence=b) for n, (c, a, s, b) in enumerate(rows, 1)])


def naively_same(one: Embedded, other: Embedded) -> bool:
    """The definition, word for word, with nothing left out for speed."""
    texts = [(each.source.memory.content or "").casefold() for each in (one, other)]
    mine, theirs = (set(text.split()) for text in texts)
    near = sum(a * b for a, b in zip(one.vector or (), other.vector or (), strict=True)) >= 0.95 - 1e-9
    return texts[0] == texts[1] or (near and len(mine & theirs) / len(mine | theirs) >= 0.7 - 1e-9)


@LAW
@given(_FACTS, st.randoms(use_true_random=False))
def test_clusters_are_complete_and_of_one_scope(facts: list[Embedded], random: Random) -> None:
    """All members are the same as all others, each fact is in one cluster, and no two survivors are left that are."""
    commands = merges(facts, POLICY, NOW)
    by_id = {each.source.id: each for each in facts}
    named = [[by_id[change.id] for change in each.command.changes] for each in commands]
    assert sum(map(len, named)) == len({each.source.id for cluster in named for each in cluster})
    for cluster in named:
        assert all(each.source.memory.scope == cluster[0].source.memory.scope for each in cluster)
        assert all(naively_same(one, other) for one, other in combinations(cluster, 2))
    # Whom no cluster took is like no other of its scope that none took.
    alone = [each for each in facts if all(each not in cluster for cluster in named)]
    for one, other in combinations(alone, 2):
        assert one.source.memory.scope != other.source.memory.scope or not naively_same(one, other)
    random.shuffle(facts)
    assert merges(facts, POLICY, NOW) == commands


def test_row_79_the_recorder_merges_them_once() -> None:
    """Of three copies on the log one is left, reinforced; the same command again is a duplicate."""
    told = {"tenant": TENANT, "source": {"type": "user", "id": "u"}, "content": ALIKE, "confidence": 0.5}
    log = [record(n, told, kind="memory.remember.v1") for n in range(3)]
    whole = fold_log([decode(each, SETTINGS) for each in log], SETTINGS)
    there = [Embedded(Sourced(id_, point)) for id_, point in whole.points.items() if isinstance(point, Memory)]
    (prepared,) = merges(there, POLICY, NOW)
    body = prepared.command.model_dump(mode="json", exclude_none=True)
    twice = [record(n, body, kind=Revise.TYPE, ce_id=prepared.ce_id) for n in (3, 4)]
    whole.take([decode(each, SETTINGS) for each in twice])
    first, second = (decision.outcome for decision in whole.decisions[-2:])
    assert first is not None
    assert second is not None
    assert (first.counts["merged"], second.reason) == (3, "duplicate")
    left = [point for point in whole.points.values() if isinstance(point, Memory)]
    assert sorted(memory.status for memory in left) == ["active", "merged", "merged"]
    (survivor,) = [memory for memory in left if memory.status == "active"]
    assert (survivor.reinforce_count, survivor.content) == (2, ALIKE)
    assert survivor.confidence == pytest.approx(0.6)


def test_a_merge_that_comes_after_its_survivor_went_is_not_made() -> None:
    """Otherwise nothing would be left of what they said."""
    told = {"tenant": TENANT, "source": {"type": "user", "id": "u"}, "content": ALIKE}
    log = [record(n, told, kind="memory.remember.v1") for n in range(3)]
    whole = fold_log([decode(each, SETTINGS) for each in log], SETTINGS)
    there = [Embedded(Sourced(id_, point)) for id_, point in whole.points.items() if isinstance(point, Memory)]
    (prepared,) = merges(there, POLICY, NOW)
    expired = [{"id": prepared.command.changes[0].id, "set": {"status": "evicted"}}]
    gone = record(3, {"tenant": TENANT, "changes": expired, "reason": "expired"}, kind=Revise.TYPE)
    late = record(4, prepared.command.model_dump(mode="json", exclude_none=True), kind=Revise.TYPE)
    whole.take([decode(each, SETTINGS) for each in (gone, late)])
    assert whole.decisions[-1].outcome is not None
    assert whole.decisions[-1].outcome.reason == "stale"
    assert naive_id("memory", TENANT, ["app", "id-0"], 0) in whole.points
