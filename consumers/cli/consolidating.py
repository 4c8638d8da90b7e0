"""``afterturn consolidate``: one pass over what is due, now."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any

import orjson
import typer
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.connecting import publishing
from afterturn.consumers.cli.options import AsJson, TopicPrefix
from afterturn.consumers.cli.running import EXIT_STOP, log_to_stderr, need_service, out, tell
from afterturn.consumers.cli.wording import counted, printable
from afterturn.streams.topics import TopicNames

if TYPE_CHECKING:
    from afterturn.consumers.consolidator.passing import Done, Due


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(consolidate)


def consolidate(
    tenants: Annotated[
        list[str] | None, typer.Option("--tenant", help="Only this tenant's; repeat for several. Else everybody's.")
    ] = None,
    summariser: Annotated[
        str, typer.Option(help="What writes summaries: extractive, or openai:<model>.")
    ] = "extractive",
    most: Annotated[int, typer.Option("--most", help="Groups a tenant at most; the rest is left.", min=1)] = 20,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what is due; ask no model, publish nothing.")] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first summary that can't be used.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for Kafka at most.", min=1)] = 60.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Summarise groups of old memories that are due. The recorder puts each summary in its group's place, in order.

    Examples:

    ```sh
    afterturn consolidate --dry-run
    afterturn consolidate --tenant ada --summariser openai:gpt-5-mini
    ```
    """
    need_service()
    log_to_stderr("critical")
    found, done = asyncio.run(
        _pass(tenants, None if dry_run else summariser, most, TopicNames(topic_prefix), timeout, strict=strict)
    )
    rows = [_row(each) | ({} if dry_run else _result(done.get(each.tenant))) for each in found]
    if as_json:
        typer.echo(orjson.dumps(rows).decode())
    else:
        _show(rows, dry_run=dry_run)
    if any(each.failed for each in done.values()):
        raise typer.Exit(EXIT_STOP)


async def _pass(
    tenants: list[str] | None, summariser: str | None, most: int, topics: TopicNames, timeout: float, *, strict: bool
) -> tuple[list[Due], dict[str, Done]]:
    from afterturn.consumers.consolidator.passing import SOURCE, consolidate, due
    from afterturn.consumers.consolidator.summarising.registry import open_summariser
    from afterturn.consumers.store.browse import BrowseStore
    from afterturn.consumers.store.client import opened
    from afterturn.consumers.store.select import SelectStore
    from afterturn.consumers.store.settings import StoreSettings

    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(opened(StoreSettings()))
        states = [state async for page in SelectStore(client).tenants(1_000) for state in page.values()]
        wanted = [each for each in states if each.live and (tenants is None or each.tenant in tenants)]
        now = datetime.now(UTC)
        reads = BrowseStore(client)
        found = [await due(reads, state, now, most) for state in sorted(wanted, key=lambda state: state.tenant)]
        if summariser is None or not any(each.groups for each in found):
            return found, {}
        made = await open_summariser(summariser)
        stack.push_async_callback(made.close)
        publisher, _ = await stack.enter_async_context(publishing(topics, SOURCE, timeout, wait=False))
        done: dict[str, Done] = {}
        for each in found:
            done[each.tenant] = await consolidate(
                each, made, lambda made_: publisher.publish_command(made_.command, ce_id=made_.ce_id), strict=strict
            )
        return found, done


def _row(due: Due) -> dict[str, Any]:
    return {
        "tenant": due.tenant,
        "groups": len(due.groups),
        "memories": sum(len(group.sources) for group in due.groups),
        "left": due.left,
    }


def _result(done: Done | None) -> dict[str, Any]:
    if done is None:
        return {"published": 0, "failed": 0, "usage": {}}
    return {"published": done.published, "failed": done.failed, "usage": done.usage.model_dump(exclude_defaults=True)}


def _show(rows: list[dict[str, Any]], *, dry_run: bool) -> None:
    due = [row for row in rows if row["groups"] or row["left"]]
    if not due:
        tell("green", "nothing is due", "", out)
        return
    names = ("tenant", "groups", "memories", "left", *(() if dry_run else ("published", "failed")))
    table = Table(box=None, pad_edge=False)
    for name in names:
        table.add_column(name, justify="left" if name == "tenant" else "right", overflow="fold")
    for row in due:
        table.add_row(Text(printable(row["tenant"])), *(str(row.get(name, 0)) for name in names[1:]))
    out.print(table)
    groups = sum(row["groups"] for row in due)
    tell("", f"{counted(groups, 'group')} {'would be summarised' if dry_run else 'due'}", "", out)
