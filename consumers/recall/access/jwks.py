"""An identity provider's keys, looked up where it publishes them. Only success is remembered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import httpx
import jwt
import orjson
from jwt import PyJWKSet

from afterturn.consumers.recall.access.principals import Unauthenticated
from afterturn.consumers.recall.access.tokens import usable
from afterturn.streams.errors import Retry

_TIMEOUT_S = 5.0
_LARGEST = 1_000_000
_OK = 200


class KeysAway(Retry):
    """The identity provider's keys can't be had: this request is refused, the next one asks again."""

    def __init__(self, detail_type: str) -> None:
        super().__init__(f"the identity provider's keys can't be had ({detail_type})", dependency="jwks")
        self.detail_type = detail_type


class Jwks:
    """Keys by id, remembered for ``seconds``; an id that isn't among them is looked up anew, ``again`` apart at least.

    Requests that need a look-up at the same time share one.
    """

    def __init__(
        self, url: str, *, seconds: float, again: float = 10.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._url = url
        self._seconds = seconds
        self._again = again
        self._clock = clock
        self._keys: dict[str | None, Any] = {}
        self._read_at = float("-inf")
        self._reading: asyncio.Task[None] | None = None

    async def find(self, kid: str | None) -> Any:  # noqa: ANN401 - a key of the JWT library
        """The key of this id; without one, the only one.

        Raises:
            Unauthenticated: the provider has no such key.
            KeysAway: it did not tell.
        """
        age = self._clock() - self._read_at
        if age >= self._seconds or (kid not in self._keys and age >= self._again):
            await self._shared()
        if kid not in self._keys:
            raise Unauthenticated("the token's key is none of the identity provider's")
        return self._keys[kid]

    async def close(self) -> None:
        """End a look-up that is under way."""
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.gather(self._reading, return_exceptions=True)

    async def _shared(self) -> None:
        if self._reading is None or self._reading.done():
            self._reading = asyncio.create_task(self._read())
            self._reading.add_done_callback(_heard)
        await asyncio.shield(self._reading)

    async def _read(self) -> None:
        try:
            async with asyncio.timeout(_TIMEOUT_S):
                content = await self._fetched()
            keys = usable(PyJWKSet.from_dict(orjson.loads(content)).keys)
        except (httpx.HTTPError, TimeoutError, ValueError, TypeError, AttributeError, jwt.PyJWTError) as error:
            raise KeysAway(type(error).__name__) from None
        self._keys, self._read_at = keys, self._clock()

    async def _fetched(self) -> bytes:
        body = bytearray()
        async with (
            httpx.AsyncClient(timeout=_TIMEOUT_S) as client,
            client.stream("GET", self._url, headers={"accept": "application/json"}) as answer,
        ):
            if answer.status_code != _OK:
                raise KeysAway(str(answer.status_code))
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > _LARGEST:
                    raise KeysAway("TooLarge")
        return bytes(body)


def _heard(task: asyncio.Task[None]) -> None:
    """Whoever asked may have gone: an error nobody waits for is no fault of the process."""
    if not task.cancelled():
        task.exception()
