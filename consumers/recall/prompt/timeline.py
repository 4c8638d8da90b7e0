"""The prompt section: what was recalled as a timeline.

[8 May 2023, 13:56]
Ada: I have found the bug.
Ben: Where was it? In the parser?

A line is a date header or one memory. Line breaks in a memory become spaces, so no text can write a header or a line of
another author, and none takes more characters than packing counted.
"""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime

from afterturn.consumers.recall.ranking.candidates import Candidate, session, time_order
from afterturn.schemas.guarding import line

MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip
"""English whatever the locale: the lexical arm knows the same names."""
_MONTH_CHARS = tuple(map(len, MONTHS))


def render(chosen: Iterable[Candidate], texts: Mapping[str, str]) -> str:
    """Return the chosen memories in time order, under one date header for each thread and day.

    The header carries the time of the block's first memory; blocks stand in the order of these times. A memory whose
    text is not in `texts` (it may have gone since it was ranked) is left out. Nothing chosen gives an empty text.
    """
    blocks: dict[tuple[str, int], list[str]] = {}
    for candidate in sorted((entry for entry in chosen if entry.id in texts), key=time_order):
        block = blocks.setdefault(session(candidate), [])
        if not block:
            block.append(f"[{date_of(candidate.occurred_at)}]")
        block.append(f"{line(candidate.speaker)}: {line(texts[candidate.id])}")
    return "\n".join(line for block in blocks.values() for line in block)


def date_of(moment: datetime) -> str:
    """Return a time as headers show it, in UTC: 8 May 2023, 13:56."""
    moment = moment.astimezone(UTC)
    return f"{moment.day} {MONTHS[moment.month - 1]} {moment.year}, {moment.hour:02}:{moment.minute:02}"


def date_chars(moment: datetime) -> int:
    """Return how many characters `date_of` gives: packing asks for every candidate."""
    moment = moment.astimezone(UTC)
    return len(f"{moment.day}{moment.year}") + _MONTH_CHARS[moment.month - 1] + len("  , 13:56")
