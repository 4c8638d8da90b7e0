"""Kafka's clients for a command: what is waited for is said, and for how long at most."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager

from rich.text import Text

from afterturn.consumers.cli.faults import text_of
from afterturn.consumers.cli.running import err
from afterturn.consumers.settings import ServiceSettings
from afterturn.streams.errors import Retry
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.publisher import TurnPublisher
from afterturn.streams.topics import TopicNames
from afterturn.streams.waiting import Waiter

OnWait = Callable[[Retry, float], None]


async def reached(kafka: KafkaSettings, start: Callable[[OnWait], Awaitable[None]], seconds: float | None) -> None:
    """Start a client; None waits for as long as it takes.

    Raises:
        Retry: Kafka was not there in time; the text has its address.
    """
    try:
        async with asyncio.timeout(seconds):
            await start(saying("waiting" if seconds is None else f"waiting, {seconds:g} s at most"))
    except TimeoutError:
        raise Retry(
            f"Kafka at {kafka.bootstrap_servers} was not there within {seconds:g} s. Is it running? "
            "KAFKA_BOOTSTRAP_SERVERS says where it is.",
            dependency="kafka",
        ) from None


def saying(label: str) -> OnWait:
    """Says on stderr what is waited for: once, until it is something else."""
    last = ""

    def waiting(error: Retry, _delay: float) -> None:
        nonlocal last
        if (text := text_of(error)) != last:
            err.print(Text(f"{label}: {text}", style="yellow"), soft_wrap=True)
        last = text

    return waiting


@asynccontextmanager
async def publishing(
    topics: TopicNames, source: str, seconds: float, *, wait: bool
) -> AsyncIterator[tuple[TurnPublisher, Waiter | None]]:
    """A publisher, and with ``wait`` a waiter that sees the outcome of all it publishes.

    Raises:
        Retry: Kafka was not there within ``seconds``.
    """
    kafka = KafkaSettings()
    log = ServiceSettings()
    publisher = TurnPublisher(kafka, source=source, topics=topics, partitioner=log.partitioner, epoch=log.epoch)
    waiter = Waiter(kafka, topics) if wait else None

    async def start(on_wait: OnWait) -> None:
        await publisher.start(on_wait)
        if waiter is not None:
            await waiter.__aenter__()

    async with AsyncExitStack() as stack:
        stack.push_async_callback(publisher.close)
        if waiter is not None:
            stack.push_async_exit(waiter)
        await reached(kafka, start, seconds)
        yield publisher, waiter
