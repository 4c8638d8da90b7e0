"""``afterturn keys``: who may ask and write over HTTP, in a file of hashed API keys."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any

import orjson
import typer
from pydantic import ValidationError
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.helping import PlainGroup
from afterturn.consumers.cli.options import AsJson, dimension_of
from afterturn.consumers.cli.running import err, out, tell
from afterturn.consumers.cli.wording import printable
from afterturn.consumers.recall.access.keyring import add, alone, load, save
from afterturn.consumers.recall.access.keys import KeyFile, KeyRecord, new_secret
from afterturn.consumers.recall.access.principals import RIGHTS
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.namespace import namespace_of
from afterturn.schemas.when import resolve_time

keys = typer.Typer(cls=PlainGroup, help="Make, list and revoke API keys of the recall service.", no_args_is_help=True)
KeysFile = Annotated[
    Path,
    typer.Option(
        "--file", help="The file of keys; recall reads it again by itself.", envvar="AFTERTURN_RECALL_KEYS_FILE"
    ),
]
Values = list[str] | None


def register(app: typer.Typer) -> None:
    """Add this module's commands."""
    app.add_typer(keys, name="keys")


@keys.callback()
def _group() -> None:
    """Make, list and revoke API keys of the recall service."""


@keys.command()
def create(
    file: KeysFile,
    tenants: Annotated[Values, typer.Option("--tenant", help="A tenant it is for; repeat for several.")] = None,
    every: Annotated[bool, typer.Option("--all-tenants", help="For every tenant there is: for operators.")] = False,
    rights: Annotated[
        Values, typer.Option("--right", help=f"{', '.join(RIGHTS)}; repeat for several [read, write].")
    ] = None,
    scope: Annotated[
        Values, typer.Option("--scope", help="dimension=value, as user=ada: what it reads and writes is bound to it.")
    ] = None,
    expires: Annotated[
        str | None, typer.Option(help="When it ends: RFC 3339, or in 90d, 12h, 30m. Never, without it.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="What people call it; no secret.")] = None,
    as_json: AsJson = False,
) -> None:
    """Make a key and print it: once, for only its hash is kept.

    Examples:

    ```sh
    afterturn keys create --file keys.json --tenant acme --name "support agent"
    afterturn keys create --file keys.json --tenant acme --scope user=ada --right read --expires 90d
    ```
    """
    key, record = _made(
        rights=tuple(rights or ("read", "write")),
        tenants=tuple(tenants or ()),
        all_tenants=every,
        scope=dict(map(dimension_of, scope or ())),
        expires=expires,
        name=name,
    )
    add(file, record)
    if as_json:
        typer.echo(orjson.dumps({"key": key, **_row(record)}).decode())
        return
    tell("green", "made: ", f"{record.id}, for {_whose(record)}: {', '.join(record.rights)}", err)
    tell("yellow", "shown once: ", "keep it where secrets are kept", err)
    typer.echo(key)


@keys.command(name="list")
def list_(file: KeysFile, as_json: AsJson = False) -> None:
    """List the keys: ids, whose, what for and until when. Never a secret.

    Example:

    ```sh
    afterturn keys list --file keys.json
    ```
    """
    found = load(file).keys
    if as_json:
        typer.echo(orjson.dumps([_row(record) for record in found]).decode())
        return
    table = Table(box=None, pad_edge=False)
    for column in ("id", "name", "tenants", "rights", "scope", "expires"):
        table.add_column(column, overflow="fold")
    now = datetime.now(UTC)
    for record in found:
        ended = record.expires_at is not None and record.expires_at <= now
        until = "never" if record.expires_at is None else record.expires_at.isoformat()
        scope = namespace_of(None, record.scope) if record.scope.pairs() else ""
        cells = (record.id, record.name or "", _whose(record), ", ".join(record.rights), scope)
        table.add_row(*(Text(printable(cell)) for cell in cells), f"{until}{' (over)' if ended else ''}")
    out.print(table)


@keys.command()
def revoke(
    file: KeysFile,
    ids: Annotated[list[str], typer.Argument(help="The keys' ids, as list shows them.", metavar="ID...")],
    as_json: AsJson = False,
) -> None:
    """Take keys out of the file: from the next request on they are refused. Exit code 65 where one isn't there.

    Example:

    ```sh
    afterturn keys revoke --file keys.json 1f2e3d4c5b6a
    ```
    """
    with alone(file):
        found = load(file)
        unknown = set(ids) - found.by_id().keys()
        if unknown:
            raise ContractError("invalid", "ID", f"no key has the id {printable(min(unknown))}; nothing was revoked")
        save(file, KeyFile(keys=tuple(record for record in found.keys if record.id not in ids)))
    if as_json:
        typer.echo(orjson.dumps({"revoked": sorted(set(ids))}).decode())
    else:
        tell("green", "revoked: ", ", ".join(sorted(set(ids))))


def _made(*, expires: str | None, **fields: Any) -> tuple[str, KeyRecord]:  # noqa: ANN401 - checked by the model
    """A new key as its owner gets it, and what is kept of it."""
    now = datetime.now(UTC).replace(microsecond=0)
    id_, key, hashed = new_secret()
    fields |= {"id": id_, "sha256": hashed, "created_at": now}
    fields["expires_at"] = None if expires is None else _end(expires, now)
    try:
        return key, KeyRecord.model_validate(fields)
    except ValidationError as error:
        fault = from_pydantic(error)
    raise ContractError(fault.reason, _OPTIONS.get(fault.place.partition(".")[0], "--tenant"), fault.problem)


_OPTIONS = {
    "rights": "--right", "tenants": "--tenant", "scope": "--scope", "name": "--name", "expires_at": "--expires",
}  # fmt: skip


def _end(text: str, now: datetime) -> datetime:
    """When a key ends: at a time, or so long from now."""
    try:
        end = resolve_time(text, now)
        if text.startswith("-"):
            raise ContractError("invalid", "time", "")
    except ContractError:
        try:
            end = now + (now - resolve_time(f"-{text}", now))
        except (ContractError, OverflowError):
            raise ContractError("invalid", "--expires", "must be an RFC 3339 time, or as 90d, 12h, 30m") from None
    if end - now < timedelta(0):
        raise ContractError("invalid", "--expires", "lies in the past")
    return end


def _whose(record: KeyRecord) -> str:
    return "all tenants" if record.all_tenants else ", ".join(record.tenants)


def _row(record: KeyRecord) -> dict[str, Any]:
    return record.model_dump(mode="json", exclude_none=True, exclude={"sha256"})
