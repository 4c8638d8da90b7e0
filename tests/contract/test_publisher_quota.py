"""A publisher with a quota: what is beyond it is refused before anything is sent, by tenant."""

from __future__ import annotations

from typing import Any

import pytest
from support.kafka import KafkaBroker
from support.log import Log

from afterturn.schemas.commands import Forget
from afterturn.schemas.errors import ContractError
from afterturn.schemas.parts import Filter
from afterturn.streams import TopicNames, TurnPublisher
from afterturn.streams.errors import QuotaExceeded
from afterturn.streams.kafka import LogReader
from afterturn.streams.quota import Quota


def turn(tenant: str, turn_id: str = "1", **fields: Any) -> dict[str, Any]:
    messages = [{"role": "user", "content": "x"}]
    body = {"tenant": tenant, "thread": "t", "turn_id": turn_id, "occurred_at": "2026-01-01T00:00:00Z"}
    return body | {"messages": messages} | fields


async def test_turns_beyond_a_tenants_quota_are_refused_and_others_go_on(kafka: KafkaBroker, topic_prefix: str) -> None:
    async with Log.on(kafka, topic_prefix) as log:
        topics = TopicNames(topic_prefix)
        async with TurnPublisher(log.settings, topics=topics, quota=Quota(per_minute=0.5, burst=2)) as publisher:
            with pytest.raises(ContractError):
                await publisher.publish(turn("ann", thread=""))  # what is wrong costs nothing
            await publisher.publish(turn("ann", "1"))
            await publisher.publish(turn("ann", "2"))
            with pytest.raises(QuotaExceeded) as refused:
                await publisher.publish(turn("ann", "3"))
            assert 60 < refused.value.retry_after <= 120
            assert "ann" not in str(refused.value)
            await publisher.publish(turn("ben"))
            await publisher.publish_command(Forget(tenant="ann", filter=Filter(threads=("t",)), reason="asked"))
        async with LogReader(log.settings, log.topic) as reader:
            assert sum((await reader.end_offsets(range(3))).values()) == 4, "nothing of the refused one was sent"
