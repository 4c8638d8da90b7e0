"""``afterturn tenants``, ``forget``, ``erase``: who has memories here, and removing them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import orjson
import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.connecting import publishing
from afterturn.consumers.cli.options import AsJson, TopicPrefix
from afterturn.consumers.cli.running import EXIT_AWAY, EXIT_STOP, err, log_to_stderr, need_service, out, tell
from afterturn.consumers.cli.watching import counts_of
from afterturn.consumers.cli.wording import counted, printable
from afterturn.schemas.commands import Command, Erase, Forget
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import MemoryEvent, Skipped
from afterturn.schemas.ids import MAX_REV
from afterturn.schemas.points import TenantState
from afterturn.schemas.token import Token
from afterturn.schemas.when import resolve_time
from afterturn.streams.topics import TopicNames

if TYPE_CHECKING:
    from afterturn.consumers.store.select import SelectStore

M = TypeVar("M", Forget, Erase)
SOURCE = "afterturn-cli"
Tenant = Annotated[str, typer.Argument(help="Whose memories.")]
Values = list[str] | None
Timeout = Annotated[float, typer.Option(help="Seconds to wait at most, for Kafka and then for the outcome.", min=1)]
Reason = Annotated[str, typer.Option(help="Why, for the log.")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.command()(tenants)
    app.command()(forget)
    app.command()(erase)


def tenants(
    every: Annotated[bool, typer.Option("--all", help="Also those who have no memories any more.")] = False,
    as_json: AsJson = False,
) -> None:
    """Who has memories in the store, and how many.

    Examples:

    ```sh
    afterturn tenants
    afterturn tenants --all --json
    ```
    """
    need_service()
    log_to_stderr("critical")
    found = sorted(asyncio.run(_tenants()), key=lambda state: state.tenant)
    listed = [state for state in found if every or state.live]
    if as_json:
        typer.echo(orjson.dumps([_row(state) for state in listed]).decode())
        return
    table = Table(box=None, pad_edge=False)
    for name in ("tenant", "memories", "episodes", "pinned", "partition"):
        table.add_column(name, justify="left" if name == "tenant" else "right", overflow="fold")
    for state in listed:
        numbers = (state.live, state.episodes, state.pinned, state.partition)
        table.add_row(Text(printable(state.tenant)), *map(str, numbers))
    out.print(table)


def forget(
    tenant: Tenant,
    ids: Annotated[Values, typer.Option("--id", help="A memory's id; repeat for several.")] = None,
    threads: Annotated[Values, typer.Option("--thread", help="Of this thread.")] = None,
    tags: Annotated[Values, typer.Option("--tag", help="With this tag; of several, any.")] = None,
    kinds: Annotated[Values, typer.Option("--kind", help="Of this kind.")] = None,
    authors: Annotated[Values, typer.Option("--author", help="Of this author.")] = None,
    user: Annotated[str | None, typer.Option(help="Of this user (scope.user).")] = None,
    since: Annotated[str | None, typer.Option(help="From this time on (RFC 3339, or -7d, -3h, -20m).")] = None,
    until: Annotated[str | None, typer.Option(help="Before this time.")] = None,
    confirm: Annotated[bool, typer.Option("--confirm", help="Also if more than half of the tenant goes.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say how many would go; publish nothing.")] = False,
    reason: Reason = "asked",
    timeout: Timeout = 60.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Remove memories, by id or by a filter, and what was made from them alone; waits for the outcome.

    Examples:

    ```sh
    afterturn forget ada --thread planning --dry-run
    afterturn forget ada --id 7e7d… --id 91b2…
    ```
    """
    chosen: dict[str, Any] = {"threads": threads, "tags_any": tags, "kinds": kinds, "authors": authors}
    chosen |= {"since": _time("since", since), "until": _time("until", until)}
    given = {name: value for name, value in chosen.items() if value}
    if user is not None:
        given["scope"] = {"user": user}
    body: dict[str, Any] = {"tenant": tenant, "confirm": confirm, "reason": reason}
    body |= {"ids": ids} if ids else {"filter": given}
    if ids and given:
        raise ContractError("invalid", "--id", "give either ids or a filter")
    command = _checked(Forget, body)
    if dry_run:
        _would_forget(command, as_json=as_json)
    else:
        _say(*_applied(command, topic_prefix, timeout), timeout, as_json=as_json)


def erase(
    tenant: Tenant,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; for scripts.")] = False,
    reason: Reason = "asked",
    timeout: Timeout = 300.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Remove everything a tenant has, for good; waits for the outcome, and says when the log itself will be clear.

    Examples:

    ```sh
    afterturn erase ada
    afterturn erase ada --yes --json
    ```
    """
    if not yes and typer.prompt(f"All memories of {tenant!r} go for good. Type the tenant's name", err=True) != tenant:
        raise ContractError("invalid", "TENANT", "that is not the tenant's name; nothing was done")
    command = _checked(Erase, {"tenant": tenant, "confirm": tenant, "reason": reason})
    _say(*_applied(command, topic_prefix, timeout), timeout, as_json=as_json)


def _checked(model: type[M], body: dict[str, Any]) -> M:
    try:
        return model.model_validate(body)
    except ValidationError as error:
        raise from_pydantic(error) from None


def _time(name: str, text: str | None) -> datetime | None:
    try:
        return None if text is None else resolve_time(text, datetime.now(UTC))
    except ContractError as error:
        raise ContractError(error.reason, f"--{name}", error.problem) from None


def _applied(command: Command, prefix: str, timeout: float) -> tuple[Token, MemoryEvent | None]:
    log_to_stderr("critical")
    return asyncio.run(_publish(command, TopicNames(prefix), timeout))


async def _publish(command: Command, topics: TopicNames, timeout: float) -> tuple[Token, MemoryEvent | None]:
    async with publishing(topics, SOURCE, timeout, wait=True) as (publisher, waiter):
        assert waiter is not None
        token = await publisher.publish_command(command)
        try:
            async with asyncio.timeout(timeout):
                return token, await waiter.outcome(token)
        except TimeoutError:
            return token, None


def _say(token: Token, event: MemoryEvent | None, timeout: float, *, as_json: bool) -> None:
    if as_json:
        said = None if event is None else event.model_dump(mode="json", exclude_none=True)
        kind = None if event is None else event.TYPE
        typer.echo(orjson.dumps({"token": str(token), "type": kind, "event": said}).decode())
    elif event is None:
        late = f"not yet applied after {timeout:g} s; is the recorder running? The command stays on the log."
        tell("yellow", "published, ", late, err)
    elif isinstance(event, Skipped):
        tell("yellow", "skipped: ", event.reason)
    else:
        counts = ", ".join(f"{name} {count}" for name, count in counts_of(event).items())
        tell("green", f"{event.TYPE.rpartition('.v')[0]}: ", counts)
    if event is None:
        raise typer.Exit(EXIT_AWAY)
    if isinstance(event, Skipped):
        raise typer.Exit(EXIT_STOP)


def _would_forget(command: Forget, *, as_json: bool) -> None:
    need_service()
    log_to_stderr("critical")
    count, live = asyncio.run(_counted(command))
    if as_json:
        typer.echo(orjson.dumps({"would_forget": count, "of": live}).decode())
        return
    tell("", f"{count:,} of {counted(live, 'memory')} would go", "", out)
    if count * 2 > live:
        tell("yellow", "more than half: ", "it needs --confirm")


async def _counted(command: Forget) -> tuple[int, int]:
    async with _selections() as select:
        live = await select.count(command.tenant, None, MAX_REV)
        if command.ids is None:
            return await select.count(command.tenant, command.filter, MAX_REV), live
        return await select.count_named(command.tenant, command.ids), live


async def _tenants() -> list[TenantState]:
    async with _selections() as select:
        return [state async for page in select.tenants(1_000) for state in page.values()]


@asynccontextmanager
async def _selections() -> AsyncIterator[SelectStore]:
    from afterturn.consumers.store.client import opened
    from afterturn.consumers.store.select import SelectStore
    from afterturn.consumers.store.settings import StoreSettings

    async with opened(StoreSettings()) as client:
        yield SelectStore(client)


def _row(state: TenantState) -> dict[str, Any]:
    fields = {"tenant", "live", "episodes", "pinned", "partition"}
    return state.model_dump(mode="json", include=fields)
