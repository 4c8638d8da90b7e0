"""What every client shares: how to connect, how to wait for a broker, how to end in bounded time."""

import asyncio
import random
import ssl
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import BadSettings, Retry, UnknownTopic
from afterturn.streams.settings import KafkaSettings

__all__ = (
    "Stopped", "client_options", "let_start", "partition_count", "start_when_available", "stop_in_time",
    "unless_stopped",
)  # fmt: skip

T = TypeVar("T")

# A topic that has just been made is not known to every broker at once.
_LOOK_AGAIN = (0.1, 0.2, 0.3)


async def start_when_available(
    start: Callable[[], Awaitable[T]],
    *,
    backoff: Backoff = Backoff(),  # noqa: B008 - frozen
    on_wait: Callable[[Retry, float], None] | None = None,
) -> T:
    """Call `start` until the broker is there; what it returns.

    Only `Retry` is waited out, for as long as it takes (cancel it to give up); `on_wait` is told the error and the
    seconds until the next try. A wrong password, authority or protocol looks to a client like a broker that is away,
    so a caller should show what it is told.
    """
    attempt = 0
    while True:
        try:
            return await start()
        except Retry as error:
            attempt += 1
            delay = backoff.delay(attempt, random.random())  # noqa: S311 - jitter
            if on_wait is not None:
                on_wait(error, delay)
        await asyncio.sleep(delay)


async def unless_stopped(stop: asyncio.Event, work: Coroutine[Any, Any, T]) -> T:
    """What the work returns, or ``Stopped`` once ``stop`` is set: waiting for a broker must not outlive its process.

    Raises:
        Stopped: ``stop`` was set first; the work was cancelled, and has ended.
    """
    task, stopping = asyncio.ensure_future(work), asyncio.ensure_future(stop.wait())
    try:
        await asyncio.wait({task, stopping}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise Stopped
    finally:
        stopping.cancel()
        if not task.done():
            task.cancel()
            await asyncio.wait({task})


class Stopped(Exception):  # noqa: N818 - what happened, not an error
    """A process was asked to end while it waited for what it needs."""


def client_options(settings: KafkaSettings) -> dict[str, Any]:
    """The client library's options for these settings.

    Raises:
        BadSettings: when they contradict each other, or a certificate cannot be read.
    """
    options: dict[str, Any] = {
        "bootstrap_servers": settings.bootstrap_servers,
        "client_id": settings.client_id,
        "request_timeout_ms": int(settings.request_timeout_s * 1000),
        "security_protocol": settings.security_protocol,
        "retry_backoff_ms": 20,
    }
    if settings.security_protocol.startswith("SASL"):
        if settings.sasl_username is None or settings.sasl_password is None:
            raise BadSettings("KAFKA_SASL_USERNAME", "SASL needs KAFKA_SASL_USERNAME and KAFKA_SASL_PASSWORD")
        options["sasl_mechanism"] = settings.sasl_mechanism
        options["sasl_plain_username"] = settings.sasl_username
        options["sasl_plain_password"] = settings.sasl_password.get_secret_value()
    if settings.security_protocol.endswith("SSL"):
        options["ssl_context"] = _ssl_context(settings)
    return options


def _ssl_context(settings: KafkaSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ssl_cafile)
    except (OSError, ssl.SSLError) as error:
        raise BadSettings("KAFKA_SSL_CAFILE", f"it is no readable PEM file ({type(error).__name__})") from error
    context.check_hostname = settings.ssl_check_hostname
    if settings.ssl_certfile is not None:
        password = settings.ssl_key_password.get_secret_value() if settings.ssl_key_password else None
        try:
            context.load_cert_chain(settings.ssl_certfile, settings.ssl_keyfile, password)
        except (OSError, ssl.SSLError) as error:
            raise BadSettings("KAFKA_SSL_CERTFILE", f"it cannot be loaded ({type(error).__name__})") from error
    return context


async def partition_count(client: Any, topic: str) -> int:  # noqa: ANN401 - the library has no types
    """How many partitions a topic has, asked without making the broker create it.

    The client itself would wait for an unknown topic for its whole request timeout.

    Raises:
        UnknownTopic: when it is not there.
    """
    known = client.cluster.partitions_for_topic(topic)
    for pause in (*_LOOK_AGAIN, None):
        if known:
            return len(known)
        known = (await client.fetch_all_metadata()).partitions_for_topic(topic)
        if not known and pause is not None:
            await asyncio.sleep(pause)
    if not known:
        raise UnknownTopic(topic)
    return len(known)


async def let_start(starting: Awaitable[None], seconds: float = 1.0) -> None:
    """Await a client's start; cancelled, give it so long to come to an end of its own.

    A client that is cancelled while it connects leaves a connection open that nobody can close.
    """
    task = asyncio.ensure_future(starting)
    try:
        await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait({task}, timeout=seconds)
        task.cancel()
        await asyncio.wait({task})
        if not task.cancelled():
            task.exception()
        raise


async def stop_in_time(stopping: Awaitable[None], seconds: float, force: Callable[[], Awaitable[None]]) -> None:
    """End a client in order, and by `force` when that takes longer than `seconds`: a broker may be away for ever."""
    task = asyncio.ensure_future(stopping)
    done, _ = await asyncio.wait({task}, timeout=seconds)
    if not done:
        await force()
        done, _ = await asyncio.wait({task}, timeout=1.0)
        if not done:
            task.cancel()
            await asyncio.wait({task})
    if not task.cancelled():
        task.result()
