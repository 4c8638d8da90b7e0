"""What a store's answer with an error status means for whoever called. Pure."""

from __future__ import annotations

import re
from json import JSONDecodeError

import orjson

from afterturn.consumers.store.errors import INIT, NoCollection, StoreAway, StoreRefused, WrongStore
from afterturn.streams.errors import Recoverable, Stop

_MAX_WHY = 300
_AWAY = frozenset({408, 429, 502, 503, 504, 507})
_FULL = re.compile(r"no space|disk|out of memory|timed? ?out", re.IGNORECASE)
"""What a failure says of the server, not of what it was sent."""
_NOT_OURS = re.compile(r"dimension error|not existing vector name|index required|no appropriate index", re.IGNORECASE)
_QUOTED = re.compile(r'string "(?:[^"\\]|\\.)*"?')


def refusal(operation: str, alias: str, status: int, content: bytes) -> Recoverable | Stop:
    """What an answer with an error status means for whoever called."""
    if status in _AWAY:
        return StoreAway(operation, str(status))
    if status in (401, 403):
        return WrongStore(f"Qdrant does not allow these credentials {operation} ({status}): check QDRANT_API_KEY.")
    why = _reason(content)
    if status == 500 and _FULL.search(why):
        return StoreAway(operation, str(status))
    if status == 404 and "No point with id" not in why:
        return NoCollection(alias)
    if status == 501:
        return WrongStore(f"This store does not know the call {operation}: {why}")
    if _NOT_OURS.search(why):
        return WrongStore(f"The collection {alias} is not as it was made ({operation}): {why}", command_that_helps=INIT)
    return StoreRefused(operation, status, why)


def foreign(operation: str) -> WrongStore:
    """An answer that is none of a Qdrant we know."""
    return WrongStore(f"The answer to {operation} is not one of a Qdrant this client knows: compare the versions.")


def _reason(content: bytes) -> str:
    """The server's reason, without the strings of ours that it may quote."""
    try:
        why = str(orjson.loads(content)["status"]["error"])
    except (JSONDecodeError, KeyError, TypeError):
        return "no reason given"
    return _QUOTED.sub("a string", why)[:_MAX_WHY]
