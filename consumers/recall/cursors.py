"""Cursors as text: opaque to callers. Each list says what is in its own. Pure."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from typing import Any

import orjson


def written(parts: Sequence[object]) -> str:
    """JSON values as a cursor."""
    return urlsafe_b64encode(orjson.dumps(parts)).decode().rstrip("=")


def read(cursor: str) -> Any:  # noqa: ANN401 - any JSON, from outside
    """What a cursor holds.

    Raises:
        ValueError: it is none.
    """
    return orjson.loads(urlsafe_b64decode(cursor.encode("ascii") + b"=" * (-len(cursor) % 4)))
