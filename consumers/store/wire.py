"""JSON to and from the store over HTTP/1.1 connections of our own, kept open.

For the calls every batch and every question make. Qdrant's client takes 3 ms of processor time for one of them, this a
tenth of it; a question makes two. It speaks what Qdrant speaks: one request at a time on a connection, answers with a
length or in chunks, never compressed.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

KEPT_S = 3.0
"""Seconds a connection is kept while nothing is sent: below every server's own, so that none is met closing."""
_BUFFER = 2**20
_MOST = 100
_PORT = 6_333


class BadAnswer(Exception):  # noqa: N818 - what came, not another Error
    """What came back is no HTTP answer."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An HTTP answer; header names in lower case."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def kept(self) -> bool:
        """Whether the connection stays open after it."""
        return self.headers.get("connection", "").lower() != "close"


@dataclass(slots=True)
class _Connection:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    used: float = 0.0

    async def exchange(self, request: bytes) -> Answer:
        self.writer.write(request)
        await self.writer.drain()
        return await read_answer(self.reader)

    def usable(self, now: float) -> bool:
        return now - self.used < KEPT_S and not self.reader.at_eof()


@dataclass(slots=True)
class Wire:
    """Connections to one address, for one event loop; opened as they are needed, at most a hundred.

    ``url`` may hold a path that stands before every other; without a port it means Qdrant's usual one.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    _idle: list[_Connection] = field(default_factory=list[_Connection])
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MOST))

    async def send(self, method: str, path: str, body: bytes, *, again: bool) -> Answer:
        """Send a request and return its answer.

        A kept connection may have been closed by the other side unseen: with ``again`` the request is then sent once
        more on a new one. Without, that is an error: it may have arrived.

        Raises:
            OSError, EOFError: nobody answers, or not to the end.
            BadAnswer: it is no HTTP answer.
        """
        request = self._request(method, path, body)
        async with self._slots:
            kept = self._kept()
            if kept is not None:
                try:
                    return await self._on(kept, request)
                except (OSError, EOFError):
                    if not again:
                        raise
            return await self._on(await self._open(), request)

    async def close(self) -> None:
        """Close the connections that are idle; those in use are closed by whoever uses them."""
        while self._idle:
            self._idle.pop().writer.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _on(self, connection: _Connection, request: bytes) -> Answer:
        answer = None
        try:
            answer = await connection.exchange(request)
        finally:  # one that was left in the middle of an exchange, cancelled or failed, is of no use
            if answer is None or not answer.kept:
                connection.writer.close()
        if answer.kept:
            connection.used = time.monotonic()
            self._idle.append(connection)
        return answer

    def _kept(self) -> _Connection | None:
        now = time.monotonic()
        while self._idle:
            connection = self._idle.pop()
            if connection.usable(now):
                return connection
            connection.writer.close()
        return None

    async def _open(self) -> _Connection:
        address = urlsplit(self.url)
        tls = ssl.create_default_context() if address.scheme == "https" else None
        reader, writer = await asyncio.open_connection(address.hostname, address.port or _PORT, ssl=tls, limit=_BUFFER)
        return _Connection(reader, writer)

    def _request(self, method: str, path: str, body: bytes) -> bytes:
        address = urlsplit(self.url)
        lines = [
            f"{method} {address.path.rstrip('/')}{path} HTTP/1.1",
            f"host: {address.netloc.rpartition('@')[2]}",
            "content-type: application/json",
            "accept-encoding: identity",
            f"content-length: {len(body)}",
            *(f"{name}: {value}" for name, value in self.headers.items()),
        ]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def read_answer(reader: asyncio.StreamReader) -> Answer:
    """One answer from a connection.

    Raises:
        EOFError: the connection ended within it.
        BadAnswer: it is no HTTP answer.
    """
    try:
        status, headers = parse_head(await reader.readuntil(b"\r\n\r\n"))
        if headers.get("transfer-encoding", "").lower() == "chunked":
            return Answer(status, headers, await _chunks(reader))
        return Answer(status, headers, await reader.readexactly(int(headers["content-length"])))
    except (ValueError, KeyError, asyncio.LimitOverrunError) as error:
        raise BadAnswer(type(error).__name__) from None


def parse_head(head: bytes) -> tuple[int, dict[str, str]]:
    """The status and the headers, names in lower case.

    Raises:
        ValueError: it is no head of an HTTP/1.1 answer.
    """
    first, *lines = head.decode("latin-1").split("\r\n")
    version, status, *_ = first.split(" ", 2)
    if version != "HTTP/1.1":
        raise ValueError(version)
    pairs = (line.split(":", 1) for line in lines if line)
    return int(status), {name.strip().lower(): value.strip() for name, value in pairs}


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    content = bytearray()
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        content += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # trailers say nothing we need
    return bytes(content)
