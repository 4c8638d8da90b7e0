"""Times as people give them: RFC 3339, or relative to now."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

from pydantic import AfterValidator, Field

from afterturn.schemas.errors import ContractError

_RELATIVE = re.compile(r"-([0-9]{1,6})([mhd])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days"}


def resolve_time(text: str, now: datetime) -> datetime:
    """An RFC 3339 time, or one relative to ``now`` (``-7d``, ``-3h``, ``-20m``), in UTC.

    Raises:
        ContractError: where it is neither, or lies before year 1.
    """
    found = _RELATIVE.fullmatch(text)
    try:
        if found:
            return now - timedelta(**{_UNITS[found[2]]: int(found[1])})
        if not re.match(r"\d{4}-\d\d-\d\d", text):
            raise ValueError(text)
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        raise ContractError("invalid", "time", "must be an RFC 3339 time or a relative one as -7d, -3h, -20m") from None


def checked_when(text: str) -> str:
    """The text, if ``resolve_time`` can read it.

    Raises:
        ValueError: it is no time.
    """
    try:
        resolve_time(text, datetime(2026, 1, 1, tzinfo=UTC))
    except ContractError as fault:
        raise ValueError(fault.problem) from None
    return text


When = Annotated[str, Field(max_length=64), AfterValidator(checked_when)]
"""A time as text: RFC 3339, or relative to the instant of the query."""
