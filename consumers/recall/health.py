"""What a recall service lacks, and what ends it."""

from __future__ import annotations

import asyncio
import logging

from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.streams.errors import Retry, Stop

_LOG = logging.getLogger("afterturn.recall")
PARTS = ("qdrant", "collection", "kafka")


class Health:
    """What is missing, by dependency and with the reason; and the error that ends the process, once there is one.

    Attributes:
        missing: empty when the service is ready.
        failed: done, with the error, when the service cannot go on.
    """

    def __init__(self, metrics: RecallMetrics) -> None:
        self.missing: dict[str, str] = {}
        self.failed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._metrics = metrics
        for part in PARTS:
            self.away(part, "not reached yet")

    def away(self, part: str, why: str) -> None:
        """A part is missing."""
        self.missing[part] = why
        self._metrics.away(part, missing=True)

    def here(self, part: str) -> None:
        """A part is there."""
        if self.missing.pop(part, None) is not None:
            _LOG.info("%s is there", part)
            self._metrics.away(part, missing=False)

    def on_wait(self, error: Retry, delay: float) -> None:
        """Say that a dependency is away; whoever waits for it tries again by itself."""
        self.away(error.dependency or "other", str(error))
        _LOG.warning("waiting: %s Next try in %.1f s.", error, delay)

    def fail(self, error: Stop) -> None:
        """End the process with this error; the first one counts."""
        if not self.failed.done():
            self.failed.set_exception(error)
