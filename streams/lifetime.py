"""What is connected by ``start`` and disconnected by ``close``, as an async context manager."""

from __future__ import annotations

from typing import Self

__all__ = ("Startable",)


class Startable:
    """Starts where its block begins, and closes where it ends."""

    async def start(self) -> None:
        """Connect. See the class for what it raises."""
        raise NotImplementedError

    async def close(self) -> None:
        """Disconnect."""
        raise NotImplementedError

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *exc_info: object) -> None:
        await self.close()
