"""How far a memory is believed at an instant."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.ranking.confidence import belief_of, effective_of
from afterturn.schemas.belief import Belief, effective

AT = datetime(2026, 4, 1, 12, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("confidence", "decay", "days", "expected"),
    [
        (0.8, 0.1, 5, 0.29430),
        (0.9, 0.05, 10, 0.33109),
        (0.7, 0.0, 400, 0.7),
        (0.7, 1.0, 0.99, 0.7),
        (0.7, 1.0, -3, 0.7),
    ],
)
def test_confidence_fades_by_whole_days(confidence: float, decay: float, days: float, expected: float) -> None:
    """Row 34: the checked numbers; a fact of under a day, or of days to come, has not faded."""
    belief = Belief(confidence, decay, AT - days * DAY)
    assert effective(belief, AT) == pytest.approx(expected, abs=5e-6)


@dataclass(frozen=True)
class Window:
    opened: float | None
    closes: float | None
    invalidated: float | None
    expected: float


@pytest.mark.parametrize(
    "window",
    [
        Window(1, None, None, 0.0),  # not yet
        Window(0, None, None, 0.8),  # from now on
        Window(-5, None, None, 0.8 * exp(-1)),  # open: fades from when it opened
        Window(-5, 1, None, 0.8),  # closed: does not fade within
        Window(-5, 0, None, 0.0),  # over: the end is exclusive
        Window(-5, 1, 0, 0.0),  # invalidated now
        Window(-5, 1, 1, 0.8),  # invalidated later
        Window(None, None, 0, 0.0),
        Window(None, -1, None, 0.8 * exp(-2)),  # an end without a beginning is no window
    ],
)
def test_what_holds_at_three_dates(window: Window) -> None:
    """Row 35: valid time and invalidation."""

    def day(offset: float | None) -> datetime | None:
        return None if offset is None else AT + offset * DAY

    belief = Belief(0.8, 0.1, AT - 10 * DAY, day(window.opened), day(window.closes), day(window.invalidated))
    assert effective(belief, AT) == pytest.approx(window.expected)


def test_only_a_revised_content_starts_anew() -> None:
    """Row 36: pinning and the like move another clock."""
    payload = {"confidence": 0.8, "decay": 0.1, "content_revised": "2026-03-27T12:00:00Z"}
    administered = payload | {"metadata_revised": "2026-04-01T12:00:00Z", "pinned": True}
    assert effective_of(administered, AT) == effective_of(payload, AT) == pytest.approx(0.29430, abs=5e-6)
    assert effective_of(payload | {"content_revised": "2026-04-01T00:00:00Z"}, AT) == 0.8
    without = {"confidence": 0.8, "decay": 0.1, "recorded_at": "2026-03-27T12:00:00Z"}
    assert effective_of(without, AT) == effective_of(payload, AT)


@LAW
@given(
    st.floats(0, 1), st.floats(0, 1), st.integers(-400, 400), st.integers(-400, 400) | st.none(),
    st.integers(-400, 400) | st.none(), st.integers(-400, 400) | st.none(),
)  # fmt: skip
def test_nothing_is_believed_more_than_it_was_stated(
    confidence: float, decay: float, revised: int, opened: int | None, closes: int | None, wrong: int | None
) -> None:
    """So the store may leave out what was stated with less than is asked for."""
    times = [None if days is None else AT + days * DAY for days in (revised, opened, closes, wrong)]
    belief = Belief(confidence, decay, *times)
    assert 0 <= effective(belief, AT) <= confidence
    payload: dict[str, Any] = {"confidence": confidence} | ({"decay": decay} if decay else {})
    names = ("content_revised", "valid_from", "valid_to", "invalidated_at")
    payload |= {name: time.isoformat() for name, time in zip(names, times, strict=True) if time}
    assert belief_of(payload) == belief
    assert effective_of(payload, AT) == effective(belief, AT)
