"""The store's wire: answers read whole or refused, connections kept, and nothing sent twice unasked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from afterturn.consumers.store import wire
from afterturn.consumers.store.wire import Answer, BadAnswer, Wire, parse_head, read_answer

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Server:
    """A server that answers each request of each connection with what a script says, then closes."""

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
                length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
                self.requests.append(head + await reader.readexactly(length))
                if not self.script:
                    break
                answer = self.script.pop(0)
                writer.write(answer)
                await writer.drain()
                if answer == b"":
                    break
        except (EOFError, ConnectionError):
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(*script: bytes) -> AsyncIterator[tuple[Server, Wire]]:
    server = Server(*script)
    listening = await asyncio.start_server(server.handle, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    async with Wire(f"http://127.0.0.1:{server.port}", {"api-key": "k"}) as client:
        yield server, client
    listening.close()
    await listening.wait_closed()


async def read(content: bytes) -> Answer:
    reader = asyncio.StreamReader()
    reader.feed_data(content)
    reader.feed_eof()
    return await read_answer(reader)


async def test_a_request_is_plain_http_and_its_connection_is_kept() -> None:
    async with serving(PLAIN, PLAIN) as (server, client):
        for _ in range(2):
            answer = await client.send("POST", "/collections/a/points", b'{"x":1}', again=False)
            assert (answer.status, answer.content) == (200, b"{}")
        assert server.connections == 1
        head, _, body = server.requests[0].partition(b"\r\n\r\n")
        assert body == b'{"x":1}'
        lines = head.decode().split("\r\n")
        assert lines[0] == "POST /collections/a/points HTTP/1.1"
        assert f"host: 127.0.0.1:{server.port}" in lines
        assert {"accept-encoding: identity", "api-key: k", "content-length: 7"} <= set(lines)


async def test_requests_at_once_have_connections_of_their_own() -> None:
    async with serving(*[PLAIN] * 20) as (server, client):
        answers = await asyncio.gather(*(client.send("POST", "/", b"{}", again=True) for _ in range(10)))
        assert all(answer.status == 200 for answer in answers)
        assert server.connections <= 10
        before = server.connections
        await asyncio.gather(*(client.send("POST", "/", b"{}", again=True) for _ in range(before)))
        assert server.connections == before


async def test_a_kept_connection_the_server_closed_is_replaced_for_a_read_only() -> None:
    async with serving(PLAIN, b"", PLAIN, b"", PLAIN) as (server, client):
        await client.send("POST", "/", b"1", again=True)
        answer = await client.send("POST", "/", b"2", again=True)
        assert answer.status == 200
        assert [request[-1:] for request in server.requests] == [b"1", b"2", b"2"]
        with pytest.raises(EOFError):
            await client.send("PUT", "/", b"3", again=False)
        assert [request[-1:] for request in server.requests] == [b"1", b"2", b"2", b"3"]
        assert (await client.send("PUT", "/", b"4", again=False)).status == 200


async def test_a_connection_that_idled_too_long_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    async with serving(PLAIN, PLAIN) as (server, client):
        await client.send("POST", "/", b"{}", again=False)
        monkeypatch.setattr(wire, "KEPT_S", 0.0)
        await client.send("POST", "/", b"{}", again=False)
        assert server.connections == 2


async def test_a_connection_left_in_the_middle_is_not_used_again() -> None:
    async with serving(b"HTTP/1.1 200 OK\r\n", PLAIN) as (server, client):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await client.send("POST", "/", b"1", again=True)
        assert (await client.send("POST", "/", b"2", again=True)).content == b"{}"
        assert server.connections == 2


async def test_an_answer_that_says_close_ends_its_connection() -> None:
    closing = PLAIN.replace(b"OK\r\n", b"OK\r\nConnection: Close\r\n")
    async with serving(closing, PLAIN) as (server, client):
        for _ in range(2):
            assert (await client.send("POST", "/", b"{}", again=False)).status == 200
        assert server.connections == 2


async def test_nobody_there_is_an_os_error() -> None:
    async with Wire("http://127.0.0.1:1") as client:
        with pytest.raises(OSError, match="Connect"):
            await client.send("POST", "/", b"{}", again=True)


async def test_a_path_before_every_path_is_kept() -> None:
    async with serving(PLAIN) as (server, _):
        async with Wire(f"http://127.0.0.1:{server.port}/behind/proxy/") as client:
            await client.send("POST", "/collections", b"{}", again=True)
        assert server.requests[0].startswith(b"POST /behind/proxy/collections HTTP/1.1\r\n")


async def test_chunks_are_put_together() -> None:
    content = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nabcd\r\n2;x=y\r\nef\r\n0\r\nTrailer: t\r\n\r\n"
    )
    assert (await read(content)).content == b"abcdef"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"HTTP/1.1 200 OK\r\n",
        PLAIN[:-1],
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nab",
    ],
)
async def test_an_answer_cut_off_is_an_end(content: bytes) -> None:
    with pytest.raises(EOFError):
        await read(content)


@pytest.mark.parametrize(
    "content",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 two OK\r\nContent-Length: 2\r\n\r\n{}",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 2**20,
    ],
)
async def test_what_is_no_answer_is_said_to_be_none(content: bytes) -> None:
    with pytest.raises((BadAnswer, EOFError)):
        await read(content)


def test_header_names_are_in_lower_case() -> None:
    assert parse_head(b"HTTP/1.1 404 Not Found\r\nX-A:  b: c \r\n\r\n") == (404, {"x-a": "b: c"})
