"""The client library's log, made bearable: up to 2,400 error lines a second come while a broker is away."""

import logging
import time
from collections.abc import Callable

from aiokafka import __name__ as _library

__all__ = ("RateLimit", "quiet_client_logs")


class RateLimit(logging.Filter):
    """Lets one record a kind (logger, level and template) through every `seconds`, and says how many it held back.

    Debug records never pass: the library writes keys and values into them.
    """

    def __init__(self, seconds: float = 30.0, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._seconds = seconds
        self._clock = clock
        self._seen: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written."""
        if record.levelno <= logging.DEBUG:
            return False
        kind, now = (record.name, record.levelno, str(record.msg)), self._clock()
        last, held = self._seen.get(kind, (None, 0))
        if last is not None and now - last < self._seconds:
            self._seen[kind] = (last, held + 1)
            return False
        self._seen[kind] = (now, 0)
        if held:
            record.msg = f"{record.getMessage()} ({held} more like it were left out)"
            record.args = None
        return True


def quiet_client_logs(seconds: float = 30.0) -> None:
    """Rate-limit every logger of the client library; once a process, and again does no harm."""
    limit = RateLimit(seconds)
    for name in sorted(logging.Logger.manager.loggerDict):
        if name != _library and not name.startswith(f"{_library}."):
            continue
        # A logger's filter sees its own records only, not those of the loggers below it.
        logger = logging.getLogger(name)
        if not any(isinstance(each, RateLimit) for each in logger.filters):
            logger.addFilter(limit)
