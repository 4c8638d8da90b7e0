"""A local OpenAI-compatible endpoint, for embeddings and chat, that misbehaves on command. Plain asyncio."""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any


@dataclass(frozen=True, slots=True)
class Fault:
    """What the server does with one request instead of answering it.

    ``status`` with an error body (or ``body``), a 200 with ``body``, ``drop``: the connection is closed, ``hang``:
    nothing comes until the client goes away, or ``trickle``: a byte now and then until it does.
    """

    status: int = 200
    body: bytes | None = None
    content_type: str = "application/json"
    drop: bool = False
    hang: bool = False
    trickle: bool = False
    headers: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Seen:
    """A request as it arrived."""

    path: str
    authorization: str
    model: str
    texts: list[str]
    """What is to be embedded, or the contents of a chat's messages."""
    body: dict[str, Any]


@dataclass(slots=True)
class OpenAIServer:
    """Embeds by a hash of each text, and chats by ``says``; ``faults`` are spent first, one a request."""

    dimension: int = 8
    refuses: Callable[[str], bool] = lambda _: False
    """Texts for which a request is answered 400."""
    most_texts: int = 2048
    """More texts in a request are answered 413."""
    says: Callable[[dict[str, Any]], str] = lambda _: '{"summary": "They talked about Rex, a dog of 3 years."}'
    """The content of a chat's answer to a request's body."""
    takes: Callable[[dict[str, Any]], str | None] = lambda _: None
    """The field of a chat's request that is refused with a 400 that names it; empty: it names none."""
    change: Callable[[dict[str, Any]], object] = lambda answer: answer
    """The last word on a good answer's body."""
    faults: deque[Fault] = field(default_factory=deque)
    seen: list[Seen] = field(default_factory=list)
    base_url: str = ""

    def vector(self, text: str) -> list[float]:
        """The vector this server gives ``text``."""
        digest = sha256(text.encode()).digest()
        return [digest[place % 32] / 255 + 0.001 for place in range(self.dimension)]

    def _chat(self, request: Seen) -> Fault:
        refused = self.takes(request.body)
        if refused is not None:
            return _error(400, f"refused: {request.texts}", refused or None)
        said = self.says(request.body)
        answer = {
            "object": "chat.completion",
            "choices": [{"index": 0, "message": {"role": "assistant", "content": said}, "finish_reason": "stop"}],
            "model": request.model,
            "usage": {
                "prompt_tokens": sum(len(text.split()) for text in request.texts),
                "completion_tokens": len(said.split()),
            },
        }
        return Fault(body=json.dumps(self.change(answer)).encode())

    def _answer(self, request: Seen) -> Fault:
        if request.path.endswith("/chat/completions"):
            return self._chat(request)
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
                if fault.trickle:
                    writer.write(b"HTTP/1.1 200 X\r\ncontent-type: application/json\r\ncontent-length: 9999\r\n\r\n")
                    await _trickle(reader, writer)
                if fault.hang:
                    await reader.read()
                if fault.hang or fault.drop or fault.trickle:
                    return
                if fault.status != 200 and fault.body is None:
                    error = _error(fault.status, f"the key {request.authorization} and {request.texts}")
                    fault = replace(fault, body=error.body)
                body = fault.body or b""
                head = f"HTTP/1.1 {fault.status} X\r\ncontent-type: {fault.content_type}\r\n"
                head += "".join(f"{name}: {value}\r\n" for name, value in fault.headers)
                writer.write(f"{head}content-length: {len(body)}\r\n\r\n".encode() + body)
                await writer.drain()
        finally:
            writer.close()


async def _trickle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        try:
            await asyncio.wait_for(reader.read(), 0.02)
        except TimeoutError:
            writer.write(b" ")
        else:
            return


def _error(status: int, message: str, param: str | None = None) -> Fault:
    error = {"message": message, "type": "x", "code": "y", "param": param}
    return Fault(status, json.dumps({"error": error}).encode())


async def _read(reader: asyncio.StreamReader) -> Seen | None:
    """The next request of a connection; None where the client has closed it."""
    try:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = json.loads(await reader.readexactly(int(headers.get("content-length", "0"))))
    texts = body["input"] if "input" in body else [each["content"] for each in body["messages"]]
    return Seen(first.split()[1], headers.get("authorization", ""), body["model"], texts, body)


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
