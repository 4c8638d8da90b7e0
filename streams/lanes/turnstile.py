"""Who may be at work in a process: all lanes side by side, or one that is suspected to end the process, alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Turnstile:
    """Lets many work side by side, or one alone; who waits to be alone goes first."""

    def __init__(self) -> None:
        self._beside = 0
        self._alone = False
        self._waiting = 0
        self._changed = asyncio.Event()

    @asynccontextmanager
    async def beside(self) -> AsyncIterator[None]:
        """Work beside others, once nobody works alone or waits to."""
        while self._alone or self._waiting:
            await self._change()
        self._beside += 1
        try:
            yield
        finally:
            self._beside -= 1
            self._changed.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Work while nobody else does."""
        self._waiting += 1
        try:
            while self._alone or self._beside:
                await self._change()
            self._alone = True
        finally:
            self._waiting -= 1
            self._changed.set()
        try:
            yield
        finally:
            self._alone = False
            self._changed.set()

    async def _change(self) -> None:
        self._changed.clear()
        await self._changed.wait()
