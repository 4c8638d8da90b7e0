"""Lines within a budget of characters: what doesn't fit is not written."""

from collections.abc import Iterable


class Sheet:
    """A text in the making.

    ``chars`` is its budget; ``opening`` are lines that come before the first that is written, and never alone.
    """

    def __init__(self, chars: int, opening: Iterable[str] = ()) -> None:
        self._left = chars + 1  # the first line has no line's end before it
        self._opening = tuple(opening)
        self._lines: list[str] = []

    def write(self, *lines: str) -> bool:
        """Write these lines, all or none; whether they fit."""
        written = lines if self._lines else (*self._opening, *lines)
        cost = sum(len(each) + 1 for each in written)
        if cost > self._left:
            return False
        self._left -= cost
        self._lines += written
        return True

    @property
    def text(self) -> str:
        """What was written."""
        return "\n".join(self._lines)
