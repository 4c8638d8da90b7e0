"""The store's wire: answers whole or an error, connections kept, and nothing sent twice unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from afterturn.consumers.dev.broker import free_port
from afterturn.consumers.store.wire import Wire

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
CLOSE = b""


class Server:
    """A server that answers each request with what a script says, and closes after anything but ``PLAIN``."""

    def __init__(self, *script: bytes) -> None:
        self.script = list(script)
        self.requests: list[bytes] = []
        self.connections = 0
        self.port = 0

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                answer = self.script.pop(0) if self.script else CLOSE
                writer.write(answer)
                await writer.drain()
                if answer != PLAIN:
                    break
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*script: bytes, path: str = "") -> AsyncIterator[tuple[Server, Wire]]:
    server = Server(*script)
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with Wire(f"http://127.0.0.1:{server.port}{path}", {"api-key": "k"}) as wire:
        yield server, wire
    listening.close()
    await listening.wait_closed()


async def test_a_request_is_plain_and_its_connection_is_kept() -> None:
    async with serving(PLAIN, PLAIN) as (server, wire):
        for _ in range(2):
            answer = await wire.send("POST", "/collections/m/points?wait=true", b'{"a":1}', again=False)
            assert (answer.status, answer.content) == (200, b"{}")
        assert server.connections == 1
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert head.startswith(b"POST /collections/m/points?wait=true HTTP/1.1\r\n")
        assert b"accept-encoding: identity" in head.lower()
        assert b"api-key: k" in head.lower()
        assert body == b'{"a":1}'


async def test_a_connection_the_server_closed_is_replaced_for_a_read_only() -> None:
    async with serving(CLOSE, PLAIN) as (server, wire):
        assert (await wire.send("POST", "/", b"{}", again=True)).status == 200
        assert len(server.requests) == 2
    async with serving(CLOSE, PLAIN) as (server, wire):
        with pytest.raises(aiohttp.ClientError):
            await wire.send("POST", "/", b"{}", again=False)
        assert len(server.requests) == 1, "a write is not sent twice unasked"


async def test_nobody_there_is_an_error() -> None:
    async with Wire(f"http://127.0.0.1:{free_port()}") as wire:
        with pytest.raises(aiohttp.ClientError):
            await wire.send("POST", "/", b"{}", again=True)


@pytest.mark.parametrize(
    "answer", [b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{}", b"garbage\r\n\r\n", b"HTTP/1.1 200 OK\r\nCont"]
)
async def test_an_answer_that_is_cut_off_or_none_is_an_error(answer: bytes) -> None:
    async with serving(answer) as (_, wire):
        with pytest.raises(aiohttp.ClientError):
            await wire.send("POST", "/", b"{}", again=False)


async def test_a_path_before_every_path_is_kept_and_so_is_what_was_encoded() -> None:
    async with serving(PLAIN, path="/qdrant/") as (server, wire):
        await wire.send("POST", "/collections/a%20b/points", b"{}", again=False)
        assert server.requests[0].startswith(b"POST /qdrant/collections/a%20b/points HTTP/1.1\r\n")


async def test_a_large_body_arrives_whole_with_its_length() -> None:
    body = b'{"x": "' + b"y" * 3_000_000 + b'"}'
    async with serving(PLAIN) as (server, client):
        assert (await client.send("PUT", "/", body, again=False)).status == 200
        head, _, arrived = server.requests[0].partition(b"\r\n\r\n")
        assert arrived == body
        assert b"chunked" not in head.lower()


@pytest.mark.parametrize("size", [10, 3_000_000])
async def test_what_must_not_arrive_any_more_never_arrives_whole(size: int) -> None:
    """A process that was stopped while it sent, and wakes: the rest is not sent, and the connection ends."""
    body = b"y" * size
    for allowed in (0, 1):
        left = allowed

        def still() -> None:
            nonlocal left
            left -= 1
            if left < 0:
                raise RuntimeError

        async with serving(PLAIN, PLAIN) as (server, wire):
            if size > 10 or allowed == 0:
                with pytest.raises(aiohttp.ClientError):
                    await wire.send("PUT", "/", body, again=False, still=still)
                assert server.requests == []
            assert (await wire.send("PUT", "/", body, again=False, still=lambda: None)).status == 200
            assert server.requests[-1].endswith(b"\r\n\r\n" + body)
