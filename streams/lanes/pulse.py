"""The zombie bound: a process that was stopped for longer may have lost its partitions without knowing."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from afterturn.streams.errors import Reopen


class StalePoll(Reopen):
    """The group was not polled for longer than the zombie bound: whoever owns the partition now may be writing."""

    def __init__(self, partition: int, seconds: float) -> None:
        super().__init__(
            f"Partition {partition} was not polled for more than {seconds:.0f} s: it may be another's by now."
        )
        self.partition = partition


class Pulse:
    """Beats with every poll; remembers that a beat came too late, however quickly the next one follows."""

    def __init__(self, bound: float, clock: Callable[[], float] = monotonic) -> None:
        self._bound = bound
        self._clock = clock
        self._last = clock()
        self._gaps = 0

    @property
    def bound(self) -> float:
        """The zombie bound, in seconds."""
        return self._bound

    @property
    def gaps(self) -> int:
        """How often a beat came later than the bound."""
        return self._gaps + (self._clock() - self._last > self._bound)

    @property
    def silence(self) -> float:
        """Seconds since the last beat."""
        return self._clock() - self._last

    def beat(self) -> None:
        """The group was polled."""
        self._gaps = self.gaps
        self._last = self._clock()

    def check(self, partition: int, gaps: int) -> None:
        """Raise ``StalePoll`` where a beat came too late since ``gaps`` was read."""
        if self.gaps != gaps:
            raise StalePoll(partition, self._bound)
