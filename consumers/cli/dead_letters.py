"""``afterturn dead-letters``: what the recorder could not apply; seen, published again, or dropped."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, get_args

import orjson
import typer

from afterturn.consumers.cli.connecting import reached
from afterturn.consumers.cli.faults import text_of
from afterturn.consumers.cli.helping import PlainGroup
from afterturn.consumers.cli.letters import as_dict, print_value, progress, show_letter, show_table
from afterturn.consumers.cli.options import AsJson, TopicPrefix
from afterturn.consumers.cli.running import EXIT_STOP, err, log_to_stderr, tell
from afterturn.consumers.cli.wording import counted
from afterturn.consumers.settings import ServiceSettings
from afterturn.schemas.errors import ContractError, Reason
from afterturn.schemas.when import resolve_time
from afterturn.streams.dead_letters import Letter, LetterId, Wanted
from afterturn.streams.errors import DeadLetter, Recoverable
from afterturn.streams.kafka import KafkaSettings
from afterturn.streams.letter_log import LetterLog, Listed, Logs
from afterturn.streams.records import Record
from afterturn.streams.topics import TopicNames

MAX_SAID = 20
GONE = "there is no dead letter (any more)"

dead_letters = typer.Typer(
    cls=PlainGroup, help="See, replay and drop what the recorder could not apply.", no_args_is_help=True
)
Timeout = Annotated[float, typer.Option(help="Seconds to wait for Kafka at most.", min=1)]
OfReason = Annotated[str | None, typer.Option("--reason", help="Only of this reason, as unsupported or misrouted.")]
OfTenant = Annotated[str | None, typer.Option("--tenant", help="Only with this tenant as their key.")]
Since = Annotated[str | None, typer.Option("--since", help="From this time on (RFC 3339, or -7d, -3h, -20m).")]
LettersPrefix = Annotated[str | None, typer.Option(help="Dead letters of an earlier log, by its topics' prefix.")]
LettersEpoch = Annotated[
    int, typer.Option(help="The earlier log's epoch, of letters that don't say it.", min=0, max=511)
]
Ids = Annotated[list[str] | None, typer.Argument(help="Letters, as partition/offset.", metavar="ID...")]


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(dead_letters, name="dead-letters")


@dead_letters.callback()
def _group() -> None:
    """See, replay and drop what the recorder could not apply."""


@dead_letters.command(name="list")
def list_(
    reason: OfReason = None,
    tenant: OfTenant = None,
    since: Since = None,
    limit: Annotated[int, typer.Option(help="The newest so many.", min=1)] = 100,
    every: Annotated[bool, typer.Option("--all", help="Also those that were dropped.")] = False,
    timeout: Timeout = 30.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """List dead letters, oldest first: why, where the record stood, whose it is. Never content.

    With --json a line a letter.

    Examples:

    ```sh
    afterturn dead-letters list
    afterturn dead-letters list --reason misrouted --since -1d --json
    ```
    """
    log_to_stderr("critical")
    found = asyncio.run(_listed(_wanted(reason, tenant, since), _logs(topic_prefix), timeout))
    shown = [each for each in found if every or each.state != "dropped"]
    if as_json:
        for each in shown[-limit:]:
            typer.echo(orjson.dumps(as_dict(each)).decode())
    else:
        show_table(shown[-limit:], of=len(shown), dropped=len(found) - len(shown))


@dead_letters.command()
def show(
    id_: Annotated[str, typer.Argument(help="The letter, as partition/offset.", metavar="ID")],
    value: Annotated[bool, typer.Option("--value", help="Print the record's body alone: that is content.")] = False,
    timeout: Timeout = 30.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Show all that is said of one dead letter: why, where its record stood, and the record's headers.

    Examples:

    ```sh
    afterturn dead-letters show 3/17
    afterturn dead-letters show 3/17 --value
    ```
    """
    log_to_stderr("critical")
    found = asyncio.run(_one(LetterId.parse(id_), _logs(topic_prefix), timeout))
    if found is None:
        raise ContractError("invalid", id_, GONE)
    listed, record = found
    if value:
        print_value(listed.letter, record)
    elif as_json:
        typer.echo(orjson.dumps(as_dict(listed, headers=True)).decode())
    else:
        show_letter(listed)


@dead_letters.command()
def replay(
    ids: Ids = None,
    every: Annotated[bool, typer.Option("--all", help="All that were neither replayed nor dropped.")] = False,
    reason: OfReason = None,
    tenant: OfTenant = None,
    since: Since = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what could be replayed; publish nothing.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Also what would be a dead letter again.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Don't ask; for scripts.")] = False,
    timeout: Timeout = 30.0,
    topic_prefix: TopicPrefix = "afterturn",
    letters_prefix: LettersPrefix = None,
    letters_epoch: LettersEpoch = 0,
    as_json: AsJson = False,
) -> None:
    """Publish dead letters' records again: the same bytes under the same key, with where they stood first.

    What was applied already is a duplicate, what was erased since stays erased. Exits with 1 where some could not be
    replayed. AFTERTURN_PARTITIONER is that of the services.

    Examples:

    ```sh
    afterturn dead-letters replay 3/17 3/18
    afterturn dead-letters replay --all --reason unsupported --dry-run
    ```
    """
    log_to_stderr("critical")
    wanted, logs = _wanted(reason, tenant, since), _logs(topic_prefix, letters_prefix, letters_epoch)
    if every == bool(ids) or (ids and wanted != Wanted()):
        raise ContractError("invalid", "ID", "name letters, or --all with --reason, --tenant, --since")
    chosen = asyncio.run(_waiting(wanted, logs, timeout)) if every else _parsed(ids or [])
    if len(chosen) > 1 and not (yes or dry_run):
        typer.confirm(f"Publish {counted(len(chosen), 'record')} again on {logs.onto.turns}?", abort=True, err=True)
    done = asyncio.run(_each(chosen, logs, timeout, "replaying", partial(_replayed, force=force, dry=dry_run)))
    _say(done, "would be replayed" if dry_run else "replayed", as_json=as_json)


@dead_letters.command()
def drop(
    ids: Ids = None,
    timeout: Timeout = 30.0,
    topic_prefix: TopicPrefix = "afterturn",
    as_json: AsJson = False,
) -> None:
    """Mark dead letters as dealt with: they are listed no more, and --all doesn't replay them.

    Kafka deletes no single record: the letter itself goes with the topic's retention.

    Example:

    ```sh
    afterturn dead-letters drop 3/17 3/18
    ```
    """
    log_to_stderr("critical")
    chosen = _parsed(ids or [])
    if not chosen:
        raise ContractError("invalid", "ID", "name the letters to drop")

    done = asyncio.run(_each(chosen, _logs(topic_prefix), timeout, "dropping", _dropped))
    _say(done, "dropped", as_json=as_json)


@dataclass(slots=True)
class _Done:
    """How each letter ended: where its replay stands (or nothing), or why it could not be; ``away`` ended it early."""

    ends: dict[LetterId, str]
    faults: dict[LetterId, str]
    away: Recoverable | None = None


_Act = Callable[[LetterLog, Letter, Record], Awaitable[str]]


def _logs(prefix: str, letters_prefix: str | None = None, letters_epoch: int = 0) -> Logs:
    log = ServiceSettings()
    epoch = log.epoch if letters_prefix is None else letters_epoch
    return Logs(TopicNames(letters_prefix or prefix), epoch, TopicNames(prefix), log.partitioner)


def _wanted(reason: str | None, tenant: str | None, since: str | None) -> Wanted:
    if reason is not None and reason not in get_args(Reason):
        raise ContractError("invalid", "--reason", f"must be one of {', '.join(get_args(Reason))}")
    try:
        return Wanted(reason, tenant, None if since is None else resolve_time(since, datetime.now(UTC)))
    except ContractError as error:
        raise ContractError(error.reason, "--since", error.problem) from None


def _parsed(ids: list[str]) -> list[LetterId]:
    return list(dict.fromkeys(map(LetterId.parse, ids)))


@asynccontextmanager
async def _opened(logs: Logs, timeout: float) -> AsyncIterator[LetterLog]:
    kafka = KafkaSettings()
    log = LetterLog(kafka, logs)
    try:
        await reached(kafka, log.start, timeout)
        yield log
    finally:
        await log.close()


async def _listed(wanted: Wanted, logs: Logs, timeout: float) -> list[Listed]:
    async with _opened(logs, timeout) as log:
        with progress("reading") as on_progress:
            return await log.listed(wanted, on_progress)


async def _waiting(wanted: Wanted, logs: Logs, timeout: float) -> list[LetterId]:
    return [each.letter.id for each in await _listed(wanted, logs, timeout) if each.state == "waiting"]


async def _replayed(log: LetterLog, letter: Letter, record: Record, *, force: bool, dry: bool) -> str:
    position = await log.replay(letter, record, force=force, dry=dry)
    return "" if position is None else f"{position.partition}/{position.offset}"


async def _dropped(log: LetterLog, letter: Letter, _: Record) -> str:
    await log.drop(letter)
    return ""


async def _one(id_: LetterId, logs: Logs, timeout: float) -> tuple[Listed, Record] | None:
    async with _opened(logs, timeout) as log:
        found = [pair async for pair in log.whole([id_])]
        if not found:
            return None
        ((letter, record),) = found
        with progress("reading") as on_progress:
            states = {each.letter.id: each for each in await log.listed(Wanted(since=letter.at), on_progress)}
    state = states.get(id_, Listed(letter))
    return Listed(letter, state.state, state.replayed_as), record


async def _each(chosen: list[LetterId], logs: Logs, timeout: float, label: str, act: _Act) -> _Done:
    """Act on each letter in turn; one that can't be ends nothing, a broker that goes away ends all."""
    done = _Done({}, {})
    async with _opened(logs, timeout) as log:
        with progress(label) as on_progress:
            try:
                async for letter, record in log.whole(chosen, on_progress):
                    try:
                        done.ends[letter.id] = await act(log, letter, record)
                    except ContractError as fault:
                        done.faults[letter.id] = fault.problem
                    except DeadLetter as fault:
                        done.faults[letter.id] = str(fault)
            except Recoverable as error:
                done.away = error
                return done
    done.faults |= {id_: GONE for id_ in chosen if id_ not in done.ends and id_ not in done.faults}
    return done


def _say(done: _Done, verb: str, *, as_json: bool) -> None:
    if as_json:
        for id_, end in done.ends.items():
            typer.echo(orjson.dumps({"id": str(id_)} | ({"replayed_as": end} if end else {})).decode())
        for id_, fault in done.faults.items():
            typer.echo(orjson.dumps({"id": str(id_), "problem": fault}).decode())
    else:
        few = len(done.ends) <= MAX_SAID
        for id_, end in done.ends.items() if few else ():
            tell("dim", f"{id_} ", f"→ {end}" if end else verb)
        tell("", f"{counted(len(done.ends), 'dead letter')} {verb}", "")
        for id_, fault in list(done.faults.items())[:MAX_SAID]:
            tell("red", f"{id_}: ", fault, err)
        if len(done.faults) > MAX_SAID:
            tell("red", "… and ", f"{counted(len(done.faults) - MAX_SAID, 'other')} could not be", err)
    if done.away is not None:
        tell("red", "ended early: ", f"{text_of(done.away)} The same command again is safe.", err)
        raise done.away
    if done.faults:
        raise typer.Exit(EXIT_STOP)
