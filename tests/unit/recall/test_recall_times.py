"""What a question says of time, and what a memory says of it."""

from datetime import UTC, date, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.recall_values import LAW

from afterturn.consumers.recall.ranking.times import NO_TIME, Named, asked_time, nearness, tells_when

NOW = datetime(2023, 8, 16, 12, tzinfo=UTC)  # a Wednesday


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("Where was Ada in May 2023?", [Named(5, None, 2023)]),
        ("What broke on 8 May, 2023?", [Named(5, 8, 2023)]),
        ("what broke on may 8th", [Named(5, 8, None)]),
        ("Who came during the last week of August 2023?", [Named(8, None, 2023)]),
        ("What happened between 3rd of June and July 4?", [Named(6, 3, None), Named(7, 4, None)]),
        ("May I have it?", []),
        ("Did they march for June?", [Named(6, None, None)]),
        ("Did they march?", []),
        ("Does June like tea?", []),
        ("", []),
    ],
)
def test_a_month_is_one_only_where_something_says_so(question: str, named: list[Named]) -> None:
    assert list(asked_time(question, NOW).named) == named


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("What did I eat yesterday?", "2023-08-15", "2023-08-15"),
        ("what's on today", "2023-08-16", "2023-08-16"),
        ("Who called last week?", "2023-08-07", "2023-08-13"),
        ("Who called this week?", "2023-08-14", "2023-08-16"),
        ("Where was I last month?", "2023-07-01", "2023-07-31"),
        ("Where was I Last Year?", "2022-01-01", "2022-12-31"),
    ],
)
def test_times_beside_today_are_taken_from_now(question: str, first: str, last: str) -> None:
    (span,) = asked_time(question, NOW).spans
    assert (span.first.isoformat(), span.last.isoformat()) == (first, last)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("When did it break?", True),
        ("since when?", True),
        ("Which month was it?", True),
        ("How long have they been there?", True),
        ("How many weeks passed?", True),
        ("What does she do when it rains?", False),
        ("How many weeks' worth of hats?", True),
        ("How many hats?", False),
    ],
)
def test_whether_a_question_asks_when(question: str, asks: bool) -> None:
    assert asked_time(question, NOW).when is asks


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("It broke yesterday.", True),
        ("We met two weeks ago", True),
        ("Last Friday was fun", True),
        ("in May, I think", True),
        ("It was 2019.", True),
        ("Next autumn, this morning", True),
        ("TOMORROW", True),
        ("I may go there", False),
        ("The hat is blue.", False),
        ("", False),
    ],
)
def test_whether_a_text_names_a_time(text: str, tells: bool) -> None:
    assert tells_when(text) is tells


@LAW
@given(st.text(max_size=200), st.dates())
def test_any_text_and_any_moment_are_taken(text: str, day: date) -> None:
    moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    for question in (text, f"{text} on 31 February 2023 last week in June"):
        assert 0 <= nearness(asked_time(question, NOW), moment) <= 1
    tells_when(text)


@pytest.mark.parametrize("days", range(-20, 30))
def test_nearer_is_better_and_after_is_better_than_before(days: int) -> None:
    asked = asked_time("What happened on 8 May 2023?", NOW)
    there = datetime(2023, 5, 8, 20, tzinfo=UTC)
    near = nearness(asked, there + timedelta(days=days))
    assert near >= nearness(asked, there + timedelta(days=days + (1 if days >= 0 else -1)))
    assert nearness(asked, there) == 1
    if 0 < days < 14:
        assert near > nearness(asked, there - timedelta(days=days))
    if days >= 14 or days <= -7:
        assert near == 0


def test_a_month_without_a_year_is_that_month_of_any_year() -> None:
    asked = asked_time("Where were we in December?", NOW)
    assert nearness(asked, datetime(2020, 12, 31, tzinfo=UTC)) == 1
    assert nearness(asked, datetime(2021, 1, 3, tzinfo=UTC)) == pytest.approx(1 - 3 / 14)
    assert nearness(asked, datetime(2021, 6, 3, tzinfo=UTC)) == 0
    assert nearness(NO_TIME, datetime(2021, 6, 3, tzinfo=UTC)) == 0
