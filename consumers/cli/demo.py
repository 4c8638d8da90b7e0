"""The demonstration: the sample's conversations in, a dozen questions, and the events that tell of both."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from afterturn.consumers.cli.asking import post_recall, show
from afterturn.consumers.cli.running import err, out, step
from afterturn.consumers.cli.watching import line
from afterturn.consumers.dev.sample import Question, load_questions, load_turns
from afterturn.consumers.dev.stack import Addresses, Stack
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, MemoryEventSubscriber, Received, TopicNames, TurnPublisher
from afterturn.streams.waiting import Waiter

QUESTIONS = 12
SHOWN = 3
EVENTS_SHOWN = 6
EVENT_WAIT_S = 10.0


async def show_all(folder: Path, stop: asyncio.Event) -> None:
    """Start everything in ``folder``, show the main job, and end everything."""
    began = time.monotonic()
    stack = Stack(folder, step)
    addresses = await stack.start()
    try:
        main = asyncio.create_task(_main_job(addresses))
        ending = asyncio.create_task(stop.wait())
        await asyncio.wait({main, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if not main.done():
            main.cancel()
            await asyncio.wait({main})
        else:
            main.result()
    finally:
        await stack.stop()
    out.print(f"[dim]everything ended cleanly after {time.monotonic() - began:.0f} s[/dim]", highlight=False)


async def _main_job(addresses: Addresses) -> None:
    kafka = KafkaSettings(bootstrap_servers=addresses.kafka)
    async with AsyncExitStack() as clients:
        publisher = await clients.enter_async_context(TurnPublisher(kafka, source="demo"))
        waiter = await clients.enter_async_context(Waiter(kafka, TopicNames()))
        events = await clients.enter_async_context(MemoryEventSubscriber(kafka, since="beginning"))
        tokens = await _publish(publisher, waiter)
        questions = chosen(load_questions())
        await asyncio.to_thread(_ask, addresses.recall, questions)
        await _tell(events, len(tokens) + len(questions))


async def _publish(publisher: TurnPublisher, waiter: Waiter) -> list[Token]:
    turns = load_turns()
    columns = (TextColumn("{task.description:<11}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as progress:
        tokens = [await publisher.publish(turn) for turn in progress.track(turns, description="publishing")]
        task = progress.add_task("recording", total=len(tokens))
        async for reached in waiter.reach(tokens):
            progress.update(task, completed=reached)
    messages = sum(len(turn["messages"]) for turn in turns if isinstance(turn["messages"], list))
    out.print(f"{len(turns)} turns with {messages} messages are recorded and can be recalled\n", highlight=False)
    return tokens


def _ask(url: str, questions: list[Question]) -> None:
    took: list[float] = []
    with httpx.Client(timeout=30) as client:
        for question in questions:
            body: dict[str, Any] = {"text": question.question, "limit": SHOWN}
            answer = post_recall(client, url, question.tenant, body)
            took.append(answer.took_ms)
            show(f"{question.tenant}: {question.question}", answer)
            out.print()
    took.sort()
    out.print(
        f"{len(took)} questions, median {took[len(took) // 2]:.1f} ms, slowest {took[-1]:.1f} ms\n", highlight=False
    )


async def _tell(events: MemoryEventSubscriber, expected: int) -> None:
    """The MemoryEvents of all this: a few of them, and how many of each type."""
    received: list[Received] = []
    try:
        async with asyncio.timeout(EVENT_WAIT_S):
            async for each in events:
                received.append(each)
                if len(received) == expected:
                    break
    except TimeoutError:
        err.print("[yellow]some events are still on their way[/yellow]")
    for each in (*received[: EVENTS_SHOWN // 2], *received[-EVENTS_SHOWN // 2 :]):
        out.print(line(each))
    counts = Counter(each.attributes.type for each in received)
    told = ", ".join(f"{count} x {name}" for name, count in sorted(counts.items()))
    out.print(f"{len(received)} MemoryEvents received: {told}", highlight=False)


def chosen(questions: list[Question]) -> list[Question]:
    """A dozen of the sample's questions: every language and tenant is among them."""
    step = max(1, len(questions) // QUESTIONS)
    picked = questions[::step][:QUESTIONS]
    others = [q for q in questions if q.language != "en" and q not in picked]
    missing = {q.language: q for q in others if q.language not in {p.language for p in picked}}
    return [*picked[: QUESTIONS - len(missing)], *missing.values()]
