"""JSON to and from the store, on connections that are kept open.

For the calls every batch and every question make: a request through Qdrant's client takes 3 ms of processor time, most
of it in its models and its HTTP library's parser; aiohttp, whose parser is compiled, takes a fraction.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import aiohttp
from yarl import URL

KEPT_S = 3.0
"""Seconds a connection is kept while nothing is sent: below every server's own, so that none is met closing."""
_MOST = 100
Still = Callable[[], None] | None
"""Raises where what is being sent must not arrive any more."""
_PORT = 6_333
_IN_ONE_GO = 2**20
_UNBOUNDED = aiohttp.ClientTimeout(total=None)  # whoever calls bounds a call from its first byte to its last
_HEADERS = {"content-type": "application/json", "accept-encoding": "identity"}


class _Asked(io.BytesIO):
    """A body that asks before each piece whether it may still be sent."""

    def __init__(self, body: bytes, still: Callable[[], None]) -> None:
        super().__init__(body)
        self._still = still

    def read(self, size: int | None = -1, /) -> bytes:
        """The next piece.

        Raises:
            What asking raises.
        """
        self._still()
        return super().read(size)


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Wire:
    """Connections to one address, for one event loop; opened as they are needed, at most a hundred.

    ``url`` may hold a path that stands before every other; without a port it means Qdrant's usual one.
    """

    def __init__(self, url: str, headers: Mapping[str, str] | None = None) -> None:
        parsed = URL(url)
        self._base = str(parsed if parsed.explicit_port else parsed.with_port(_PORT)).rstrip("/")
        self._headers = {**_HEADERS, **(headers or {})}
        self._session: aiohttp.ClientSession | None = None

    async def send(self, method: str, path: str, body: bytes, *, again: bool, still: Still = None) -> Answer:
        """Send a request and return its answer.

        ``still`` is asked before each piece of the body goes out; where it raises, the rest does not, and the request
        never arrives whole.

        A kept connection may have been closed by the other side unseen: with ``again`` the request is then sent once
        more. Without, that is an error: it may have arrived.

        Raises:
            aiohttp.ClientError: nobody answers, not to the end, or not with HTTP.
        """
        try:
            return await self._send(method, path, body, still)
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if not again:
                raise
        return await self._send(method, path, body, still)

    async def close(self) -> None:
        """Close every connection."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _send(self, method: str, path: str, body: bytes, still: Still) -> Answer:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=_MOST, keepalive_timeout=KEPT_S),
                timeout=_UNBOUNDED,
                headers=self._headers,
                trust_env=False,
                cookie_jar=aiohttp.DummyCookieJar(),
            )
        address = URL(self._base + path, encoded=True)
        # A large body given as bytes is written in one go, and aiohttp warns of that: as a stream it goes in pieces.
        data: bytes | io.BytesIO | None = (body or None) if len(body) < _IN_ONE_GO else io.BytesIO(body)
        if still is not None:
            data = _Asked(body, still)
        async with self._session.request(method, address, data=data, allow_redirects=False) as answer:
            return Answer(answer.status, answer.headers, await answer.read())
