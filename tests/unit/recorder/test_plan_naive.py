"""``plan`` over a whole log gives exactly what the naive model, written without it, expects."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.fold_checks import assert_same_endings, assert_same_points
from support.naive_model import Expected, naive_fold, naive_id
from support.turn_logs import SETTINGS, TENANTS, Mix, configured, draw_log, record, turn
from support.whole_log import WholeLog, fold_log

from afterturn.consumers.recorder.announcing import last_of
from afterturn.consumers.recorder.decoding import decode
from afterturn.schemas import ids
from afterturn.schemas.parts import LIVE
from afterturn.schemas.points import Memory, StoredPoint, TenantState, point_of
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Bounds, FoldSettings, Recording
from afterturn.streams.records import Record

RANDOMS = st.randoms(use_true_random=False)
THOROUGH = settings(
    max_examples=30, deadline=None, suppress_health_check=(HealthCheck.too_slow, HealthCheck.data_too_large)
)
BEFORE: dict[str, StoredPoint] = {ids.tenant_id(name): state for name, state in configured().items()}


def both(
    log: list[Record], fold: FoldSettings = SETTINGS, dead: frozenset[int] = frozenset()
) -> tuple[WholeLog, Expected]:
    whole = fold_log([decode(r, fold) for r in log], fold, BEFORE, dead)
    before = {id_: point.payload() for id_, point in BEFORE.items()}
    return whole, naive_fold(log, fold, before=before, dead=dict.fromkeys(dead, "refused"))


def assert_agree(log: list[Record], fold: FoldSettings = SETTINGS, dead: frozenset[int] = frozenset()) -> None:
    whole, expected = both(log, fold, dead)
    assert_same_endings(whole.decisions, expected.ended)
    assert_same_points(whole.points, expected.points)


@given(RANDOMS, st.integers(1, 25))
@THOROUGH
def test_any_log_folds_to_what_the_naive_model_expects(rng: Random, size: int) -> None:
    assert_agree(draw_log(rng, size))


@given(RANDOMS, st.integers(3, 6), st.sampled_from([Recording(max_chars=500), Recording(max_chars=700, long="cut")]))
@THOROUGH
def test_any_bound_and_recording_is_kept(rng: Random, bound: int, recording: Recording) -> None:
    fold = SETTINGS.model_copy(update={"bounds": Bounds(max_memories=bound), "recording": recording})
    assert_agree(draw_log(rng, 20, Mix(long=30, tenants=TENANTS[:1])), fold)


@given(RANDOMS, st.sets(st.integers(10, 30), max_size=6))
@THOROUGH
def test_what_was_made_a_dead_letter_at_run_time_is_folded_as_one(rng: Random, dead: set[int]) -> None:
    assert_agree(draw_log(rng, 20, Mix(replayed=15)), dead=frozenset(dead))


@pytest.mark.parametrize("fold", [
    SETTINGS.model_copy(update={"epoch": 3}),
    SETTINGS.model_copy(update={"partitioner": "crc32"}),
    SETTINGS.model_copy(update={"partitions": 1}),
])  # fmt: skip
def test_epoch_and_partitioner_are_heeded(fold: FoldSettings) -> None:
    for seed in range(5):
        assert_agree(draw_log(Random(seed), 25), fold)


@given(RANDOMS)
@THOROUGH
def test_the_bound_holds_after_every_command_and_the_counts_are_true(rng: Random) -> None:
    log = [decode(r, SETTINGS) for r in draw_log(rng, 12)]
    whole = fold_log([], SETTINGS, BEFORE)
    for item in log:
        points = whole.take([item]).points
        for state in [p for p in points.values() if isinstance(p, TenantState)]:
            memories = [p for p in points.values() if isinstance(p, Memory) and p.tenant == state.tenant]
            live = [m for m in memories if m.status in LIVE]
            bounds = state.settings.bounds or SETTINGS.bounds
            assert state.live == len(live) <= bounds.max_memories
            assert state.episodes == sum(m.kind == "episodic" for m in live) <= (bounds.max_episodes or len(live))
            assert state.pinned == sum(m.pinned for m in live) <= bounds.max_memories // 2
            assert len({m.evict_key for m in live}) == len(live), "no ties"


@given(RANDOMS)
@THOROUGH
def test_every_point_comes_back_from_its_payload(rng: Random) -> None:
    for point in both(draw_log(rng, 20))[0].points.values():
        assert point_of(json.loads(json.dumps(point.payload()))) == point


def test_the_checkpoint_recognises_the_last_record() -> None:
    log = draw_log(Random(5), 4)
    checkpoint = both(log)[1].checkpoint
    assert checkpoint is not None
    assert last_of(log[-1]) == (checkpoint["key"], checkpoint["time"])


def test_ties_leave_in_the_order_they_were_recorded() -> None:
    log = [record(n, turn(turn_id=n, messages=[{"role": "user", "content": str(n)}])) for n in range(10)]
    points = both(log)[0].points
    left = [p for p in points.values() if isinstance(p, Memory) and p.status == "active"]
    assert sorted(p.content or "" for p in left) == ["6", "7", "8", "9"]
    assert_agree(log)


def test_two_users_threads_of_one_name_are_two_threads() -> None:
    log = [record(n, turn(scope={"user": user})) for n, user in enumerate(("u1", "u2", "u1"))]
    memories = [p for p in both(log)[0].points.values() if isinstance(p, Memory)]
    assert sorted((m.scope.user, m.position) for m in memories) == [("u1", 0), ("u2", 0)]
    assert_agree(log)


PINNED = [
    "e8509783-4a68-5459-8092-99041a77888b",
    "0daef82b-f233-5dd2-9847-307fbcda036d",
    "e2e060e5-ec8b-5fba-a647-a65dfa41add4",
    "18429736-cc11-59af-bbe3-3a5fb216469d",
]
"""Of a memory, a thread, a tenant and a checkpoint: they must never change."""


def test_ids_are_pinned_and_those_of_the_naive_model() -> None:
    assert [
        ids.memory_id("anna", ids.turn_key(Scope(user="u", agent="a"), "t", "1"), 0),
        ids.thread_id("b\u00e9a", Scope(), "t"),
        ids.tenant_id('\u5f20"\\/'),
        ids.checkpoint_id(7),
    ] == PINNED
    assert [
        naive_id("memory", "anna", [[["agent", "a"], ["user", "u"]], "t", "1"], 0),
        naive_id("thread", "b\u00e9a", [[], "t"], 0),
        naive_id("tenant", '\u5f20"\\/', [], 0),
        naive_id("checkpoint", None, [7], 0),
    ] == PINNED
