"""One stack a folder: two would write over each other's data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import IO

from afterturn.streams.errors import Stop

_NAME = "in-use"


def held(folder: Path) -> IO[str]:
    """Make a folder where it is missing, and hold it until what is returned is closed, or the process ends.

    Raises:
        Stop: another process holds it, or nothing can be written there.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / _NAME).open("w")
    except OSError as error:
        raise Stop(f"Nothing can be written in {folder}: {error.strerror}. Choose another --folder.") from None
    if not _locked(lock):
        lock.close()
        raise Stop(f"Another afterturn runs on {folder}. End it, or choose another --folder.")
    return lock


def _locked(lock: IO[str]) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(lock.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
