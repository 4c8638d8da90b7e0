"""Whether a text only speaks to another: "you", and neither "I" nor "we". English. Pure.

Asked about somebody, their own messages are favoured for what they tell of themselves: "Congratulations, you must be
proud" tells of the other.
"""

import re

_TO_ANOTHER = re.compile(r"\byou(?:r|rs|rself)?\b")
_OF_ITSELF = re.compile(r"\b(?:i|m[ey]|we|our|us|mine|myself)\b")


def only_addresses(text: str) -> bool:
    """Return whether a text says "you" and does not speak of who says it."""
    folded = text.lower()
    return "you" in folded and _OF_ITSELF.search(folded) is None and _TO_ANOTHER.search(folded) is not None
