"""What the tools do: calls of the HTTP API, under the caller's own credential, and the text that comes of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx
import orjson

from afterturn.consumers.recall.mcp.tools import Tool
from afterturn.schemas.scope import Scope
from afterturn.streams.agent.recalling import problem_of

NOWHERE = Scope()
WAIT_S = 5.0
"""How long a write is waited for, so that what is remembered can be recalled at once."""
_REFUSED, _MISSING = 422, 404
_AWAY = frozenset({429, 502, 503, 504})
_ENDS = {
    "visible": "It can be recalled now.",
    "accepted": "It is accepted, and not stored yet: it can be recalled in a moment.",
    "duplicate": "It was known already: nothing was changed.",
    "conflict": "Something else goes by the same name: nothing was changed.",
}


@dataclass(frozen=True, slots=True)
class Said:
    """What a tool answers: a text for the model, and the same as values; ``failed`` where it could not be done."""

    text: str
    values: Mapping[str, Any] | None = None
    failed: bool = False


_UNAVAILABLE = Said("Memory is unavailable right now.", failed=True)


@dataclass(frozen=True, slots=True)
class Api:
    """The HTTP API as one caller sees it.

    Attributes:
        client: reaches the service.
        headers: the caller's credential and tenant.
        scope: what every call is bound to, beside what the credential is.
        known: what the caller may, where that was asked already.
    """

    client: httpx.AsyncClient
    headers: httpx.Headers
    scope: Scope = NOWHERE
    known: Mapping[str, Any] | None = None

    async def me(self) -> Mapping[str, Any] | Said:
        """What the caller may; or why nobody is let in."""
        if self.known is not None:
            return self.known
        return await self._asked("GET", "/v1/me")

    async def available(self) -> int | None:
        """How many memories the caller can recall; None where that can't be told now."""
        found = await self._recalled({"count": True, "limit": 1, "max_tokens": 0})
        return None if isinstance(found, Said) else found.get("available")

    async def call(self, tool: Tool, arguments: Mapping[str, Any]) -> Said:
        """Use a tool. What it doesn't take goes no further: it could say whose memories are meant."""
        if unknown := tool.unknown(arguments):
            return Said(f"{unknown} unknown field: {tool.name} takes {', '.join(tool.properties) or 'nothing'}")
        match tool.name:
            case "recall":
                return await self._recall(arguments)
            case "remember":
                return await self._remember(arguments)
            case "forget":
                return await self._forget(arguments)
            case _:
                return await self._status()

    async def _recall(self, arguments: Mapping[str, Any]) -> Said:
        names = {"query": "text", "tags": "tags_any"}
        asked = {names.get(name, name): value for name, value in arguments.items() if value not in (None, "", [])}
        found = await self._recalled({"limit": 10, "max_tokens": 0, **asked})
        if isinstance(found, Said):
            return found
        shown = [{"id": each["id"], "text": each["text"]} for each in found["memories"]]
        lines = [f"{each['id']}: {' '.join(each['text'].split())}" for each in shown]
        text = "\n".join(lines) if lines else "Nothing is remembered that fits. Ask in other words, or more broadly."
        lacks = ", ".join(found["degraded"])
        note = f"\n(memory is not whole right now: {lacks})" if lacks else ""
        return Said(text + note, {"memories": shown, "degraded": found["degraded"]})

    async def _remember(self, arguments: Mapping[str, Any]) -> Said:
        fact = {**arguments, "scope": self._scope(), "source": {"type": "tool", "id": "mcp"}}
        done = await self._asked("POST", f"/v1/memories?wait={WAIT_S}", fact)
        return done if isinstance(done, Said) else _ended(done)

    async def _forget(self, arguments: Mapping[str, Any]) -> Said:
        body = {"reason": "asked", **arguments, "scope": self._scope()}
        done = await self._asked("POST", f"/v1/forget?wait={WAIT_S}", body)
        return done if isinstance(done, Said) else _ended(done)

    async def _status(self) -> Said:
        scope = httpx.QueryParams({f"scope.{name}": value for name, value in self.scope.pairs()})
        found = await self._asked("GET", f"/v1/stats?{scope}")
        if isinstance(found, Said):
            return found
        return Said(orjson.dumps(found, option=orjson.OPT_INDENT_2).decode(), found)

    async def _recalled(self, query: Mapping[str, Any]) -> Mapping[str, Any] | Said:
        return await self._asked("POST", "/v1/recall", {**query, "scope": self._scope()})

    def _scope(self) -> dict[str, str]:
        return dict(self.scope.pairs())

    async def _asked(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Mapping[str, Any] | Said:
        headers = self.headers.copy()
        headers["content-type"] = "application/json"
        try:
            content = None if body is None else orjson.dumps(body)
            answer = await self.client.request(method, path, content=content, headers=headers)
            if not answer.is_success:
                return _refusal(answer)
            found = orjson.loads(answer.content)
        except orjson.JSONEncodeError:  # nested too deep, or a number too large
            return Said("What was given is no plain JSON of a bearable size.")
        except httpx.LocalProtocolError:
            return Said("Memory refuses: the tenant or the key can't be sent as a header.", failed=True)
        except (httpx.RequestError, orjson.JSONDecodeError):
            return _UNAVAILABLE
        return found if isinstance(found, dict) else _UNAVAILABLE


def _ended(done: Mapping[str, Any]) -> Said:
    status, reason = str(done["status"]), done.get("reason")
    text = _ENDS.get(status, f"It was not carried out: {status}{f' ({reason})' if reason else ''}.")
    return Said(text, done, failed=status in {"skipped", "dead_lettered"})


def _refusal(answer: httpx.Response) -> Said:
    """What a model can do about a refusal: mend what it said; else it hears that it can't."""
    place, problem = problem_of(answer)
    if answer.status_code == _REFUSED:
        return Said(f"{place or 'this'} {problem}" if not problem.startswith("memory unavailable") else problem)
    if answer.status_code in _AWAY:
        return _UNAVAILABLE
    if answer.status_code == _MISSING:
        return Said("There is no such memory.")
    return Said(f"Memory refuses: {problem}", failed=True)
