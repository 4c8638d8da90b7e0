"""One stack a folder: two would write over each other's data."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from afterturn.consumers.locking import lock
from afterturn.streams.errors import Stop

_NAME = "in-use"


def held(folder: Path) -> IO[str]:
    """Make a folder where it is missing, and hold it until what is returned is closed, or the process ends.

    Raises:
        Stop: another process holds it, or nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / _NAME).open("w")
    except OSError as error:
        raise Stop(f"Nothing can be written in {folder}: {error.strerror}. Choose another --folder.") from None
    if not lock(file, wait=False):
        file.close()
        raise Stop(f"Another afterturn runs on {folder}. End it, or choose another --folder.")
    return file
