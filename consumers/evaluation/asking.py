"""Running an evaluation through the product: publish over Kafka, wait until recorded, ask over HTTP."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import httpx
import orjson

from afterturn.consumers.evaluation.locomo import Conversation, Question
from afterturn.consumers.evaluation.measures import Asked
from afterturn.schemas.query import Answer
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, TopicNames, TurnPublisher
from afterturn.streams.errors import Retry
from afterturn.streams.waiting import Waiter

LIMIT = 100
"""Memories listed; the text packs on its own."""
IN_FLIGHT = 500
Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Recorded:
    """How many messages were recorded, and in how many seconds from the first publish to the last outcome."""

    messages: int
    seconds: float


async def publish(
    kafka: KafkaSettings, topics: TopicNames, conversations: Sequence[Conversation], progress: Progress
) -> Recorded:
    """Publish all turns in order and wait until every one has its outcome."""
    turns = [turn for conversation in conversations for turn in conversation.turns]
    began = time.monotonic()
    async with TurnPublisher(kafka, source="evaluation", topics=topics) as publisher, Waiter(kafka, topics) as waiter:
        tokens: list[Token] = []
        for start in range(0, len(turns), IN_FLIGHT):
            sent = (publisher.publish(turn) for turn in turns[start : start + IN_FLIGHT])
            tokens.extend(await asyncio.gather(*sent))
        async for reached in waiter.reach(tokens):
            progress(reached)
    return Recorded(len(turns), time.monotonic() - began)


def ask_all(url: str, conversations: Sequence[Conversation], progress: Progress) -> list[Asked]:
    """Ask every question, one after the other, and time each answer as its caller sees it."""
    asked: list[Asked] = []
    with httpx.Client(timeout=60, base_url=url) as client:
        for conversation in conversations:
            for question in conversation.questions:
                asked.append(_ask(client, conversation.tenant, question))
                progress(len(asked))
    return asked


def _ask(client: httpx.Client, tenant: str, question: Question) -> Asked:
    body = orjson.dumps({"text": question.text, "limit": LIMIT})
    began = time.perf_counter()
    try:
        response = client.post("/v1/recall", headers={"Afterturn-Tenant": tenant}, content=body)
    except httpx.TransportError as error:
        raise Retry(f"recall did not answer ({type(error).__name__})", dependency="recall") from None
    seconds = time.perf_counter() - began
    if not response.is_success:
        raise Retry(f"recall answered {response.status_code}: {response.text[:300]}", dependency="recall")
    answer = Answer.model_validate_json(response.content, extra="ignore")
    if answer.degraded:
        raise Retry(f"an answer was degraded ({', '.join(answer.degraded)}): it can't be measured", dependency="recall")
    turns = [memory.turn_id or "" for memory in answer.memories]
    shown = frozenset(memory.turn_id or "" for memory in answer.memories if memory.in_text)
    return Asked(question.category, question.evidence, turns, shown, seconds)
