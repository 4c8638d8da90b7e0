"""How numbers are said."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""All but tabs and line ends."""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: ``1 turn``, ``1,973 tokens``, ``2 memories``."""
    if count == 1:
        return f"1 {noun}"
    usual = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {plural or usual}"


def printable(text: str) -> str:
    """A text with its control characters made visible: what agents were told must not steer a terminal."""
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
