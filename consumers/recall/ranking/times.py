"""What a question wants to know of time, and what a memory says of it. English, as the lexical arm's months. Pure.

Two cues. A question may ask when ("When did …", "which month …"): what names a time then answers it. Or it names one
("in May 2023", "on 8 May", "last week"): then what was said at that time is meant, or soon after, as people tell what
has happened; less what was said a little before, as they tell what they plan.
"""

from __future__ import annotations

import re
from calendar import monthrange
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from typing import NamedTuple

_MONTHS = (
    "january", "february", "march", "april", "may", "june",
    "july", "august", "september", "october", "november", "december",
)  # fmt: skip
_MONTH = "|".join(_MONTHS)
_DAY_NAME = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_PERIOD = rf"(?:day|week|weekend|month|year|night|morning|evening|summer|winter|spring|autumn|fall|{_DAY_NAME})"
_COUNT = r"(?:a|an|one|two|three|four|five|six|seven|eight|nine|ten|\d+|a few|a couple of|several)"
_TELLS = re.compile(
    rf"\b(?:yesterday|today|tonight|tomorrow|ago|since|weekend|(?:last|next|this|past) (?:few )?{_PERIOD}s?|{_DAY_NAME}"
    rf"|(?:{_MONTH.replace('|may', '')})|(?:in|of|on|since|until|last|next) may|(?:19|20)\d\d"
    rf"|{_COUNT} (?:days?|weeks?|months?|years?))\b",
    re.IGNORECASE,
)
_CUES = (
    "day", "week", "month", "year", "ago", "since", "night", "19", "20", "last ", "next ", "past ", "this ", "tomorrow",
    *_MONTHS,
)  # fmt: skip
"""No time is named without one of these: looked for first, as that is quicker by far."""
_ASKS = re.compile(
    r"^\W*(?:(?:since|until|by) )?when\b"
    r"|\b(?:what|which) (?:date|day|month|year|time|week|weekend|season)\b"
    r"|\bhow (?:long|many (?:days|weeks|months|years))\b",
    re.IGNORECASE,
)
_BEFORE = r"(?:in|on|of|by|since|until|till|before|after|during|last|this|early|mid|late|around|for|from)"
_DAY, _YEAR = r"(?P<{}>\d{{1,2}})(?:st|nd|rd|th)?", r"(?P<year>(?:19|20)\d\d)"
# A month's name alone may be another word (may, march) or a name: something beside it says that it is a month.
_NAMED = re.compile(
    rf"\b(?:{_DAY.format('day1')},? (?:of )?(?P<month1>{_MONTH})"
    rf"|(?:{_BEFORE} )?(?P<month2>{_MONTH}) {_DAY.format('day2')}(?!\d)|{_BEFORE} (?P<month3>{_MONTH})"
    rf"|(?P<month4>{_MONTH})(?=,? (?:19|20)\d\d))(?:,? (?:of )?{_YEAR})?\b",
    re.IGNORECASE,
)
_RELATIVE = re.compile(r"\b(yesterday|today|(?:last|this) (?:week|month|year))\b", re.IGNORECASE)
_AFTER_DAYS, _BEFORE_DAYS, _BEFORE_SHARE = 14, 7, 0.5


class Span(NamedTuple):
    """Days, both included."""

    first: date
    last: date


class Named(NamedTuple):
    """A month or a day of it, of one year or of any."""

    month: int
    day: int | None
    year: int | None


class AskedTime(NamedTuple):
    """What a question says of time.

    Attributes:
        when: Whether it asks when.
        named: The months and days it names.
        spans: The times it names beside today.
    """

    when: bool = False
    named: tuple[Named, ...] = ()
    spans: tuple[Span, ...] = ()


NO_TIME = AskedTime()


def asked_time(question: str, now: datetime) -> AskedTime:
    """Return what the question says of time; "last week" is taken from `now`, in UTC."""
    named = tuple(_named(question))
    spans = tuple(_span(found[1].lower(), now.astimezone(UTC).date()) for found in _RELATIVE.finditer(question))
    return AskedTime(_ASKS.search(question) is not None, named, spans)


def tells_when(text: str) -> bool:
    """Return whether a text names a time: yesterday, last Friday, two weeks ago, in May, 2023."""
    folded = text.lower()
    return any(cue in folded for cue in _CUES) and _TELLS.search(folded) is not None


def nearness(asked: AskedTime, moment: datetime) -> float:
    """Return how near to the time a question names something was said: 1 then, 0 far from it or where it names none."""
    if not asked.named and not asked.spans:
        return 0.0
    day = moment.astimezone(UTC).date()
    spans = [*asked.spans, *(span for named in asked.named for span in _spans(named, day.year))]
    return max((_near(span, day) for span in spans), default=0.0)


def _named(question: str) -> Iterator[Named]:
    for found in _NAMED.finditer(question):
        parts = found.groupdict()
        month = parts["month1"] or parts["month2"] or parts["month3"] or parts["month4"]
        day, year = parts["day1"] or parts["day2"], parts["year"]
        yield Named(_MONTHS.index(month.lower()) + 1, int(day) if day else None, int(year) if year else None)


def _spans(named: Named, year: int) -> Iterator[Span]:
    """Yield the days meant in the year named, or in the years around the one given."""
    for each in (year - 1, year, year + 1) if named.year is None else (named.year,):
        try:
            first = date(each, named.month, named.day or 1)
        except ValueError:  # no such day in this year, or no such year
            continue
        yield Span(first, first if named.day else first.replace(day=monthrange(each, named.month)[1]))


def _span(words: str, today: date) -> Span:
    which, _, period = words.partition(" ")
    if not period:
        day = today - timedelta(days=1) if which == "yesterday" else today
        return Span(day, day)
    first = _start(period, today)
    if which == "last":
        last = first - timedelta(days=1)
        return Span(_start(period, last), last)
    return Span(first, today)


def _start(period: str, day: date) -> date:
    if period == "week":
        return day - timedelta(days=day.weekday())
    return day.replace(day=1) if period == "month" else day.replace(month=1, day=1)


def _near(span: Span, day: date) -> float:
    if day > span.last:
        return max(0.0, 1 - (day - span.last).days / _AFTER_DAYS)
    if day < span.first:
        return _BEFORE_SHARE * max(0.0, 1 - (span.first - day).days / _BEFORE_DAYS)
    return 1.0
