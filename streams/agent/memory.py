"""An agent's memory: asked before every turn, told after it. Neither fails a turn because memory is away."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from pydantic import TypeAdapter, ValidationError

from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import Operation, Skipped, SkipReason
from afterturn.schemas.query import Answer, Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.token import Token
from afterturn.schemas.types import Identifier, is_identifier
from afterturn.streams.agent.about import About
from afterturn.streams.agent.asking import tool_query
from afterturn.streams.agent.context import Context, RecallTool
from afterturn.streams.agent.errors import MemoryRefused, NotOpen
from afterturn.streams.agent.preparing import Preparing
from afterturn.streams.agent.recalling import RecallClient
from afterturn.streams.agent.section import PromptSection
from afterturn.streams.agent.sending import Sender, Sent
from afterturn.streams.agent.settings import AgentSettings
from afterturn.streams.agent.turn import AgentTurn
from afterturn.streams.agent.wiring import route_of, sender_of
from afterturn.streams.errors import BadSettings, Retry
from afterturn.streams.lifetime import Startable
from afterturn.streams.publisher import TurnPublisher, as_turn

__all__ = ("AgentMemory",)

_IDENTIFIER: TypeAdapter[str] = TypeAdapter(Identifier)
_TURNS_OWN = frozenset({"query", "answer", "thread", "turn_id", "tenant", "scope"})
_TENANTS = 10_000
_TOOL_LIMIT = 10
_NOT_RECORDED: dict[str, SkipReason] = {"lost": "unavailable", "refused": "refused"}
OnSkipped = Callable[[Skipped], None]
ScopeLike = Scope | Mapping[str, str] | None


class AgentMemory(Startable):
    """Memory of one agent, for all its tenants; an async context manager.

    ``tenant`` and ``scope`` are those of every turn that names none. ``about`` says what is recalled and how much is
    shown. Turns go the way ``settings.record_over`` says, or by a ``publisher`` of one's own, which is closed with
    this. ``on_skipped`` is told what memory could not do, as dashboards are.
    """

    def __init__(
        self,
        settings: AgentSettings | None = None,
        *,
        tenant: str | None = None,
        scope: ScopeLike = None,
        about: About | None = None,
        publisher: TurnPublisher | None = None,
        on_skipped: OnSkipped | None = None,
    ) -> None:
        self.settings = settings or AgentSettings()
        self.about = about or About()
        self._tenant = tenant
        self._scope = scope_of(scope)
        self._on_skipped = on_skipped
        self._client = RecallClient(self.settings)
        self._route = route_of(self.settings, self._client, publisher)
        self._sender: Sender = sender_of(self.settings, self._route)
        self._open = False
        self._tokens: OrderedDict[str, Token] = OrderedDict()

    async def start(self) -> None:
        """Begin to connect; nothing is waited for, and nothing need be there."""
        await self._sender.start()
        self._open = True

    async def close(self) -> None:
        """Disconnect; turns that could not be sent stay in the spool."""
        self._open = False
        await self._sender.close()
        await self._client.close()

    async def before_turn(
        self,
        query: str | None,
        *,
        tenant: str | None = None,
        scope: ScopeLike = None,
        without_thread: str | None = None,
    ) -> Context:
        """What memory says to a turn, asked once: the section is the same for every model step.

        ``without_thread`` leaves a thread out: the one whose messages the model is shown anyway. Where memory is away,
        slow or fails, the context is empty and ``degraded`` says so; the turn goes on.

        Raises:
            NotOpen: it is used outside of its ``async with``.
            MemoryRefused: memory says no, and would again: no model should be called.
            Stop: with these settings turns can never be published.
        """
        self._require_open()
        if self._route.failed is not None:
            raise self._route.failed
        whose, where = self._whose(tenant), self._scope if scope is None else scope_of(scope)
        nothing = Context(PromptSection(), self._tool(whose, where))
        if "recall" not in self.about.phases:
            return nothing
        preparing = Preparing(self._asking(whose), self.about, where, self.settings.max_prompt_section_tokens)
        try:
            async with asyncio.timeout(self.settings.recall_timeout):
                found = await preparing.prepare(query, without_thread)
        except (Retry, TimeoutError) as error:
            self._skipped(whose, "memory.recall", "unavailable", type(error).__name__)
            return Context(nothing.section, nothing.tool, degraded=("recall",))
        lacks = (*found.degraded, "unsent") if await self._sender.waits(whose) else found.degraded
        tool = self._tool(whose, where, found.shown, found.available)
        return Context(found.section, tool, found.memories, found.shown, lacks, found.usage)

    async def after_turn(
        self,
        query: str,
        answer: str | None,
        *,
        thread: str,
        turn_id: str | None = None,
        tenant: str | None = None,
        scope: ScopeLike = None,
        **fields: Any,  # noqa: ANN401 - the turn's own fields, checked as one
    ) -> Sent:
        """Record a turn: what was said, and what was answered. The answer stands, whatever becomes of this.

        Without a ``turn_id`` it gets one, and keeps it however often it is sent. ``fields`` are others of a turn, as
        ``occurred_at`` (else now), ``tags``, ``data``, ``run``, ``replaces``.
        """
        messages = [{"role": "user", "content": query}]
        if answer is not None:
            messages.append({"role": "assistant", "content": answer})
        turn = {
            "tenant": self._whose(tenant),
            "scope": self._scope if scope is None else scope_of(scope),
            "thread": thread,
            "turn_id": str(uuid4()) if turn_id is None else turn_id,
            "occurred_at": datetime.now(UTC),
            "messages": messages,
        }
        return await self.record({**turn, **fields})

    async def record(self, turn: TurnCompleted | Mapping[str, Any]) -> Sent:
        """Record a turn of any shape, as ``after_turn`` does."""
        self._require_open()
        if "record" not in self.about.phases:
            return Sent("off")
        try:
            checked = turn if isinstance(turn, TurnCompleted) else as_turn(turn)
        except ContractError as error:
            whose = turn.get("tenant") if isinstance(turn, Mapping) else None
            return self._told(whose, self._sender.refused(error))
        return self._told(checked.tenant, await self._sender.send(checked))

    @asynccontextmanager
    async def turn(
        self,
        query: str,
        *,
        thread: str,
        turn_id: str | None = None,
        tenant: str | None = None,
        scope: ScopeLike = None,
        without_thread: bool = False,
    ) -> AsyncIterator[AgentTurn]:
        """A turn: memory is asked where the block begins, and told where it ends with an answer.

        A block that ends with an error, without an answer, or after ``block()``, records nothing.

        Raises:
            As ``before_turn``; nothing after that.
        """
        left_out = thread if without_thread else None
        context = await self.before_turn(query, tenant=tenant, scope=scope, without_thread=left_out)
        turn = AgentTurn(query, context)
        yield turn
        if turn.blocked or turn.answer is None:
            turn.sent = Sent("off")
            return
        if said := turn.fields.keys() & _TURNS_OWN:
            error = ContractError("invalid", min(said), "is no field to add: the turn has it already")
            turn.sent = self._told(self._whose(tenant), self._sender.refused(error))
            return
        turn.sent = await self.after_turn(
            query, turn.answer, thread=thread, turn_id=turn_id, tenant=tenant, scope=scope, **turn.fields
        )

    def _tool(self, tenant: str, scope: Scope, shown: Collection[str] = (), available: int | None = None) -> RecallTool:
        ask, seen = self._asking(tenant), sorted(shown)

        async def further(text: str | None, limit: int | None) -> Answer:
            try:
                async with asyncio.timeout(self.settings.recall_timeout):
                    return await ask(tool_query(self.about, scope, text, limit or _TOOL_LIMIT, seen))
            except (Retry, TimeoutError) as error:
                self._skipped(tenant, "memory.recall", "unavailable", type(error).__name__)
                raise Retry("Memory did not answer.", dependency="recall") from None

        return RecallTool(self.about, further, available)

    def _asking(self, tenant: str) -> Callable[[Query], Awaitable[Answer]]:
        """Asks for a tenant; what this process has told before is waited for, for a moment."""

        async def ask(query: Query) -> Answer:
            token = self._tokens.get(tenant)
            if token is not None:
                query = query.model_copy(update={"after": str(token), "after_wait": self.settings.after_wait})
            return await self._client.recall(tenant, query, self.settings.recall_timeout)

        return ask

    def _told(self, tenant: object, sent: Sent) -> Sent:
        """Keep a tenant's last write, so that its next question sees it; say what is not recorded."""
        if sent.token is not None and isinstance(tenant, str):
            self._tokens[tenant] = sent.token
            self._tokens.move_to_end(tenant)
            if len(self._tokens) > _TENANTS:
                self._tokens.popitem(last=False)
        elif sent.status in _NOT_RECORDED and isinstance(tenant, str) and is_identifier(tenant):
            self._skipped(tenant, "memory.record", _NOT_RECORDED[sent.status], sent.error)
        return sent

    def _whose(self, tenant: str | None) -> str:
        whose = self._tenant if tenant is None else tenant
        if not whose:
            raise BadSettings("tenant", "a turn needs one: give it to AgentMemory, or to the call")
        try:
            return _IDENTIFIER.validate_python(whose)
        except ValidationError:
            raise MemoryRefused(422, "tenant", "must have 1 to 256 characters, and none that controls") from None

    def _require_open(self) -> None:
        if not self._open:
            raise NotOpen

    def _skipped(self, tenant: str, operation: Operation, reason: SkipReason, error: str | None) -> None:
        event = Skipped(tenant=tenant, at=datetime.now(UTC), operation=operation, reason=reason, error=error)
        self._route.announce(event)
        if self._on_skipped is not None:
            self._on_skipped(event)


def scope_of(scope: ScopeLike) -> Scope:
    """A scope from its dimensions.

    Raises:
        MemoryRefused: they make none.
    """
    if isinstance(scope, Scope):
        return scope
    given: object = {} if scope is None else scope
    try:
        return Scope.model_validate(dict(given) if isinstance(given, Mapping) else given)
    except ValidationError as error:
        fault = from_pydantic(error)
        raise MemoryRefused(422, f"scope.{fault.place}".rstrip("."), fault.problem) from None
