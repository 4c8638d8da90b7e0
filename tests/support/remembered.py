"""Memories in a store for tests of recall, written as the recorder writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from afterturn.consumers.recall.answering.arrivals import tenant_partition
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.write import WriteStore
from afterturn.consumers.text import lexical
from afterturn.consumers.text.embedder import Embedder
from afterturn.schemas.ids import memory_id, rev_of, tenant_id, turn_key
from afterturn.schemas.points import Checkpoint, Memory, Outcome, StoredPoint, TenantState, evict_key
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import FoldSettings, TenantSettings
from afterturn.schemas.token import Token

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Said:
    """One message, and what a test wants to differ from the usual."""

    text: str
    author: str | None = "Ada"
    thread: str = "talk"
    at: datetime | None = None
    scope: Scope = field(default_factory=Scope)
    fields: dict[str, Any] = field(default_factory=dict)


class Remembering:
    """Writes turns of one message each; offsets and positions count on from call to call."""

    def __init__(self, client: StoreClient, embedder: Embedder, fold: FoldSettings) -> None:
        self.client = client
        self._store = WriteStore(client, dimension=fold.dimension, epoch=fold.epoch)
        self._embedder = embedder
        self.fold = fold
        self._offsets = count(1)
        self._positions: dict[tuple[str, Scope, str], int] = {}
        self._authors: dict[str, dict[str, None]] = {}

    async def put(self, points: Sequence[PointWrite], partition: int, offset: int) -> None:
        """Write points with the checkpoint after an offset."""
        reached = rev_of(self.fold.epoch, offset + 1)
        checkpoint = Checkpoint(partition=partition, next=reached)
        await self._store.write(points, previous=0, next_=reached, checkpoint=checkpoint)

    async def remember(
        self, tenant: str, said: Sequence[Said | str], settings: TenantSettings | None = None
    ) -> list[Token]:
        """Write messages of a tenant, and its state; the tokens their publisher would have got."""
        messages = [each if isinstance(each, Said) else Said(each) for each in said]
        tokens: list[Token] = []
        for start in range(0, len(messages), 400):
            tokens += await self._batch(tenant, messages[start : start + 400], settings or TenantSettings())
        return tokens

    async def _batch(self, tenant: str, said: Sequence[Said], settings: TenantSettings) -> list[Token]:
        partition = tenant_partition(tenant, self.fold)
        vectors = (await self._embedder.embed([each.text for each in said])).vectors
        points, tokens, offset = [], [], 0
        for each, vector in zip(said, vectors, strict=True):
            offset = next(self._offsets)
            written = self.memory(tenant, each, offset)
            words = lexical.document(lexical.lexical_text(each.author, written.occurred_at or AT, each.text))
            id_ = memory_id(tenant, turn_key(each.scope, each.thread, str(offset)), 0)
            points.append(PointWrite(id_, written, vector, (words.indices, words.values)))
            tokens.append(Token(self.fold.epoch, partition, offset, id_))
        points.append(PointWrite(tenant_id(tenant), self._state(tenant, said, settings, partition, offset)))
        await self.put(points, partition, offset)
        return tokens

    def memory(self, tenant: str, said: Said, offset: int) -> Memory:
        """The memory of a message."""
        thread = (tenant, said.scope, said.thread)
        position = self._positions.get(thread, 0)
        self._positions[thread] = position + 1
        rev = rev_of(self.fold.epoch, offset)
        fields: dict[str, Any] = {
            "partition": tenant_partition(tenant, self.fold),
            "born": rev,
            "rev": rev,
            "tenant": tenant,
            "status": "active",
            "ordinal": 0,
            "evict_key": evict_key(0.5, offset),
            "scope": said.scope,
            "kind": "episodic",
            "type": "conversation",
            "content": said.text,
            "chars": len(said.text),
            "asks": said.text.endswith("?"),
            "thread": said.thread,
            "turn_id": str(offset),
            "position": position,
            "part": 0,
            "parts": 1,
            "role": "user",
            "author": said.author,
            "occurred_at": said.at or AT + timedelta(minutes=offset),
            "recorded_at": AT,
            "importance": 0.5,
            "confidence": 1.0,
            "outcome": Outcome(event="memory.recorded.v1", counts={"added": 1}),
            "digest": "0" * 32,
        }
        return Memory(**(fields | said.fields))

    def _state(
        self, tenant: str, said: Sequence[Said], settings: TenantSettings, partition: int, offset: int
    ) -> StoredPoint:
        authors = self._authors.setdefault(tenant, {})
        authors.update((each.author, None) for each in said if each.author)
        rev = rev_of(self.fold.epoch, offset)
        return TenantState(
            partition=partition, born=rev, rev=rev, tenant=tenant, authors=tuple(authors), settings=settings
        )
