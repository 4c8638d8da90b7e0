"""What the texts that were found are looked at for: only what a question gives a reason to. Pure."""

from __future__ import annotations

from typing import NamedTuple

from afterturn.consumers.recall.ranking.addressing import only_addresses
from afterturn.consumers.recall.ranking.scoring import NOBODY, Favour
from afterturn.consumers.recall.ranking.times import tells_when
from afterturn.consumers.recall.ranking.wanted import NOTHING, Wanted, answers


class Seen(NamedTuple):
    """What a text was seen to say."""

    tells_when: bool = False
    answers: bool = False
    addresses: bool = False


class Looking(NamedTuple):
    """What to look for. Each costs a look at every text.

    Attributes:
        times: Whether it names a time.
        wanted: The kind of thing asked for: whether it names one.
        speech: Whose messages are favoured: whether one of them only speaks to another.
    """

    times: bool = False
    wanted: Wanted = NOTHING
    speech: Favour = NOBODY

    def at(self, text: str, author: str, role: str) -> Seen:
        """What a text says of it; of what isn't looked for, nothing."""
        times, sought, speech = self
        favoured = author == speech.author or role == speech.role
        return Seen(
            times and tells_when(text),
            sought is not NOTHING and answers(sought, text),
            favoured and only_addresses(text),
        )


NOWHERE = Looking()
