"""Nobody holds a service's connections by doing next to nothing: each ends, and what is usual goes on."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from support.log import until

from afterturn.consumers.guarding import GuardedProtocol
from afterturn.consumers.serving import serving

ASKED = b"GET / HTTP/1.1\r\nhost: x\r\n"
MANY = b"".join(b"x-%d: %s\r\n" % (n, b"y" * 1_000) for n in range(1_000))


async def early(_: Request) -> PlainTextResponse:
    """Answers whatever of the body has come."""
    return PlainTextResponse("hello")


class Endless:
    """A stream that never ends by itself; ``ended`` is set when somebody ends it."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def answer(self, _: Request) -> StreamingResponse:
        return StreamingResponse(self._lines())

    async def _lines(self) -> AsyncIterator[bytes]:
        try:
            while True:
                yield b"x" * 65_536
                await asyncio.sleep(0)
        finally:
            self.ended.set()


@pytest.fixture
def stream() -> Endless:
    return Endless()


@pytest.fixture
async def port(stream: Endless, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[int]:
    monkeypatch.setattr(GuardedProtocol, "head_s", 1.0)
    monkeypatch.setattr(GuardedProtocol, "unread_s", 1.0)
    app = Starlette(routes=[Route("/", early, methods=["GET", "POST"]), Route("/stream", stream.answer)])
    async with serving(app, "127.0.0.1", 0) as port:

        async def listens() -> bool:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except ConnectionRefusedError:
                return False
            writer.close()
            return True

        await until(listens)
        yield port


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1_024)
    try:
        yield reader, writer
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def ends(reader: asyncio.StreamReader) -> bytes:
    """What still comes until the connection ends, which it does soon."""
    async with asyncio.timeout(20):
        try:
            return await reader.read()
        except ConnectionError:
            return b""


@pytest.mark.parametrize("before", [b"", ASKED + b"\r\n"], ids=["first", "after an answer"])
@pytest.mark.parametrize("begun", [b"", b"\r\n", b"GET /", ASKED, ASKED + b"x: "])
async def test_who_sends_a_head_bit_by_bit_is_not_waited_for(port: int, before: bytes, begun: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(before)
        if before:
            await reader.readuntil(b"hello")
        writer.write(begun)
        ending = asyncio.create_task(ends(reader))
        while not ending.done():
            with suppress(ConnectionError):
                writer.write(b"x" if begun.strip() else b"\r\n")
            await asyncio.wait({ending}, timeout=0.1)
        assert await ending == b""


@pytest.mark.parametrize(
    "head",
    [b"GET /" + b"x" * 2_000_000, ASKED + b"x: " + b"y" * 2_000_000, ASKED + b"x" * 2_000_000, ASKED + MANY],
    ids=["url", "value", "name", "many"],
)
async def test_a_head_without_end_is_refused(port: int, head: bytes) -> None:
    async with connected(port) as (reader, writer):
        writer.write(head)
        said = await ends(reader)
        assert said == b"" or b"400 Bad Request" in said


async def test_a_large_body_is_no_head_even_after_its_answer(port: int) -> None:
    async with connected(port) as (reader, writer):
        for _ in range(2):
            writer.write(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 2000000\r\n\r\n")
            assert await reader.readuntil(b"hello")
            writer.write(b"x" * 2_000_000)
            await writer.drain()
        writer.write(ASKED + b"\r\n")
        assert b"200 OK" in await reader.readuntil(b"hello")


async def test_an_answer_that_nobody_reads_ends(port: int, stream: Endless) -> None:
    async with connected(port) as (_, writer):
        writer.write(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
        async with asyncio.timeout(20):
            await stream.ended.wait()


async def test_an_answer_that_is_read_goes_on(port: int, stream: Endless) -> None:
    async with connected(port) as (reader, writer):
        writer.write(b"GET /stream HTTP/1.1\r\nhost: x\r\n\r\n")
        now = asyncio.get_running_loop().time
        until = now() + 2.5
        while now() < until:
            assert await reader.read(65_536)
        assert not stream.ended.is_set()
