"""Reading one's own writes: waiting until what a token stands for can be recalled, whole."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Checkpoint, Memory, Outcome, Receipt, StoredPoint
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.streams.errors import Retry
from afterturn.streams.partitioner import partition_for

_FIRST_PAUSE, _LONGEST_PAUSE, _GROWTH = 0.01, 0.1, 1.5


class Store(Protocol):
    """What is asked of the store."""

    async def checkpoint(self, partition: int) -> Checkpoint | None:
        """The partition's checkpoint."""
        ...

    async def receipt(self, id: str, /) -> StoredPoint | None:  # noqa: A002
        """The point at a receipt's id, whoever's it is."""
        ...

    async def born_at(self, tenant: str, rev: int) -> int:
        """How many points of a tenant the command at a rev made."""
        ...


class Log(Protocol):
    """What is asked of the turn log. Both may raise ``Retry``."""

    async def end(self, partition: int, /) -> int:
        """The offset after the partition's last record."""
        ...

    async def committed(self, partition: int, /) -> int | None:
        """The offset the recorder goes on with, None where it has committed none."""
        ...


def token_of(tenant: str, text: str, fold: FoldSettings) -> Token:
    """The token a query waits for.

    Raises:
        ContractError: it is no token, or its place on the turn log cannot hold a command of this tenant. That is
            arithmetic: it tells nothing of what is stored.
    """
    token = Token.parse(text)
    current = token.epoch == fold.epoch
    if token.epoch > fold.epoch or (current and token.partition != tenant_partition(tenant, fold)):
        raise ContractError("invalid", "after", "is not a token of this tenant and this turn log")
    return token


def tenant_partition(tenant: str, fold: FoldSettings) -> int:
    """The partition of the turn log a tenant's commands are in."""
    return partition_for(tenant.encode(), fold.partitions, fold.partitioner)


class Arrivals:
    """Waits for tokens, each at most ``seconds``.

    A token whose receipt is another tenant's, or was collected, looks like one that never arrives: nothing can be
    learnt about others by asking.
    """

    def __init__(self, store: Store, fold: FoldSettings, *, seconds: float) -> None:
        self._store = store
        self._fold = fold
        self._seconds = seconds

    async def wait(self, tenant: str, token: Token, seconds: float | None = None) -> bool:
        """Wait until every part of the command can be recalled; whether it came to that in time.

        ``seconds`` shortens what is waited at most. A store that is away is asked again, as long as there is time.
        """
        return await self._in_time(lambda: self._is_there(tenant, token), seconds)

    async def all_of(self, partition: int, log: Log | None, seconds: float | None = None) -> bool:
        """Wait until all that is on a partition's log now can be recalled; whether it came to that in time.

        The checkpoint becomes visible before the rest of its batch, and is committed after all of it.
        """
        if log is None:
            return False
        end: int | None = None

        async def recorded() -> bool:
            nonlocal end
            if end is None:
                end = await log.end(partition)
            if end == 0:
                return True
            checkpoint = await self._store.checkpoint(partition)
            if checkpoint is None or checkpoint.next < rev_of(self._fold.epoch, end):
                return False
            return (await log.committed(partition) or 0) >= end

        return await self._in_time(recorded, seconds)

    async def _in_time(self, there: Callable[[], Awaitable[bool]], seconds: float | None) -> bool:
        """Ask again and again whether it is there; one that can't be asked now is asked again."""
        pause = _FIRST_PAUSE
        try:
            async with asyncio.timeout(self._seconds if seconds is None else min(seconds, self._seconds)):
                while True:
                    try:
                        if await there():
                            return True
                    except Retry:
                        pause = _LONGEST_PAUSE
                    await asyncio.sleep(pause)
                    pause = min(_LONGEST_PAUSE, pause * _GROWTH)
        except TimeoutError:
            return False

    async def _is_there(self, tenant: str, token: Token) -> bool:
        if not await self.passed(token):
            return False
        receipt = await self._store.receipt(token.receipt)
        if not isinstance(receipt, Memory | Receipt) or receipt.tenant != tenant or receipt.outcome is None:
            return False
        return await self.landed(receipt, receipt.outcome)

    async def passed(self, token: Token) -> bool:
        """Whether the store has come past a token's place.

        An epoch begins when everything of the one before has been applied.
        """
        if token.epoch < self._fold.epoch:
            return True
        checkpoint = await self._store.checkpoint(token.partition)
        return checkpoint is not None and checkpoint.next > token.rev

    async def landed(self, receipt: Memory | Receipt, outcome: Outcome) -> bool:
        """Whether every point of a receipt's command has landed: a batch becomes visible in pieces.

        ``born`` is the receipt's own: where the command was there before, it was made by the earlier one.
        """
        added = outcome.counts.get("added", 0)
        return added <= 1 or await self._store.born_at(receipt.tenant, receipt.born) >= added
