"""The scope of a request: what is fixed for its caller, what it names, and what its tenant requires."""

from __future__ import annotations

import asyncio

from afterturn.consumers.recall.access.principals import require_dimensions, within
from afterturn.consumers.recall.web.desk import Caller, Desk
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import TenantSettings
from afterturn.streams.errors import Retry

_SOON_S = 1.0
"""How long a write waits for its tenant's settings at most: it does not hang on a slow store."""


async def scope_for(desk: Desk, caller: Caller, asked: Scope, place: str = "scope", *, strict: bool) -> Scope:
    """The scope of a request: the caller's own, and what was asked beside it; whole, as the tenant's settings require.

    ``strict``: where the settings can't be read nothing may go on. Else it goes on: the recorder checks them again.

    Raises:
        Forbidden: another value of a fixed dimension was asked.
        ContractError: a dimension that the tenant requires is missing.
        Retry: the settings can't be read.
    """
    scope = within(caller.principal.scope, asked, place)
    try:
        async with asyncio.timeout(desk.settings.answer_timeout if strict else _SOON_S):
            state = await desk.reading().states.get(caller.tenant)
    except (Retry, TimeoutError):
        if strict:
            raise
        return scope
    settings = state.settings if state else TenantSettings()
    require_dimensions(scope, settings.required_scope, place)
    return scope
