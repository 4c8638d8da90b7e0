"""The zombie bound: a gap between polls is remembered by every lane that was open before it, and by no other."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.errors import Reopen
from afterturn.streams.lanes.pulse import Pulse, StalePoll

BOUND = 60.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


def test_a_poll_in_time_says_nothing() -> None:
    clock = Clock()
    pulse = Pulse(BOUND, clock)
    gaps = pulse.gaps
    for _ in range(10):
        clock.now += BOUND
        pulse.check(3, gaps)
        pulse.beat()
        pulse.check(3, gaps)


@pytest.mark.parametrize("polled", [False, True])
def test_a_lane_that_was_open_before_a_gap_is_stale_even_once_polls_follow(polled: bool) -> None:
    clock = Clock()
    pulse = Pulse(BOUND, clock)
    gaps = pulse.gaps
    clock.now += BOUND + 0.001
    if polled:
        pulse.beat()
        pulse.beat()
    with pytest.raises(StalePoll) as caught:
        pulse.check(3, gaps)
    assert isinstance(caught.value, Reopen)
    assert caught.value.partition == 3
    assert "60 s" in str(caught.value)


@pytest.mark.parametrize("polled", [False, True])
def test_a_lane_that_opens_after_a_gap_is_not(polled: bool) -> None:
    """Also one that opens before the first poll that follows: it has fenced whoever came in between."""
    clock = Clock()
    pulse = Pulse(BOUND, clock)
    clock.now += BOUND + 1
    if polled:
        pulse.beat()
    gaps = pulse.gaps
    pulse.check(3, gaps)
    pulse.beat()
    pulse.check(3, gaps)


@given(st.lists(st.floats(0.0, 200.0), max_size=20), st.integers(0, 20), st.booleans())
def test_a_lane_is_stale_just_where_a_poll_came_too_late_since_it_opened(
    pauses: list[float], opened_before: int, waits: bool
) -> None:
    clock = Clock()
    pulse = Pulse(BOUND, clock)
    gaps = pulse.gaps
    for at, pause in enumerate(pauses):
        if at == opened_before:
            gaps = pulse.gaps
        clock.now += pause
        if not (waits and at == len(pauses) - 1):
            pulse.beat()
    since = pauses[opened_before:] if opened_before < len(pauses) else pauses
    stale = any(_too_long(pause) for pause in since)
    assert _raises(lambda: pulse.check(0, gaps)) == stale


def _too_long(pause: float) -> bool:
    return pause > BOUND


def _raises(check: Callable[[], None]) -> bool:
    try:
        check()
    except StalePoll:
        return True
    return False
