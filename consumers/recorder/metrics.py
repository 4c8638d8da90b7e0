"""What a recorder counts: every name in one place, none with a tenant in it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from time import monotonic

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from afterturn.streams.errors import Buried, Reopen, Retry
from afterturn.streams.lanes.seam import Applied

_LOG = logging.getLogger("afterturn.recorder")
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class Phases:
    """A clock that is asked after each step of a batch: the seconds of each, by its name."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = monotonic()

    def passed(self, phase: str) -> None:
        """The phase has just ended."""
        now = monotonic()
        self.seconds[phase] = self.seconds.get(phase, 0.0) + now - self._last
        self._last = now


class RecorderMetrics:
    """Counts what lanes do, and says the rare things in the log: openings, retries, reopenings."""

    def __init__(self, registry: CollectorRegistry) -> None:
        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"afterturn_recorder_{name}", says, labels, registry=registry)

        def seconds(name: str, says: str, *labels: str) -> Histogram:
            return Histogram(f"afterturn_recorder_{name}_seconds", says, labels, buckets=_SECONDS, registry=registry)

        self.records = counter(
            "records", "Records consumed, by ending: consumed = applied + duplicate + skipped + dead_lettered", "ending"
        )
        self.skipped = counter("skipped", "Commands left out, by operation and reason", "operation", "reason")
        self.dead_letters = counter("dead_letters", "Records that became dead letters, by reason", "reason")
        self.evicted = counter("evicted", "Memories that left by the bound")
        self.unembedded = counter("unembedded", "Memories kept without a vector, since the embedder refused their text")
        self.batches = seconds("batch", "From taking a batch to its commit")
        self.phases = seconds("phase", "Of a batch, by step: decode, read, plan, sweep, embed, write, commit", "phase")
        self.lanes = Gauge("afterturn_recorder_lanes", "Lanes that are open", registry=registry)
        self.waiting = Gauge(
            "afterturn_recorder_lanes_waiting",
            "Lanes that wait since the store refused record after record",
            registry=registry,
        )
        self.retries = counter("retries", "Tries that failed because a dependency was away or refused", "dependency")
        self.openings = counter("openings", "Lanes opened")
        self.reopenings = counter("reopenings", "Lanes closed to open anew, by cause", "cause")
        self._trouble: dict[int, tuple[str, str]] = {}
        self._open: set[int] = set()
        self._waiting: set[int] = set()

    @property
    def away(self) -> Mapping[str, str]:
        """By dependency, what keeps a lane from going on."""
        return dict(self._trouble.values())

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
        """A batch was committed: what this lane missed is back."""
        self._trouble.pop(partition, None)
        self._waits(partition, waits=False)
        for ending, count in applied.endings.items():
            self.records.labels(ending).inc(count)
        for (operation, reason), count in applied.skipped.items():
            self.skipped.labels(operation, reason).inc(count)
        for reason, count in applied.dead.items():
            self.dead_letters.labels(reason).inc(count)
        self.evicted.inc(applied.evicted)
        self.unembedded.inc(applied.unembedded)
        self.batches.observe(seconds)
        for phase, spent in applied.phases.items():
            self.phases.labels(phase).observe(spent)

    def retried(self, partition: int, error: Retry, delay: float) -> None:
        """A dependency is away, or refuses."""
        self.retries.labels(error.dependency or "other").inc()
        self._trouble[partition] = (error.dependency or "other", str(error))
        _LOG.warning("lane %d: %s Next try in %.1f s.", partition, error, delay)

    def waits(self, partition: int, seconds: float) -> None:
        """The store refused record after record."""
        self._waits(partition, waits=True)
        text = f"lane {partition} waits {seconds:.0f} s: the store refuses record after record"
        self._trouble[partition] = ("qdrant", text)
        _LOG.error("%s; nothing more becomes a dead letter before one is taken", text)

    def moved(self, partition: int, committed: int, position: int, why: str) -> None:
        """The group's committed offset was moved."""
        _LOG.warning("lane %d: the committed offset goes from %d to %d: %s", partition, committed, position, why)

    def reopened(self, partition: int, error: Reopen) -> None:
        """A lane closes to open anew."""
        self._closed(partition)
        self.reopenings.labels(type(error).__name__).inc()
        if isinstance(error, Buried):
            _LOG.error("lane %d: %s It heals over it.", partition, error)
        else:
            _LOG.warning("lane %d reopens: %s", partition, error)

    def closed(self, partition: int) -> None:
        """A lane closed, and is another's."""
        self._closed(partition)
        self._trouble.pop(partition, None)
        self._waits(partition, waits=False)

    def _closed(self, partition: int) -> None:
        self._open.discard(partition)
        self.lanes.set(len(self._open))

    def _waits(self, partition: int, *, waits: bool) -> None:
        (self._waiting.add if waits else self._waiting.discard)(partition)
        self.waiting.set(len(self._waiting))


class LagCollector(Collector):
    """Asked at each scrape: how many records each lane has before it, as far as Kafka has told."""

    def __init__(self, lags: Callable[[], Mapping[int, int]]) -> None:
        self._lags = lags

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The gauge, by partition."""
        family = GaugeMetricFamily(
            "afterturn_recorder_lag", "Records on the log that are not committed yet", labels=["partition"]
        )
        for partition, lag in self._lags().items():
            family.add_metric([str(partition)], lag)
        yield family
