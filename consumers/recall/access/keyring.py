"""Where keys are kept: a file that is read again when it changes, and the environment."""

from __future__ import annotations

import logging
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from afterturn.consumers.locking import lock
from afterturn.consumers.recall.access.keys import KeyFile, KeyRecord, read_keys
from afterturn.schemas.errors import ContractError
from afterturn.streams.errors import BadSettings

_LOG = logging.getLogger("afterturn.recall")
FILE_SETTING, KEYS_SETTING = "AFTERTURN_RECALL_KEYS_FILE", "AFTERTURN_RECALL_KEYS"
_Stamp = tuple[int, int, int]


class KeyRing:
    """The keys that hold now: those of a file, as it is now, and fixed ones.

    A file that can't be read any more keeps the last good keys; ``stale`` is told whether that is so.

    Raises:
        BadSettings: at first there must be a good file.
    """

    def __init__(self, path: Path | None, fixed: Mapping[str, KeyRecord], stale: Callable[[bool], None]) -> None:
        self._path = path
        self._fixed = fixed
        self._stale = stale
        self._stamp: _Stamp | None = None
        self._keys: Mapping[str, KeyRecord] = fixed
        if path is not None:
            try:
                self._stamp = _stamp(path)
                self._keys = self._read(path)
            except (OSError, ContractError) as error:
                raise BadSettings(FILE_SETTING, f"{path}: {_why(error)}") from None

    def current(self) -> Mapping[str, KeyRecord]:
        """The keys by id; costs a look at the file's time."""
        if self._path is not None:
            self._look(self._path)
        return self._keys

    def _look(self, path: Path) -> None:
        stamp: _Stamp | None = None
        with suppress(OSError):
            stamp = _stamp(path)
        if stamp is not None and stamp == self._stamp:
            return
        try:
            self._keys = self._read(path)
        except (OSError, ContractError) as error:
            if stamp != self._stamp:
                _LOG.warning("the keys of %s hold as they were: it can't be read: %s", path, _why(error))
            self._stale(True)  # noqa: FBT003 - a callback of one meaning
        else:
            _LOG.info("the keys of %s were read again: %d", path, len(self._keys))
            self._stale(False)  # noqa: FBT003
        self._stamp = stamp

    def _read(self, path: Path) -> Mapping[str, KeyRecord]:
        found = read_keys(path.read_bytes()).by_id()
        if found.keys() & self._fixed.keys():
            raise ContractError("invalid", "keys", f"an id stands in {KEYS_SETTING} too")
        return {**found, **self._fixed}


def fixed_keys(text: str | None) -> Mapping[str, KeyRecord]:
    """The keys that stand in the environment.

    Raises:
        BadSettings: the text is none of a key file's.
    """
    try:
        return {} if text is None else read_keys(text.encode("utf-8", "surrogatepass")).by_id()
    except ContractError as error:
        raise BadSettings(KEYS_SETTING, _why(error)) from None


def load(path: Path) -> KeyFile:
    """A file's keys; one that isn't there has none.

    Raises:
        ContractError: it can't be read, or is no file of keys.
    """
    try:
        return read_keys(path.read_bytes())
    except FileNotFoundError:
        return KeyFile()
    except OSError as error:
        raise ContractError("invalid", "--file", f"{path}: {_why(error)}") from None
    except ContractError as error:
        raise ContractError(error.reason, "--file", f"{path}: {_why(error)}") from None


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Change a file of keys with nobody else at it: what two do at once would lose one's change.

    The lock is a file beside it, since the file itself is put in place anew.

    Raises:
        ContractError: nothing can be written there, or not be locked.
    """
    if path.is_dir():
        raise ContractError("invalid", "--file", f"{path} is a folder")
    beside = path.with_name(f".{path.name}.lock")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number = os.open(beside, os.O_CREAT | os.O_RDWR, 0o600)
    except OSError as error:
        raise ContractError("invalid", "--file", f"{path}: {_why(error)}") from None
    with os.fdopen(number, "r+") as file:
        if not lock(file, wait=True):
            raise ContractError("invalid", "--file", f"{path}: the folder can't hold a lock")
        yield


def add(path: Path, key: KeyRecord) -> None:
    """Put a key beside those of a file. Raises as ``alone``, ``load`` and ``save`` do."""
    with alone(path):
        save(path, KeyFile(keys=(*load(path).keys, key)))


def save(path: Path, keys: KeyFile) -> None:
    """Put a file of keys in place whole, readable by its owner only; who reads meanwhile sees the old or the new.

    Raises:
        ContractError: it can't be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        number, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(number, "wb") as file:
                file.write(keys.body())
                file.flush()
                os.fsync(file.fileno())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise ContractError("invalid", "--file", f"{path}: {_why(error)}") from None


def _stamp(path: Path) -> _Stamp:
    found = path.stat()
    return found.st_mtime_ns, found.st_size, found.st_ino


def _why(error: OSError | ContractError) -> str:
    return error.strerror or type(error).__name__ if isinstance(error, OSError) else str(error)
