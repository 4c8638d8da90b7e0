"""How dead letters are shown: names made printable, nothing of what a record says unless it is asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from rich.progress import TaskProgressColumn
from rich.table import Table
from rich.text import Text

from afterturn.consumers.cli.bars import passing_bar
from afterturn.consumers.cli.running import err, out, tell
from afterturn.consumers.cli.wording import counted, printable
from afterturn.schemas.errors import ContractError
from afterturn.streams.dead_letters import Letter
from afterturn.streams.letter_log import Listed, OnProgress
from afterturn.streams.records import Record

SHOWN = 32
SHOWN_HEADER = 200


def name_of(raw: bytes | None, size: int | None = None) -> str:
    """Bytes that should be a name, as one printable line of at most ``size`` characters."""
    if raw is None:
        return ""
    text = raw.decode("utf-8", "backslashreplace")
    seen = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return seen if size is None or len(seen) <= size else f"{seen[: size - 1]}…"


def state_of(listed: Listed) -> str:
    """What became of a letter."""
    return f"{listed.state} as {listed.replayed_as}" if listed.replayed_as else listed.state


def as_dict(listed: Listed, *, headers: bool = False) -> dict[str, Any]:
    """A letter as JSON values, with the record's own headers if asked for; never its value."""
    letter, stood = listed.letter, listed.letter.stood
    body: dict[str, Any] = {
        "id": str(letter.id),
        "at": letter.at.isoformat().replace("+00:00", "Z"),
        "reason": letter.reason,
        "error": letter.error,
        "place": letter.place,
        "problem": letter.problem,
        "topic": stood and stood.topic,
        "partition": stood and stood.partition,
        "offset": stood and stood.offset,
        "key": None if letter.key is None else letter.key.decode("utf-8", "backslashreplace"),
        "bytes": letter.size,
        "state": listed.state,
    }
    if listed.replayed_as:
        body["replayed_as"] = listed.replayed_as
    if letter.left_out:
        body["left_out"] = letter.left_out
    if headers:
        body["headers"] = [[name, name_of(value)] for name, value in letter.headers]
    return body


def show_table(found: Sequence[Listed], *, of: int, dropped: int) -> None:
    """Print letters, a row each, and how many there are."""
    topics = {each.letter.stood.topic for each in found if each.letter.stood}
    table = Table(box=None, pad_edge=False)
    for name in ("id", "when", "why", "stood at", "tenant"):
        table.add_column(name, overflow="fold", no_wrap=name in {"id", "when"}, min_width=8)
    table.add_column("bytes", justify="right", no_wrap=True)
    table.add_column("state", overflow="fold")
    for each in found:
        letter = each.letter
        cells = (
            str(letter.id),
            f"{letter.at:%Y-%m-%d %H:%M}Z",
            why_of(letter),
            _place(letter, with_topic=len(topics) > 1),
            name_of(letter.key, SHOWN),
            f"{letter.size:,}",
            state_of(each),
        )
        table.add_row(*(Text(name_of(cell.encode("utf-8", "replace"))) for cell in cells))
    if found:
        out.print(table)
    stood = f" of {next(iter(topics))}" if len(topics) == 1 else ""
    shown = "" if len(found) == of else f"; the newest {len(found):,} are shown"
    hidden = f"; {dropped:,} dropped (--all shows them)" if dropped else ""
    tell("dim", f"{counted(of, 'dead letter')}{stood}{shown}{hidden}", "")


def why_of(letter: Letter) -> str:
    """A letter's reason, with the error where it says more than that the record breaks the contract."""
    return letter.reason if letter.error == ContractError.__name__ else f"{letter.reason} ({letter.error})"


def _place(letter: Letter, *, with_topic: bool) -> str:
    if letter.stood is None:
        return ""
    return str(letter.stood) if with_topic else f"{letter.stood.partition}/{letter.stood.offset}"


def show_letter(listed: Listed) -> None:
    """Print all that is said of a letter, a line each."""
    letter = listed.letter
    said = {
        "id": str(letter.id),
        "when": letter.at.isoformat().replace("+00:00", "Z"),
        "state": state_of(listed),
        "reason": letter.reason,
        "error": letter.error,
        "place": letter.place,
        "problem": letter.problem,
        "stood at": str(letter.stood or ""),
        "attempts": letter.attempts,
        "key": name_of(letter.key),
        "bytes": f"{letter.size:,}",
        "left out": letter.left_out,
    }
    for name, text in said.items():
        if text:
            tell("dim", f"{name:<10}", name_of(text.encode()))
    for name, value in letter.headers:
        tell("dim", "header    ", f"{name_of(name.encode())} = {name_of(value, SHOWN_HEADER)}")


def print_value(letter: Letter, record: Record) -> None:
    """Print a record's body as it is; on a terminal nothing of it can steer it.

    Raises:
        ContractError: the letter doesn't hold it.
    """
    if "value" in letter.left_out:
        where = f"; it stood at {letter.stood}" if letter.stood else ""
        raise ContractError("invalid", str(letter.id), f"the letter was made without its value{where}")
    err.print(Text("content: what somebody said to an agent may be in it", style="yellow"))
    value = record.value or b""
    if sys.stdout.isatty():
        typer.echo(printable(value.decode("utf-8", "backslashreplace")))
    else:
        sys.stdout.buffer.write(value)
        sys.stdout.flush()


@contextmanager
def progress(label: str) -> Iterator[OnProgress]:
    """A bar on stderr that is told how much was read of how much; none where nobody looks."""
    with passing_bar("{task.description}", TaskProgressColumn()) as shown:
        task = shown.add_task(label, total=None)
        yield lambda read, total: shown.update(task, completed=read, total=total)
