"""``afterturn events``: the stream of memory events, as lines."""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import AsyncIterable, AsyncIterator, Coroutine
from datetime import UTC, datetime
from typing import Annotated, Any

import orjson
import typer
from rich.text import Text

from afterturn.consumers.cli.connecting import reached
from afterturn.consumers.cli.options import AsJson, TopicPrefix
from afterturn.consumers.cli.running import log_to_stderr, out, run_until_signal
from afterturn.consumers.cli.wording import counted, printable
from afterturn.consumers.settings import ServiceSettings
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import MemoryEvent, Recalled, Skipped, UnknownEvent
from afterturn.schemas.when import resolve_time
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber, Received, Since
from afterturn.streams.topics import TopicNames

GIVE_UP_S = 30.0
"""How long a command that doesn't follow waits for Kafka."""
HELD = 20_000
"""How many events are held to print them in the order of time: partitions are read side by side."""
_NO_COUNTS = {"tenant", "command", "thread", "turn_id", "at", "ms", "usage"}


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(events)


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    since: Annotated[str, typer.Option(help="beginning, now, a time, or -2h, -7d.")] = "beginning",
    tenant: Annotated[list[str] | None, typer.Option(help="Only this tenant's; repeat for several.")] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="Only this type, as memory.recorded.")] = None,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Print memory events: what was recorded, skipped, recalled. Counts and names only, never content.

    Without --follow it ends at what is there, in the order of time, and gives up on a Kafka that is away after 30 s.

    Examples:

    ```sh
    afterturn events --follow
    afterturn events --since -1h --type memory.skipped --json
    ```
    """
    log_to_stderr("critical")
    kafka = KafkaSettings()
    subscriber = MemoryEventSubscriber(
        kafka,
        types=type_,
        tenants=tenant,
        since=_since(since),
        follow=follow,
        topics=TopicNames(topic_prefix),
        partitioner=ServiceSettings().partitioner,
    )

    async def reading() -> None:
        await reached(kafka, subscriber.start, None if follow else GIVE_UP_S)
        async for received in subscriber if follow else in_time(subscriber):
            print_one(received, as_json=as_json)
            await asyncio.sleep(0)  # a backlog must not keep Ctrl-C waiting

    run_until_signal(lambda stop: _until(stop, reading(), subscriber))


async def _until(stop: asyncio.Event, work: Coroutine[Any, Any, None], subscriber: MemoryEventSubscriber) -> None:
    task, stopped = asyncio.create_task(work), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.wait({task, stopped})
        await subscriber.close()


async def in_time(events: AsyncIterable[Received], held: int = HELD) -> AsyncIterator[Received]:
    """Events in the order of time, as far as those that change places are not more than ``held`` apart."""
    heap: list[tuple[datetime, int, int, Received]] = []
    async for each in events:
        heapq.heappush(heap, (each.published_at, each.partition, each.offset, each))
        if len(heap) > held:
            yield heapq.heappop(heap)[-1]
    while heap:
        yield heapq.heappop(heap)[-1]


def print_one(received: Received, *, as_json: bool) -> None:
    """Print an event on one line, however long it is."""
    if as_json:
        typer.echo(orjson.dumps(as_dict(received)).decode())
    else:
        out.print(line(received), soft_wrap=True)


def as_dict(received: Received) -> dict[str, object]:
    """An event with its CloudEvents attributes, as JSON values."""
    event = received.event
    body = event.body if isinstance(event, UnknownEvent) else event.model_dump(mode="json", exclude_none=True)
    return {
        "id": received.attributes.id,
        "type": received.attributes.type,
        "published_at": received.published_at.isoformat(),
        "partition": received.partition,
        "offset": received.offset,
        "data": body,
    }


def line(received: Received) -> Text:
    """An event as one line."""
    event = received.event
    text = Text(received.published_at.strftime("%Y-%m-%d %H:%M:%S.%f")[:-3] + "Z ", style="dim")
    name = received.attributes.type.rpartition(".v")[0]
    text.append(f"{name:<20} ", style="yellow" if isinstance(event, Skipped) else "green")
    text.append(f"{printable(event.tenant):<20} ")
    if isinstance(event, UnknownEvent):
        return text
    if turn := "/".join(filter(None, (event.thread, event.turn_id))):
        text.append(f"{printable(turn)} ")
    return text.append(_said(event), style="dim")


def counts_of(event: MemoryEvent) -> dict[str, Any]:
    """What an event counts, by field."""
    return event.model_dump(mode="json", exclude=_NO_COUNTS, exclude_none=True)


def _said(event: MemoryEvent) -> str:
    if isinstance(event, Skipped):
        return f"{event.operation}: {event.reason}{f' ({event.error})' if event.error else ''}"
    if isinstance(event, Recalled):
        found = ", ".join(f"{arm} {count}" for arm, count in event.found_by.model_dump().items() if count)
        degraded = f", degraded: {', '.join(event.degraded)}" if event.degraded else ""
        hits = f"{counted(event.hits, 'hit')}{f' ({found})' if found else ''}"
        return f"{hits}, {counted(event.tokens, 'token')}, {event.ms:.1f} ms{degraded}"
    counts = counts_of(event)
    told = [f"{name} {count}" for name, count in counts.items() if count or name == "added"]
    return ", ".join([*told, f"{event.ms:.0f} ms"])


def _since(text: str) -> Since:
    if text == "now":
        return "now"
    if text == "beginning":
        return "beginning"
    try:
        return resolve_time(text, datetime.now(UTC))
    except ContractError:
        raise ContractError("invalid", "--since", "must be beginning, now, a time, or as -20m, -2h, -7d") from None
