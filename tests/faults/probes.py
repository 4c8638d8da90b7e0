"""Readers that ask for what was just written: with its token they see it whole, whatever is broken meanwhile."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

import httpx
from support.load import LoadPublisher, Said

from afterturn.schemas.commands import TurnCompleted

MESSAGES = 4


@dataclass
class Probes:
    """Asks a recall service; ``answers`` counts those that were whole, ``late`` those that said they were not."""

    url: str = ""
    answers: int = 0
    late: int = 0
    _asking: list[asyncio.Task[None]] = field(default_factory=list)

    async def write(self, publisher: LoadPublisher, number: int) -> None:
        """Publish a turn of a tenant of its own, and begin to ask for it."""
        tenant = f"probe-{number}"
        token = await publisher.publish(Said(_turn(tenant)))
        assert token is not None
        self._asking.append(asyncio.create_task(self._ask(tenant, str(token))))

    async def answered(self) -> None:
        """Wait until every reader has seen its write.

        Raises:
            AssertionError: one was told that its write is there and didn't see it whole.
        """
        await asyncio.gather(*self._asking)

    async def close(self) -> None:
        """Give up what is still asked."""
        for task in self._asking:
            task.cancel()
        await asyncio.gather(*self._asking, return_exceptions=True)

    async def _ask(self, tenant: str, token: str) -> None:
        query = {"text": "What did the probe say?", "after": token, "limit": 50}
        async with httpx.AsyncClient(base_url=self.url, headers={"Afterturn-Tenant": tenant}, timeout=60) as client:
            while True:
                answer = await client.post("/v1/recall", json=query)
                body = answer.json()
                if answer.is_success and not body["degraded"]:
                    break
                self.late += 1
                await asyncio.sleep(0.1)
        said = {memory["text"] for memory in body["memories"]}
        assert said == {_message(n) for n in range(MESSAGES)}, f"{tenant} sees {len(said)} of {MESSAGES} messages"
        self.answers += 1


def _turn(tenant: str) -> TurnCompleted:
    messages = [{"role": "user", "author": "Ann", "content": _message(n)} for n in range(MESSAGES)]
    fields = {"tenant": tenant, "thread": "t", "turn_id": "1", "occurred_at": "2026-01-01T00:00:00Z"}
    return TurnCompleted.model_validate(fields | {"messages": messages})


def _message(number: int) -> str:
    return f"The probe said number {number}"
