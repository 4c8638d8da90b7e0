"""Callers of the HTTP API in tests: their keys, and what they are answered."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from afterturn.consumers.recall.access.keyring import save
from afterturn.consumers.recall.access.keys import KeyFile, KeyRecord, new_secret
from support.recall_service import Served


class Keys:
    """A file of keys, and the keys themselves by name."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.records: list[KeyRecord] = []

    def add(self, **fields: Any) -> dict[str, str]:
        """A new key, as the header of a request."""
        id_, key, hashed = new_secret()
        usual: dict[str, Any] = {"id": id_, "sha256": hashed, "rights": ("read", "write"), "tenants": ("acme",)}
        self.records.append(KeyRecord.model_validate(usual | fields))
        self.save()
        return {"authorization": f"Bearer {key}"}

    def save(self) -> None:
        save(self.path, KeyFile(keys=tuple(self.records)))


async def ready(service: Served) -> bool:
    return not await service.missing()


def problem(answer: httpx.Response, status: int) -> dict[str, str]:
    assert answer.status_code == status, answer.text
    found: dict[str, str] = answer.json()["error"]
    assert set(found) == {"field", "problem"}
    return found


class Caller:
    """One who sends requests with a key of theirs."""

    def __init__(self, client: httpx.AsyncClient, headers: dict[str, str]) -> None:
        self.client = client
        self.headers = headers

    async def get(self, path: str, **params: Any) -> httpx.Response:
        """``GET``, with query parameters."""
        return await self.client.get(path, headers=self.headers, params=params or None)

    async def post(self, path: str, body: Any = None, **params: Any) -> httpx.Response:
        """``POST`` a body in JSON."""
        return await self.client.post(
            path, headers=self.headers, params=params or None, json={} if body is None else body
        )

    async def delete(self, path: str, **params: Any) -> httpx.Response:
        """``DELETE``."""
        return await self.client.delete(path, headers=self.headers, params=params or None)

    async def write(self, path: str, body: Any = None, **params: Any) -> dict[str, Any]:
        """``POST``, waiting until the write has ended; what became of it."""
        answer = await self.post(path, body, wait=20, **params)
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        assert found["status"] != "accepted", found
        return found

    async def remember(self, content: str, **fields: Any) -> str:
        """Write a fact; its id, once it is visible."""
        found = await self.write("/v1/memories", {"content": content} | fields)
        assert found["status"] == "visible", found
        id_: str = found["id"]
        return id_

    async def say(self, thread: str, turn_id: str, *texts: str, **fields: Any) -> dict[str, Any]:
        """Write a turn of the user's messages."""
        messages = [{"role": "user", "author": "Ada", "content": text} for text in texts]
        turn = {"thread": thread, "turn_id": turn_id, "occurred_at": "2026-03-01T12:00:00Z", "messages": messages}
        return await self.write("/v1/turns", turn | fields)
