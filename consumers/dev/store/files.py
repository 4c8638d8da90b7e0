"""Files that survive a crash whole: written aside, fsynced, renamed; and the lock on the data folder."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Any

import orjson

from afterturn.consumers.dev.store.errors import FolderTaken


def write_json(path: Path, value: object) -> None:
    """Replace `path` by `value` so that a reader sees the old or the new content, also after a crash."""
    aside = path.with_name(f".{path.name}.new")
    with aside.open("wb") as file:
        file.write(orjson.dumps(value, option=orjson.OPT_INDENT_2))
        file.flush()
        os.fsync(file.fileno())
    aside.replace(path)
    sync_folder(path.parent)


def read_json(path: Path) -> Any:  # noqa: ANN401  # JSON of our own writing
    """The JSON value in `path`."""
    return orjson.loads(path.read_bytes())


def sync_folder(folder: Path) -> None:
    """Make names created, renamed or removed in `folder` durable."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def sync_data(path: Path) -> None:
    """Make the content of `path` durable, also what was written through a memory map."""
    handle = os.open(path, os.O_RDWR)
    try:
        getattr(os, "fdatasync", os.fsync)(handle)
    finally:
        os.close(handle)


class FolderLock:
    """Holds a folder for one process; the kernel lets go of it when the process ends, however it ends."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._file = (folder / ".lock").open("a")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            self._file.close()
            raise FolderTaken(str(folder)) from None

    def release(self) -> None:
        """Let another process take the folder."""
        self._file.close()
