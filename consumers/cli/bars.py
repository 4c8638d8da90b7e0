"""Progress bars on stderr, for work that takes a while."""

from __future__ import annotations

from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn, TimeRemainingColumn

from afterturn.consumers.cli.running import err


def passing_bar(described: str, counting: ProgressColumn) -> Progress:
    """A bar that is gone when the work is done, and isn't there where nobody looks; ``described`` is its template."""
    columns = (TextColumn(described), BarColumn(), counting, TimeRemainingColumn())
    return Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
