"""Sending turns: at once where that can be, else from the spool, in order and with the same ids."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Literal, TypeVar

from afterturn.schemas.codec import body_of, parse
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.token import Token
from afterturn.streams.agent.routes import Route
from afterturn.streams.agent.spool import Spool, Spooled
from afterturn.streams.backoff import Backoff
from afterturn.streams.errors import AfterturnError, DeadLetter, Stop

__all__ = ("Sender", "Sent")

T = TypeVar("T")
_LOG = logging.getLogger("afterturn.agent")
_AT_ONCE = 50
_PATIENCE_S = 30.0


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of a turn.

    Attributes:
        status: ``published`` (it is on the log), ``spooled`` (it will be, later), ``lost`` (there is no room for it),
            ``refused`` (it breaks the contract and never can be), ``off`` (recording is switched off, or the answer
            was blocked).
        token: where it stands on the log, once published.
        error: the simple name of the error that kept it from being published.
        problem: what is wrong with a refused turn, without any of its content.
    """

    status: Literal["published", "spooled", "lost", "refused", "off"]
    token: Token | None = None
    error: str | None = None
    problem: str | None = None


class Sender:
    """Sends turns by a route. While a tenant's turns wait in the spool its later ones wait behind them.

    ``lost`` counts turns that were neither sent nor kept.
    """

    def __init__(self, route: Route, spool: Spool | None, *, seconds: float, backoff: Backoff | None = None) -> None:
        self._route = route
        self._spool = spool
        self._seconds = seconds
        self._backoff = backoff or Backoff()
        self._waiting = asyncio.Event()
        self._draining: asyncio.Task[None] | None = None
        self.lost = 0

    async def start(self) -> None:
        """Begin to connect, and to send what an earlier process has left."""
        await self._route.start()
        if self._spool is not None:
            self._waiting.set()
            self._draining = asyncio.create_task(self._drain(self._spool))

    async def close(self) -> None:
        """Disconnect; what waits stays in the spool."""
        if self._draining is not None:
            self._draining.cancel()
            await asyncio.wait({self._draining})
        await self._route.close()
        if self._spool is not None:
            self._spool.close()

    async def send(self, turn: TurnCompleted) -> Sent:
        """Send a turn, or keep it for later. Whatever becomes of it, the turn's answer stands: nothing is raised."""
        if await self.waits(turn.tenant):
            return await self._keep(turn, None)
        result = await _tried(self._route.publish(turn, self._seconds))
        if isinstance(result, Token):
            return Sent("published", result)
        if isinstance(result, ContractError | DeadLetter):
            return self.refused(result)
        return await self._keep(turn, result)

    async def waits(self, tenant: str) -> bool:
        """Whether turns of the tenant wait: then a later one waits behind them, as its order is the tenant's."""
        if self._spool is None:
            return False
        return await _tried(asyncio.to_thread(self._spool.holds, tenant)) is True

    async def _keep(self, turn: TurnCompleted, error: AfterturnError | None) -> Sent:
        name = None if error is None else type(error).__name__
        kept: object = False
        if self._spool is not None:
            kept = await _tried(asyncio.to_thread(self._spool.add, turn.tenant, body_of(turn)))
        if kept is True:
            self._waiting.set()
            return Sent("spooled", error=name)
        why = kept if isinstance(kept, AfterturnError) else "there is no room for it"
        self.lost += 1
        _LOG.error("a turn is lost: it could not be sent (%s) and not be kept (%s)", name, why)
        return Sent("lost", error=name)

    def refused(self, error: ContractError | DeadLetter) -> Sent:
        """Say of a turn that it can never be recorded."""
        self.lost += 1
        _LOG.error("a turn is refused and not recorded: %s", error)
        return Sent(
            "refused",
            error=type(error).__name__,
            problem=error.named if isinstance(error, ContractError) else str(error),
        )

    async def _drain(self, spool: Spool) -> None:
        """Send what waits, oldest first, until cancelled; while memory is away, try again and again."""
        failures = 0
        while True:
            await self._waiting.wait()
            self._waiting.clear()
            error = await self._drained(spool)
            failures = 0 if error is None else failures + 1
            if error is not None:
                delay = self._backoff.delay(failures, random.random())  # noqa: S311 - jitter
                _LOG.info("turns wait: %s Next try in %.1f s.", error, delay)
                await asyncio.sleep(delay)
                self._waiting.set()

    async def _drained(self, spool: Spool) -> AfterturnError | None:
        """Send what waits; the error that keeps something back. A tenant that is refused keeps no other waiting."""
        refused: dict[str, Stop] = {}
        while True:
            waiting = await _tried(asyncio.to_thread(spool.oldest, _AT_ONCE, list(refused)))
            if isinstance(waiting, AfterturnError):
                return waiting
            if not isinstance(waiting, list) or not waiting:
                return next(iter(refused.values()), None)
            for kept in waiting:
                if kept.tenant not in refused:
                    error = await self._send_kept(spool, kept)
                    if isinstance(error, Stop):
                        refused[kept.tenant] = error
                    elif error is not None:
                        return error

    async def _send_kept(self, spool: Spool, kept: Spooled) -> AfterturnError | None:
        result = await _tried(self._publish(kept))
        if isinstance(result, AfterturnError) and not isinstance(result, DeadLetter):
            return result
        if isinstance(result, ContractError | DeadLetter):
            self.refused(result)
        removed = await _tried(asyncio.to_thread(spool.remove, kept.seq))
        return removed if isinstance(removed, AfterturnError) else None

    async def _publish(self, kept: Spooled) -> Token:
        return await self._route.publish(parse(TurnCompleted, kept.body, unknown="ignore"), _PATIENCE_S)


async def _tried(doing: Awaitable[T]) -> T | AfterturnError | ContractError:
    """What is done, or our error as a value: after an answer was given no error may take it back."""
    (result,) = await asyncio.gather(doing, return_exceptions=True)
    if isinstance(result, BaseException) and not isinstance(result, AfterturnError | ContractError):
        raise result
    return result
