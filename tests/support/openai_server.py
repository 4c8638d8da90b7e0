"""A local OpenAI-compatible endpoint for embeddings that misbehaves on command. Plain asyncio, a port of its own."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """What the server does with one request instead of answering it.

    ``status`` with an error body (or ``body``), a 200 with ``body``, or ``drop``: the connection is closed.
    """

    status: int = 200
    body: bytes | None = None
    content_type: str = "application/json"
    drop: bool = False


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    path: str
    authorization: str
    model: str
    texts: list[str]


@dataclass(slots=True)
class OpenAIServer:
    """Embeds by a hash of each text; ``faults`` are spent first, one a request."""

    dimension: int = 8
    refuses: Callable[[str], bool] = lambda _: False
    """Texts for which a request is answered 400."""
    most_texts: int = 2048
    """More texts in a request are answered 413."""
    change: Callable[[dict[str, Any]], object] = lambda answer: answer
    """The last word on a good answer's body."""
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    base_url: str = ""

    def vector(self, text: str) -> list[float]:
        """The vector this server gives ``text``."""
        digest = sha256(text.encode()).digest()
        return [digest[place % 32] / 255 + 0.001 for place in range(self.dimension)]

    def _answer(self, request: Seen) -> Fault:
        if len(request.texts) > self.most_texts:
            return _error(413, "too many texts")
        if any(map(self.refuses, request.texts)):
            return _error(400, f"refused: {request.texts}")  # as real ones do, it quotes the input
        data = [
            {"object": "embedding", "index": index, "embedding": self.vector(text)}
            for index, text in enumerate(request.texts)
        ]
        tokens = sum(len(text.split()) for text in request.texts)
        answer = {
            "object": "list",
            "data": data,
            "model": request.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        return Fault(body=json.dumps(self.change(answer)).encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while (request := await _read(reader)) is not None:
                self.seen.append(request)
                fault = self.faults.popleft() if self.faults else self._answer(request)
                if fault.drop:
                    return
                if fault.status != 200 and fault.body is None:
                    fault = _error(fault.status, f"the key {request.authorization} and {request.texts}")
                body = fault.body or b""
                head = f"HTTP/1.1 {fault.status} X\r\ncontent-type: {fault.content_type}\r\n"
                writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        finally:
            writer.close()


def _error(status: int, message: str) -> Fault:
    return Fault(status, json.dumps({"error": {"message": message, "type": "x", "code": "y"}}).encode())


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    """The next request of a connection; None where the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
    return Seen(first.split()[1], headers.get("authorization", ""), body["model"], body["input"])


@asynccontextmanager
async def openai_server(dimension: int = 8) -> AsyncIterator[OpenAIServer]:
    """A running server; its ``base_url`` is what ``OPENAI_BASE_URL`` takes."""
    server = OpenAIServer(dimension=dimension)
    connections: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        connections[task] = writer
        await server._serve(reader, writer)

    listening = await asyncio.start_server(connected, "127.0.0.1", 0)
    server.base_url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
    try:
        yield server
    finally:
        listening.close()
        for writer in connections.values():
            writer.close()  # its reader then meets the end
        await asyncio.gather(*connections)
