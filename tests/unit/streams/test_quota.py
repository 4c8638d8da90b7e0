"""No tenant ever gets more than its quota, in any window; who waits as long as is said gets one."""

from __future__ import annotations

from collections import defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from afterturn.streams.errors import QuotaExceeded, Recoverable, Retry
from afterturn.streams.quota import Buckets, Quota

QUOTAS = st.builds(Quota, st.floats(0.5, 6_000), st.integers(1, 20))
STEPS = st.lists(st.tuples(st.sampled_from("abcdefg"), st.floats(0, 30)), max_size=200)


def taken(buckets: Buckets, steps: list[tuple[str, float]]) -> dict[str, list[float]]:
    """When each tenant got one, asking in these steps of time."""
    got: dict[str, list[float]] = defaultdict(list)
    now = 1_000.0
    for tenant, step in steps:
        now += step
        if buckets.take(tenant, now) == 0:
            got[tenant].append(now)
    return got


@given(QUOTAS, STEPS, st.integers(1, 8))
def test_no_window_holds_more_than_the_burst_and_what_came_in_it(
    quota: Quota, steps: list[tuple[str, float]], tenants: int
) -> None:
    """Whatever the number of tenants that are kept."""
    for times in taken(Buckets(quota, tenants), steps).values():
        for first in range(len(times)):
            for last in range(first, len(times)):
                seconds = times[last] - times[first]
                assert last - first + 1 <= quota.burst + seconds * quota.per_minute / 60 + 1e-6


@given(QUOTAS, STEPS)
def test_a_tenant_alone_gets_all_of_its_quota(quota: Quota, steps: list[tuple[str, float]]) -> None:
    """As a bucket that is counted in tokens has it: no less, either."""
    buckets, tokens, now, refused = Buckets(quota), float(quota.burst), 1_000.0, 0
    for _, step in steps:
        now += step
        tokens = min(quota.burst, tokens + step * quota.per_minute / 60)
        if abs(tokens - 1) < 1e-6:
            return  # both may be right
        got = buckets.take("a", now) == 0
        assert got == (tokens >= 1)
        tokens -= got
        refused += not got


@given(QUOTAS, st.integers(0, 30))
def test_who_waits_as_long_as_is_said_gets_one(quota: Quota, asked: int) -> None:
    buckets, now = Buckets(quota), 5.0
    for _ in range(asked):
        buckets.take("a", now)
    wait = buckets.take("a", now)
    assert wait <= quota.interval + 1e-6
    if wait:
        assert buckets.take("a", now + wait) == 0


@given(STEPS, st.integers(1, 3))
def test_as_many_tenants_are_kept_as_is_said(steps: list[tuple[str, float]], tenants: int) -> None:
    buckets = Buckets(Quota(60, 2), tenants)
    now = 0.0
    for tenant, step in steps:
        now += step
        buckets.take(tenant, now)
        assert len(buckets) <= tenants


def test_tenants_do_not_take_each_others() -> None:
    buckets = Buckets(Quota(60, 2))
    assert [buckets.take("a", 0.0) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert buckets.take("b", 0.0) == 0.0


def test_a_crowd_beyond_what_is_kept_shares_one_and_gets_its_own_later() -> None:
    buckets = Buckets(Quota(60, 2), tenants=2)
    assert buckets.take("a", 0.0) == buckets.take("b", 0.0) == 0.0
    assert [buckets.take(name, 0.0) for name in "cde"] == [0.0, 0.0, 1.0]
    assert buckets.take("a", 0.0) == 0.0, "the kept ones have theirs"
    assert [buckets.take("e", 2.0), buckets.take("e", 2.0)] == [0.0, 0.0]
    assert len(buckets) <= 2


def test_a_clock_that_goes_back_stands_still() -> None:
    buckets = Buckets(Quota(60, 1))
    assert buckets.take("a", 100.0) == 0.0
    assert buckets.take("a", 0.0) == 1.0
    assert buckets.take("a", 101.0) == 0.0


@pytest.mark.parametrize(("per_minute", "burst"), [(0, 1), (-1, 1), (float("inf"), 1), (float("nan"), 1), (1, 0)])
def test_a_quota_that_allows_nothing_is_none(per_minute: float, burst: int) -> None:
    with pytest.raises(ValueError, match="more than nothing"):
        Quota(per_minute, burst)


def test_the_error_says_when_to_try_again_and_not_who() -> None:
    error = QuotaExceeded(1.25)
    assert isinstance(error, Retry | Recoverable)
    assert error.retry_after == 1.25
    assert "1.2 s" in str(error)
    assert error.dependency is None
