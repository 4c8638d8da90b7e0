"""``afterturn events``: the stream of memory events, as lines."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from typing import Annotated

import orjson
import typer
from rich.text import Text

from afterturn.consumers.cli.running import AsJson, log_to_stderr, out, run_until_signal, waiting
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import Recalled, Recorded, Skipped, UnknownEvent
from afterturn.schemas.query import resolve_time
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.subscriber import MemoryEventSubscriber, Received, Since
from afterturn.streams.topics import TopicNames


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(events)


def events(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until Ctrl-C.")] = False,
    since: Annotated[str, typer.Option(help="beginning, now, a time, or -2h, -7d.")] = "beginning",
    tenant: Annotated[list[str] | None, typer.Option(help="Only this tenant's; repeat for several.")] = None,
    type_: Annotated[list[str] | None, typer.Option("--type", help="Only this type, as memory.recorded.")] = None,
    topic_prefix: Annotated[str, typer.Option(envvar="AFTERTURN_TOPIC_PREFIX")] = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Print memory events: what was recorded, skipped, recalled. Counts and names only, never content.

    Examples: `afterturn events --follow`, `afterturn events --since -1h --type memory.skipped --json`
    """
    log_to_stderr("error")
    subscriber = MemoryEventSubscriber(
        KafkaSettings(),
        types=type_,
        tenants=tenant,
        since=_since(since),
        follow=follow,
        topics=TopicNames(topic_prefix),
    )
    run_until_signal(lambda stop: _print_all(subscriber, stop, as_json=as_json))


async def _print_all(subscriber: MemoryEventSubscriber, stop: asyncio.Event, *, as_json: bool) -> None:
    async def reading() -> None:
        await subscriber.start(waiting)
        async for received in subscriber:
            if as_json:
                typer.echo(orjson.dumps(as_dict(received)).decode())
            else:
                out.print(line(received))

    task, stopped = asyncio.create_task(reading()), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
    finally:
        for each in (task, stopped):
            each.cancel()
        await asyncio.wait({task, stopped})
        await subscriber.close()


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
    text = Text(received.published_at.strftime("%H:%M:%S.%f")[:-3] + " ", style="dim")
    name = received.attributes.type.rpartition(".v")[0]
    text.append(f"{name:<20} ", style="yellow" if isinstance(event, Skipped) else "green")
    text.append(f"{event.tenant:<20} ")
    if isinstance(event, Recorded):
        text.append(f"added {event.added}, evicted {event.evicted}, {event.ms:.0f} ms", style="dim")
    elif isinstance(event, Skipped):
        text.append(f"{event.operation}: {event.reason}", style="dim")
    elif isinstance(event, Recalled):
        found = ", ".join(f"{arm} {count}" for arm, count in event.found_by.model_dump().items() if count)
        text.append(f"hits {event.hits} ({found}), {event.tokens} tokens, {event.ms:.1f} ms", style="dim")
    return text


def _since(text: str) -> Since:
    if text == "now":
        return "now"
    if text == "beginning":
        return "beginning"
    try:
        return resolve_time(text, datetime.now(UTC))
    except ContractError:
        raise ContractError("invalid", "--since", "must be beginning, now, a time, or as -20m, -2h, -7d") from None
