"""What agents publish turns with."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from afterturn.schemas.codec import Attributes, encode
from afterturn.schemas.commands import Collect, Command, TurnCompleted
from afterturn.schemas.errors import ContractError, from_pydantic
from afterturn.schemas.events import MemoryEvent
from afterturn.schemas.ids import receipt_id
from afterturn.schemas.settings import Partitioner
from afterturn.schemas.token import Token
from afterturn.schemas.types import is_blank
from afterturn.streams.errors import QuotaExceeded, Retry, Unusable
from afterturn.streams.kafka import KafkaSettings, OutRecord, Position, Producer, start_when_available
from afterturn.streams.lifetime import Startable
from afterturn.streams.partitioner import partition_for
from afterturn.streams.quota import Buckets, Quota
from afterturn.streams.topics import TopicNames

DEFAULT_SOURCE = "agent"
_LOG = logging.getLogger("afterturn.publisher")


class TurnPublisher(Startable):
    """Puts turns, and other commands, on the turn log; an async context manager.

    Publishing the same turn (tenant, scope, thread, turn_id) again is safe: it is recorded once. ``source`` names the
    application, not the instance. Values are checked here as the recorder will check them, unknown fields refused.
    With a ``quota`` a tenant's turns beyond it are refused for the moment, by this publisher's own count.
    """

    def __init__(
        self,
        kafka: KafkaSettings | None = None,
        *,
        source: str = DEFAULT_SOURCE,
        topics: TopicNames = TopicNames(),  # noqa: B008 - frozen
        partitioner: Partitioner = "murmur2",
        epoch: int = 0,
        quota: Quota | None = None,
    ) -> None:
        self._source = source
        self._topics = topics
        self._partitioner: Partitioner = partitioner
        self._epoch = epoch
        self._producer = Producer(kafka or KafkaSettings(), partitioner=partitioner)
        self._partitions = 0
        self._quota = None if quota is None else Buckets(quota)

    async def start(self, on_wait: Callable[[Retry, float], None] | None = None) -> None:
        """Connect; waits for a broker that is away, and says so to ``on_wait``.

        Raises:
            Stop: the settings are wrong, or the topic is not there.
        """
        await start_when_available(self._connect, on_wait=on_wait)

    async def close(self) -> None:
        """Send what is waiting and disconnect."""
        await self._producer.close()

    async def publish(self, turn: TurnCompleted | Mapping[str, Any], *, traceparent: str | None = None) -> Token:
        """Publish a turn; the token says where it stands, and recall can wait for it.

        Raises:
            ContractError: the turn breaks the contract; ``place`` names the field.
            QuotaExceeded: the tenant is over its quota; ``retry_after`` says when the turn goes through.
            Retry: the broker is away; publishing the same turn again is safe.
        """
        checked = turn if isinstance(turn, TurnCompleted) else as_turn(turn)
        refuse_blank(checked)
        return await self.publish_command(checked, traceparent=traceparent)

    async def publish_command(
        self, command: Command, *, ce_id: str | None = None, traceparent: str | None = None
    ) -> Token:
        """Publish any command. Publish it again with the same ``ce_id`` and it is applied once.

        Raises:
            ContractError: it is too large.
            QuotaExceeded: it is a turn, and the tenant is over its quota.
            Retry: the broker is away.
            Unusable: the publisher was not started.
        """
        if not self._partitions:
            raise Unusable("The publisher")
        attributes = Attributes(ce_id or str(uuid4()), self._source, command.TYPE, datetime.now(UTC), traceparent)
        encoded = encode(command, attributes)
        if isinstance(command, TurnCompleted):
            self._take(command.tenant)
        if isinstance(command, Collect):
            partition = command.partition
        else:
            partition = partition_for(command.tenant.encode(), self._partitions, self._partitioner)
        record = OutRecord(self._topics.turns, encoded.key, encoded.value, encoded.headers, partition)
        position = await self._producer.send(record)
        receipt = receipt_id(command, self._source, attributes.id)
        return Token(self._epoch, position.partition, position.offset, receipt)

    def announce(self, event: MemoryEvent) -> asyncio.Task[Position]:
        """Put an event of the agent's own on the stream of memory events, in the background.

        Nobody need await the task: where the broker is away the event is lost.
        """
        encoded = encode(event, Attributes(str(uuid4()), self._source, event.TYPE, datetime.now(UTC)))
        record = OutRecord(self._topics.memory_events, encoded.key, encoded.value, encoded.headers)
        sending = self._producer.send_nowait(record)
        sending.add_done_callback(_heard)
        return sending

    def _take(self, tenant: str) -> None:
        wait = 0.0 if self._quota is None else self._quota.take(tenant, monotonic())
        if wait:
            raise QuotaExceeded(wait)

    async def _connect(self) -> None:
        await self._producer.start()
        self._partitions = await self._producer.partitions(self._topics.turns)


def _heard(sent: asyncio.Task[Position]) -> None:
    """Take note of an error nobody waits for."""
    if not sent.cancelled() and sent.exception() is not None:
        _LOG.debug("an event was lost: %s", sent.exception())


def refuse_blank(turn: TurnCompleted) -> None:
    """Refuse a turn that says nothing: the recorder would skip it.

    Raises:
        ContractError: every message is blank, or there is none.
    """
    if all(is_blank(message.content) for message in turn.messages):
        raise ContractError("invalid", "messages", "at least one message must say something")


def as_turn(fields: Mapping[str, Any]) -> TurnCompleted:
    """A turn from plain values, a mapping of its fields.

    Raises:
        ContractError: they break the contract; ``place`` names the field.
    """
    if not isinstance(fields, Mapping):
        raise ContractError("invalid", "", "a turn is a TurnCompleted, or a mapping of its fields")
    try:
        return TurnCompleted.model_validate(dict(fields))
    except ValidationError as error:
        raise from_pydantic(error) from None
