"""How numbers are said."""

from __future__ import annotations


def counted(count: int, noun: str, plural: str | None = None) -> str:
    """A number and what it counts: ``1 turn``, ``1,973 tokens``, ``2 memories``."""
    if count == 1:
        return f"1 {noun}"
    usual = f"{noun[:-1]}ies" if noun.endswith("ry") else f"{noun}s"
    return f"{count:,} {plural or usual}"
