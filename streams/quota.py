"""How often each tenant may: token buckets, a number a tenant. Pure: ``now`` is an argument."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

__all__ = ("Buckets", "Quota")


@dataclass(frozen=True, slots=True)
class Quota:
    """At most ``burst`` at once, and ``per_minute`` over time.

    Raises:
        ValueError: one of them allows nothing.
    """

    per_minute: float
    burst: int = 10

    def __post_init__(self) -> None:
        if not 0 < self.per_minute < float("inf") or self.burst < 1:
            raise ValueError("a quota allows more than nothing: per_minute above 0, burst at least 1")

    @property
    def interval(self) -> float:
        """Seconds after which a bucket holds one more."""
        return 60.0 / self.per_minute


@dataclass(slots=True)
class Buckets:
    """A bucket a tenant, each full at first.

    Of a bucket only the moment is kept at which it is full again; full ones are forgotten. At most ``tenants`` are
    kept: while that many are not full, further tenants share one bucket, so that no crowd gets past the quota.
    """

    quota: Quota
    tenants: int = 10_000
    _full_at: dict[str, float] = field(default_factory=dict[str, float])
    _soonest: list[tuple[float, str]] = field(default_factory=list[tuple[float, str]])
    _shared: float = 0.0
    _latest: float = 0.0

    def __len__(self) -> int:
        """How many tenants are kept."""
        return len(self._full_at)

    def take(self, tenant: str, now: float) -> float:
        """Take one of a tenant's; 0 if it was there, else the seconds until one is, and nothing is taken.

        ``now``: seconds of a clock that doesn't go back; where it does, it stands still.
        """
        now = self._latest = max(now, self._latest)
        known = tenant in self._full_at
        if not known and len(self._full_at) >= self.tenants:
            self._forget_full(now)
        own = known or len(self._full_at) < self.tenants
        # One that has shared may have taken of that bucket: its own begins where the shared one stands.
        full_at = max(now, self._full_at[tenant] if known else self._shared) + self.quota.interval
        wait = full_at - now - self.quota.burst * self.quota.interval
        if wait > self.quota.interval * 1e-9:
            return wait
        if not own:
            self._shared = full_at
            return 0.0
        self._full_at[tenant] = full_at
        if not known:
            heapq.heappush(self._soonest, (full_at, tenant))
        return 0.0

    def _forget_full(self, now: float) -> None:
        """Forget the buckets that are full; what the heap says of the others may be too early."""
        while self._soonest and self._soonest[0][0] <= now:
            _, tenant = heapq.heappop(self._soonest)
            full_at = self._full_at[tenant]
            if full_at <= now:
                del self._full_at[tenant]
            else:
                heapq.heappush(self._soonest, (full_at, tenant))
