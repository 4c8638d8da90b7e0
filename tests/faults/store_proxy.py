"""A proxy in front of the store: it sees every call, can hold it up, lose it, lose its answer, or act when it comes."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Literal

from aiohttp import ClientError, ClientSession, ClientTimeout, web

from afterturn.consumers.dev.broker import free_port

Kind = Literal["read", "tails", "landing", "upsert", "opening", "other"]
"""Calls by step: 2 ``read`` (receipts, states), ``tails``, ``landing`` (last), 5 ``upsert``; a lane's ``opening``."""
_KINDS: dict[tuple[str, str], Kind] = {
    ("POST", "/points"): "read",
    ("POST", "/points/query/batch"): "tails",
    ("POST", "/points/scroll"): "landing",
    ("PUT", "/points"): "upsert",
    ("POST", "/points/payload"): "opening",
}
MAX_BODY = 64 * 1024 * 1024


@dataclass
class Fate:
    """What becomes of a call; seconds are waited at its place.

    Attributes:
        before: waited before it is passed on.
        reach: whether it reaches the store.
        after: waited before its answer is passed on.
        answer: whether the answer reaches who asked; else the connection is cut.
        status: the answer in the store's stead, where it does not reach it, and `why`.
        held: it is passed on only once this is set, and its answer gets to nobody.
    """

    before: float = 0.0
    reach: bool = True
    after: float = 0.0
    answer: bool = True
    status: int | None = None
    why: str = "No space left on device"
    held: asyncio.Event | None = None


@dataclass(frozen=True)
class Call:
    """A call of the store."""

    kind: Kind
    body: bytes


Meddling = Callable[[Call], Fate | None]
"""Decides a call's fate; None: it is left alone."""


@dataclass
class Trap:
    """Acts at the ``nth`` call of a kind from now on, before it reaches the store or once it was applied there.

    The call's answer gets to nobody: what acts is meant to end whoever asked.
    """

    kind: Kind
    nth: int
    when: Literal["before", "after"]
    act: Callable[[], Awaitable[None]]
    taken: bool = False
    sprung: asyncio.Event = field(default_factory=asyncio.Event)

    def springs(self, kind: Kind) -> bool:
        """Count a call; whether it is the one."""
        if self.taken or kind != self.kind:
            return False
        self.nth -= 1
        self.taken = self.nth <= 0  # another call may come before this one has been dealt with
        return self.taken


class StoreProxy:
    """Passes calls on to a store, in this process's event loop."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._port = free_port()
        self._runner: web.AppRunner | None = None
        self._session: ClientSession | None = None
        self.meddling: Meddling | None = None
        self.traps: list[Trap] = []
        self.calls: Counter[Kind] = Counter()
        self.troubled: Counter[Kind] = Counter()
        self.held = 0
        self.late = 0

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self._port}"

    async def start(self) -> None:
        """Listen."""
        app = web.Application(client_max_size=MAX_BODY)
        app.router.add_route("*", "/{path:.*}", self._pass_on)
        # What is under way at the end is dropped: who asked has ended.
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", self._port).start()
        self._session = ClientSession(timeout=ClientTimeout(total=120))

    async def close(self) -> None:
        """Stop listening."""
        if self._session is not None:
            await self._session.close()
        if self._runner is not None:
            await self._runner.cleanup()

    def trap(self, trap: Trap) -> Trap:
        """Lay a trap."""
        self.traps.append(trap)
        return trap

    async def _pass_on(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        kind = _kind(request.method, request.path)
        self.calls[kind] += 1
        trap = next((t for t in self.traps if t.springs(kind)), None)
        if trap is not None:
            if trap.when == "after":
                await self._ask(request, body)
            await trap.act()
            trap.sprung.set()
            return self._cut(request)
        fate = (self.meddling(Call(kind, body)) if self.meddling else None) or Fate()
        return await self._meet(fate, request, body)

    async def _meet(self, fate: Fate, request: web.Request, body: bytes) -> web.StreamResponse:
        if fate != Fate():
            self.troubled[_kind(request.method, request.path)] += 1
        if fate.held is not None:
            self.held += 1
            await fate.held.wait()
            await self._ask(request, body)
            self.held -= 1
            return self._cut(request)
        await asyncio.sleep(fate.before)
        if fate.status is not None:
            return web.json_response({"status": {"error": fate.why}, "time": 0.0}, status=fate.status)
        if not fate.reach:
            return self._cut(request)
        self.late += _has_gone(request)
        answer = await self._ask(request, body)
        await asyncio.sleep(fate.after)
        return answer if fate.answer and answer is not None else self._cut(request)

    async def _ask(self, request: web.Request, body: bytes) -> web.Response | None:
        assert self._session is not None
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        url = f"{self._target}{request.path_qs}"
        try:
            async with self._session.request(request.method, url, data=body, headers=headers) as answer:
                content = await answer.read()
                return web.Response(body=content, status=answer.status, content_type="application/json")
        except (ClientError, TimeoutError):
            return None

    def _cut(self, request: web.Request) -> web.StreamResponse:
        """Close the connection without an answer, as a store that dies does."""
        if request.transport is not None:
            request.transport.abort()
        return web.Response(status=502)


def _has_gone(request: web.Request) -> bool:
    """Whether who asked has given the call up, though it is passed on yet."""
    return request.transport is None or request.transport.is_closing()


def _kind(method: str, path: str) -> Kind:
    _, _, rest = path.partition("/collections/memories")
    return _KINDS.get((method, rest), "other")
