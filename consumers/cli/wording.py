"""How numbers are said."""

from __future__ import annotations

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""All but tabs and line ends; also what turns the direction of a line around."""


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: ``1 turn``, ``1,973 tokens``, ``2 memories``."""
    if count == 1:
        return f"1 {noun}"
    usual = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {plural or usual}"


def printable(text: str) -> str:
    """A text with its control characters made visible: what agents were told must not steer a terminal."""
    return _CONTROLS.sub(lambda found: ascii(found[0])[1:-1] if ord(found[0]) > 0xFF else _hex(found[0]), text)


def _hex(character: str) -> str:
    return f"\\x{ord(character):02x}"
