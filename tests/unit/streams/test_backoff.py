"""Waits grow, are capped, and are never all the same."""

from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.backoff import Backoff


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_a_wait_is_between_half_and_all_of_its_capped_step(attempt: int, chance: float) -> None:
    step = min(15.0, 0.2 * 2.0 ** min(attempt - 1, 64))
    assert step / 2 <= Backoff().delay(attempt, chance) <= step


def test_waits_double_up_to_the_cap() -> None:
    backoff = Backoff(first=1.0, cap=5.0)
    assert [backoff.delay(attempt, 1.0) for attempt in range(1, 6)] == [1.0, 2.0, 4.0, 5.0, 5.0]
    assert backoff.delay(1, 0.0) == 0.5
