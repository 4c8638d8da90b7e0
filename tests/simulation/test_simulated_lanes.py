"""The write path holds under interleavings, zombies, kills and torn writes; and each of its rules is needed.

AFTERTURN_SIMULATION_SEEDS says how many seeds to run; ``python -m simulation.lanes_simulation --help`` runs more.
"""

from __future__ import annotations

import os
from dataclasses import replace

import pytest
from simulation.lanes_simulation import make_world, run, tally
from support.memory_store import ALL_RULES

SEEDS = int(os.environ.get("AFTERTURN_SIMULATION_SEEDS", "40"))


def test_the_store_is_the_fold_of_the_log_whatever_happens() -> None:
    found = tally(range(SEEDS), ALL_RULES)
    assert found.first is None
    assert found.reopened > 0, "no lane met another: nothing was proven"


def test_a_copy_put_back_while_all_are_stopped_is_healed() -> None:
    found = tally(range(SEEDS // 3), ALL_RULES, restore=True)
    assert found.first is None


@pytest.mark.parametrize("rule", ["barrier", "strays", "conditional", "states_last"])
def test_without_a_rule_it_does_not_hold(rule: str) -> None:
    found = tally(range(max(SEEDS, 100)), replace(ALL_RULES, **{rule: False}))
    assert found.failed, f"{found.seeds} seeds did not miss the rule {rule}"


def test_a_run_is_told_by_its_seed() -> None:
    assert make_world(7).log == make_world(7).log
    assert run(7).store.content == run(7).store.content
