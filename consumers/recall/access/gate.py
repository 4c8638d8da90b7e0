"""The gate every request passes: whose it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from datetime import datetime
from typing import TYPE_CHECKING

from afterturn.consumers.recall.access.keyring import KeyRing, fixed_keys
from afterturn.consumers.recall.access.keys import PREFIX, identify
from afterturn.consumers.recall.access.principals import EVERYONE, Principal, Unauthenticated
from afterturn.consumers.recall.access.settings import AccessSettings

if TYPE_CHECKING:
    from afterturn.consumers.recall.access.tokens import Tokens

_HOW = "send it as Authorization: Bearer, with an API key or a token"


class Gate:
    """Tells who asks, by API keys, by tokens, or by both; without either everyone is let in."""

    def __init__(self, ring: KeyRing | None = None, tokens: Tokens | None = None) -> None:
        self._ring = ring
        self._tokens = tokens

    @property
    def open(self) -> bool:
        """Whether there is no authentication."""
        return self._ring is None and self._tokens is None

    async def principal(self, authorization: Sequence[str], now: datetime) -> Principal:
        """Who asks, by the values of the header ``Authorization``.

        Raises:
            Unauthenticated: it isn't told, or not rightly.
            Retry: it could not be found out now.
        """
        if self.open:
            return EVERYONE
        if len(authorization) != 1:
            raise Unauthenticated(f"is missing: {_HOW}" if not authorization else "must be there once")
        scheme, _, credential = authorization[0].partition(" ")
        credential = credential.strip()
        if scheme.lower() != "bearer" or not credential:
            raise Unauthenticated(_HOW)
        if credential.startswith(PREFIX) and self._ring is not None:
            return identify(self._ring.current(), credential, now)
        if self._tokens is None:
            raise Unauthenticated("this is no API key of this service")
        return await self._tokens.identify(credential)


def open_gate(settings: AccessSettings, resources: AsyncExitStack, stale: Callable[[bool], None]) -> Gate:
    """The gate that the settings describe; ``stale`` is told whether keys are held that can't be read any more.

    Raises:
        BadSettings: a setting, or a file it names, can't be used.
    """
    ring = None
    if settings.keys_file is not None or settings.keys is not None:
        fixed = fixed_keys(None if settings.keys is None else settings.keys.get_secret_value())
        ring = KeyRing(settings.keys_file, fixed, stale)
    if not settings.takes_tokens:
        return Gate(ring)
    # Cryptography takes memory: only those who take tokens pay it.
    from afterturn.consumers.recall.access.jwks import Jwks
    from afterturn.consumers.recall.access.tokens import Tokens, key_of_file

    if settings.jwt_key_file is not None:
        return Gate(ring, Tokens(settings, key_of_file(settings.jwt_key_file)))
    assert settings.jwt_jwks_url is not None
    jwks = Jwks(settings.jwt_jwks_url, seconds=settings.jwt_keys_seconds)
    resources.push_async_callback(jwks.close)
    return Gate(ring, Tokens(settings, jwks.find))
