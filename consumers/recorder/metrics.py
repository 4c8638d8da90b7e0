"""What a recorder counts; no name carries a tenant."""

from __future__ import annotations

import logging

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from afterturn.streams.errors import Reopen, Retry
from afterturn.streams.lanes.seam import Applied

_LOG = logging.getLogger("afterturn.recorder")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RecorderMetrics:
    """Counts what lanes do, and says the rare things in the log: openings, retries, reopenings."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.records = Counter(
            "afterturn_recorder_records",
            "Records consumed, by ending: consumed = applied + duplicate + skipped + dead_lettered",
            ["ending"],
            registry=registry,
        )
        self.evicted = Counter("afterturn_recorder_evicted", "Memories that left by the bound", registry=registry)
        self.batches = Histogram(
            "afterturn_recorder_batch_seconds",
            "From taking a batch to its commit",
            buckets=_SECONDS,
            registry=registry,
        )
        self.lanes = Gauge("afterturn_recorder_lanes", "Lanes that are open", registry=registry)
        self.retries = Counter(
            "afterturn_recorder_retries", "Tries that failed because a dependency was away", ["dependency"],
            registry=registry,
        )  # fmt: skip
        self.openings = Counter("afterturn_recorder_openings", "Lanes opened", registry=registry)
        self.reopenings = Counter(
            "afterturn_recorder_reopenings", "Lanes closed to open anew, by cause", ["cause"], registry=registry
        )
        self.away: dict[str, str] = {}
        self._open: set[int] = set()

    def opened(self, partition: int, checkpoint: int, committed: int | None) -> None:
        """A lane opened."""
        self._open.add(partition)
        self.lanes.set(len(self._open))
        self.openings.inc()
        if committed is None:
            _LOG.info("lane %d: the group has no committed offset, starting at checkpoint %d", partition, checkpoint)
        elif committed != checkpoint:
            what = "heals the store" if checkpoint < committed else "reports recorded outcomes"
            _LOG.warning("lane %d: checkpoint %d, committed %d: %s", partition, checkpoint, committed, what)

    def applied(self, partition: int, applied: Applied, seconds: float) -> None:
        """A batch was committed: what was away is back."""
        del partition
        self.away.clear()
        for ending, count in applied.endings.items():
            self.records.labels(ending).inc(count)
        self.evicted.inc(applied.evicted)
        self.batches.observe(seconds)

    def retried(self, partition: int, error: Retry, delay: float) -> None:
        """A dependency is away."""
        self.retries.labels(error.dependency or "other").inc()
        self.away[error.dependency or "other"] = str(error)
        _LOG.warning("lane %d: %s Next try in %.1f s.", partition, error, delay)

    def reopened(self, partition: int, error: Reopen) -> None:
        """A lane closes to open anew."""
        self.closed(partition)
        self.reopenings.labels(type(error).__name__).inc()
        _LOG.warning("lane %d reopens: %s", partition, error)

    def closed(self, partition: int) -> None:
        """A lane closed."""
        self._open.discard(partition)
        self.lanes.set(len(self._open))
