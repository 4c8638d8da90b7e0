"""How long to wait before the next try. Pure: chance is an argument."""

from dataclasses import dataclass

__all__ = ("Backoff",)


@dataclass(frozen=True)
class Backoff:
    """Capped exponential backoff with equal jitter; all in seconds."""

    first: float = 0.2
    cap: float = 15.0
    factor: float = 2.0

    def delay(self, attempt: int, chance: float) -> float:
        """The wait after the `attempt`-th failure (from 1): half to all of the capped step, by `chance` in 0..1."""
        growth = min(max(attempt - 1, 0), 64)  # beyond it a power only overflows
        step = min(self.cap, self.first * self.factor**growth)
        return step / 2 + step / 2 * chance
