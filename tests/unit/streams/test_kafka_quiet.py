"""The client library's log: one line a kind and interval, with a count of what was left out, and no contents."""

import logging

import pytest

import afterturn.streams.kafka  # noqa: F401 - so that the library's loggers are there
from afterturn.streams.kafka.quiet import RateLimit, quiet_client_logs


class Clock:
    """A clock that a test sets."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def record(text: str, *args: object, level: int = logging.ERROR) -> logging.LogRecord:
    return logging.LogRecord("aiokafka.client", level, __file__, 1, text, args, None)


def test_one_of_a_kind_passes_in_an_interval_and_the_next_says_how_many_did_not() -> None:
    clock = Clock()
    limit = RateLimit(30.0, clock)
    assert limit.filter(record("no connection to %s", "a"))
    clock.now = 29.9
    assert not any(limit.filter(record("no connection to %s", at)) for at in range(2_400))
    assert limit.filter(record("another kind"))
    assert limit.filter(record("no connection to %s", "a", level=logging.WARNING))
    clock.now = 30.0
    later = record("no connection to %s", "b")
    assert limit.filter(later)
    assert later.getMessage() == "no connection to b (2400 more like it were left out)"
    clock.now = 60.0
    last = record("no connection to %s", "c")
    assert limit.filter(last)
    assert last.getMessage() == "no connection to c"


def test_debug_records_never_pass() -> None:
    """The library's debug lines hold keys and values."""
    assert not RateLimit().filter(record("Sending (key=%s value=%s)", b"k", b"v", level=logging.DEBUG))


def test_every_logger_of_the_library_is_limited_once(caplog: pytest.LogCaptureFixture) -> None:
    quiet_client_logs()
    quiet_client_logs()
    logger = logging.getLogger("aiokafka.consumer.fetcher")
    limits = [each for each in logger.filters if isinstance(each, RateLimit)]
    try:
        assert len(limits) == 1
        for _ in range(50):
            logger.error("a line that this test alone writes")
        assert [each.message for each in caplog.records] == ["a line that this test alone writes"]
        assert not any(isinstance(each, RateLimit) for each in logging.getLogger("afterturn").filters)
    finally:
        for name in logging.Logger.manager.loggerDict:
            for each in limits:
                logging.getLogger(name).removeFilter(each)
