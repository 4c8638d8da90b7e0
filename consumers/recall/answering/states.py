"""Tenants' states, remembered for a moment: an answer needs the authors and the settings, and both change rarely."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable

from afterturn.schemas.points import TenantState

Read = Callable[[str], Awaitable[TenantState | None]]


class TenantStates:
    """A bounded memory of what was read of tenants, also of those nothing is known of.

    ``seconds``: how long an entry counts. ``entries``: how many there are at most; the one read longest ago goes first.
    """

    def __init__(
        self, read: Read, *, seconds: float, entries: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._read = read
        self._seconds = seconds
        self._entries = entries
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, TenantState | None]] = OrderedDict()

    async def get(self, tenant: str, *, fresh: bool = False) -> TenantState | None:
        """The tenant's state, None for a tenant nothing was recorded for; ``fresh`` asks the store in any case.

        Raises:
            What reading raises; nothing is remembered then.
        """
        known = self._known.get(tenant)
        if known is not None and not fresh and self._clock() < known[0]:
            return known[1]
        state = await self._read(tenant)
        self._known[tenant] = (self._clock() + self._seconds, state)
        self._known.move_to_end(tenant)
        if len(self._known) > self._entries:
            self._known.popitem(last=False)
        return state
