"""Locks between processes: held on an open file, and given back when it is closed or its process ends."""

from __future__ import annotations

import sys
from typing import IO


def lock(file: IO[str], *, wait: bool) -> bool:
    """Take the lock of an open file; whether it was taken. With ``wait`` whoever holds it is waited for."""
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
