"""The same memory for agents without an event loop: every call waits for its result."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

from anyio.from_thread import BlockingPortal, start_blocking_portal

from afterturn.schemas.commands import TurnCompleted
from afterturn.streams.agent.context import Context
from afterturn.streams.agent.errors import NotOpen
from afterturn.streams.agent.memory import AgentMemory
from afterturn.streams.agent.sending import Sent
from afterturn.streams.agent.turn import AgentTurn

__all__ = ("BlockingAgentMemory", "BlockingTool")


@dataclass(frozen=True, slots=True)
class BlockingTool:
    """The tool of a context, to be called without an event loop."""

    context: Context
    portal: BlockingPortal

    @property
    def name(self) -> str:
        """What it is called."""
        return self.context.tool.name

    @property
    def description(self) -> str:
        """What it does and when to use it."""
        return self.context.tool.description

    @property
    def parameters(self) -> dict[str, Any]:
        """The JSON schema of its arguments."""
        return self.context.tool.parameters

    def call(self, arguments: str | bytes | Mapping[str, Any] | None = None) -> str:
        """What memory says to a model's arguments."""
        said: str = self.portal.call(self.context.tool.call, arguments)
        return said


class BlockingAgentMemory:
    """``AgentMemory`` without an event loop; a context manager. It takes the same arguments and any thread may call it.

    What it does in the background runs in a thread of its own.
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - those of AgentMemory
        self._make = partial(AgentMemory, *args, **options)
        self._resources = ExitStack()
        self._running: tuple[BlockingPortal, AgentMemory] | None = None

    def __enter__(self) -> Self:
        with ExitStack() as opening:
            portal = opening.enter_context(start_blocking_portal("asyncio"))
            memory: AgentMemory = portal.call(self._make_here)
            opening.enter_context(portal.wrap_async_context_manager(memory))
            self._resources = opening.pop_all()
        self._running = portal, memory
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._running = None
        self._resources.close()

    def before_turn(self, query: str | None, **options: Any) -> Context:  # noqa: ANN401 - those of AgentMemory
        """See ``AgentMemory.before_turn``."""
        portal, memory = self._opened()
        return portal.call(partial(memory.before_turn, query, **options))

    def after_turn(self, query: str, answer: str | None, **options: Any) -> Sent:  # noqa: ANN401 - those of AgentMemory
        """See ``AgentMemory.after_turn``."""
        portal, memory = self._opened()
        return portal.call(partial(memory.after_turn, query, answer, **options))

    def record(self, turn: TurnCompleted | Mapping[str, Any]) -> Sent:
        """See ``AgentMemory.record``."""
        portal, memory = self._opened()
        sent: Sent = portal.call(memory.record, turn)
        return sent

    @contextmanager
    def turn(self, query: str, **options: Any) -> Iterator[AgentTurn]:  # noqa: ANN401 - those of AgentMemory
        """See ``AgentMemory.turn``."""
        portal, memory = self._opened()
        with portal.wrap_async_context_manager(memory.turn(query, **options)) as turn:
            yield turn

    def tool(self, context: Context) -> BlockingTool:
        """The tool of a context."""
        return BlockingTool(context, self._opened()[0])

    def _opened(self) -> tuple[BlockingPortal, AgentMemory]:
        """What it works with.

        Raises:
            NotOpen: it is used outside of its ``with``.
        """
        if self._running is None:
            raise NotOpen
        return self._running

    async def _make_here(self) -> AgentMemory:
        """In the loop it will work in."""
        return self._make()
