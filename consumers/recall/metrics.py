"""What the recall service counts: every name in one place, none with a tenant in it."""

from __future__ import annotations

from typing import Literal

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

REQUESTS = "afterturn_recall_requests"
SECONDS = "afterturn_recall_seconds"
DEGRADED = "afterturn_recall_degraded"
MEMORIES = "afterturn_recall_memories"
AFTER_SECONDS = "afterturn_recall_after_seconds"
OVER_QUOTA = "afterturn_recall_over_quota"
EVENTS = "afterturn_recall_events"
EVENTS_WAITING = "afterturn_recall_events_waiting"
AWAY = "afterturn_recall_away"
BUSY = "afterturn_recall_busy"
IN_FLIGHT = "afterturn_recall_in_flight"
KEYS_STALE = "afterturn_recall_keys_stale"
STREAMS = "afterturn_recall_event_streams"

Ending = Literal["sent", "dropped"]
"""What became of a memory event: Kafka has it, or it was dropped."""
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)


class RecallMetrics:
    """Counters, gauges and histograms in a registry of their own."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.registry = registry
        self._requests = Counter(
            REQUESTS, "Requests answered, by route and status", ["route", "status"], registry=registry
        )
        self._seconds = Histogram(
            SECONDS, "From a request's first byte to its answer", ["route"], buckets=_SECONDS, registry=registry
        )
        self._degraded = Counter(DEGRADED, "Answers that lack something, by what", ["what"], registry=registry)
        self.memories = Counter(MEMORIES, "Memories listed in answers", registry=registry)
        self.after_seconds = Histogram(
            AFTER_SECONDS, "How long queries waited for their own turn", buckets=_SECONDS, registry=registry
        )
        self.over_quota = Counter(OVER_QUOTA, "Requests refused for being over the quota", registry=registry)
        self._events = Counter(EVENTS, "Memory events, by what became of them", ["ending"], registry=registry)
        self.events_waiting = Gauge(EVENTS_WAITING, "Memory events that wait for Kafka", registry=registry)
        self.busy = Counter(BUSY, "Requests refused since too many waited already", registry=registry)
        self.in_flight = Gauge(IN_FLIGHT, "Requests that are worked on", registry=registry)
        self._keys_stale = Gauge(
            KEYS_STALE, "1 while the file of API keys can't be read and the last good keys hold", registry=registry
        )
        self.streams = Gauge(STREAMS, "Event streams that are open", registry=registry)
        self._away = Gauge(AWAY, "1 while this is missing", ["dependency"], registry=registry)

    def answered(self, route: str, status: int, seconds: float) -> None:
        """A request was answered."""
        self._requests.labels(route, str(status)).inc()
        self._seconds.labels(route).observe(seconds)

    def degraded(self, what: tuple[str, ...]) -> None:
        """An answer lacks these."""
        for each in what:
            self._degraded.labels(each).inc()

    def event(self, ending: Ending, count: int = 1) -> None:
        """Memory events came to their end."""
        self._events.labels(ending).inc(count)

    def away(self, dependency: str, *, missing: bool) -> None:
        """A dependency went missing or came back."""
        self._away.labels(dependency).set(missing)

    def keys_stale(self, stale: bool) -> None:
        """The file of keys can't be read, or can be again."""
        self._keys_stale.set(stale)
