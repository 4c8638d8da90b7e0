"""The demonstration: the sample's conversations in, a dozen questions, and the events that tell of both."""

from __future__ import annotations

import asyncio
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from afterturn.consumers.cli.asking import MARK, post_recall, show
from afterturn.consumers.cli.running import err, out, step, tell
from afterturn.consumers.dev.sample import Question, load_questions, load_turns
from afterturn.consumers.dev.stack import Addresses, Stack, stand_alone
from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.events import Skipped
from afterturn.schemas.ids import memory_id, turn_key
from afterturn.schemas.query import Answer
from afterturn.schemas.token import Token
from afterturn.streams import KafkaSettings, MemoryEventSubscriber, Received, TopicNames, TurnPublisher
from afterturn.streams.publisher import as_turn
from afterturn.streams.waiting import Waiter

CHOSEN = (
    "flat-11",  # English: the first date was called off
    "flat-15",  # a chain of four messages
    "asturias-trip-10",  # Spanish, out of a long message
    "xiaoyu-notes-08",  # Chinese: a preference that changed
    "xiaoyu-notes-07",  # Chinese, two messages
    "flat-03",  # hard: asked in quite other words
    "incidents-11",  # a named author; an incident like it in February
    "priya-03",  # first person, three messages
    "support-belmonte-03",  # Spanish, two messages
    "bakehouse-14",  # a fact that changed
    "greta-03",  # German, out of a long message
    "greta-09",  # German, first person
)
"""The turns of the first evidence of the questions that are asked."""

SHOWN = 3
EVENT_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Found:
    """Where an answer holds the evidence of its question: ranks from 1, and how much of it the prompt's text shows."""

    ranks: tuple[int, ...]
    in_text: int
    wanted: int

    def among(self, shown: int) -> int:
        """How many of the best ``shown`` memories are evidence."""
        return sum(rank <= shown for rank in self.ranks)


async def show_all(folder: Path, stop: asyncio.Event) -> None:
    """Start everything in ``folder``, show the main job, and end everything."""
    began = time.monotonic()
    stand_alone()
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
    own = Path(sys.executable).with_name("afterturn")
    tell("bold", "next: ", next_command(shutil.which("afterturn"), own, Path.cwd()))


async def _main_job(addresses: Addresses) -> None:
    kafka = KafkaSettings(bootstrap_servers=addresses.kafka)
    turns = [as_turn(fields) for fields in load_turns()]
    questions = chosen(load_questions())
    async with AsyncExitStack() as clients:
        publisher = await clients.enter_async_context(TurnPublisher(kafka, source="demo"))
        waiter = await clients.enter_async_context(Waiter(kafka, TopicNames()))
        events = await clients.enter_async_context(MemoryEventSubscriber(kafka, since="now"))
        await _publish(publisher, waiter, turns)
        await asyncio.to_thread(_ask, addresses.recall, questions, turns)
        again = await publisher.publish(turns[0])
        await _tell(events, again, len(turns) + len(questions) + 1)


async def _publish(publisher: TurnPublisher, waiter: Waiter, turns: list[TurnCompleted]) -> None:
    columns = (TextColumn("{task.description:<11}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=err) as progress:
        tokens = [await publisher.publish(turn) for turn in progress.track(turns, description="publishing")]
        task = progress.add_task("recording", total=len(tokens))
        async for reached in waiter.reach(tokens):
            progress.update(task, completed=reached)
    messages = sum(len(turn.messages) for turn in turns)
    out.print(f"{len(turns)} turns with {messages} messages are recorded and can be recalled\n", highlight=False)


def _ask(url: str, questions: list[Question], turns: list[TurnCompleted]) -> None:
    took: list[float] = []
    finds: list[Found] = []
    asked = ""
    with httpx.Client(timeout=30) as client:
        for question in questions:
            if question.tenant != asked:
                asked = question.tenant
                tell("cyan", "what is asked of the memories of ", f"{asked}\n")
            answer = post_recall(client, url, question.tenant, {"text": question.question})
            evidence = evidence_ids(question, turns)
            took.append(answer.took_ms)
            finds.append(found(answer, evidence))
            show(question.question, answer, SHOWN, evidence)
            tell("green" if finds[-1].among(SHOWN) else "yellow", *verdict(finds[-1], SHOWN))
            out.print()
    took.sort()
    shown, in_text = (sum(map(bool, each)) for each in ((f.among(SHOWN) for f in finds), (f.in_text for f in finds)))
    out.print(
        f"evidence among the memories shown: {shown} of {len(finds)} questions\n"
        f"evidence in the text for the prompt: {in_text} of {len(finds)} questions\n"
        f"an answer took {took[len(took) // 2]:.1f} ms (median), the slowest {took[-1]:.1f} ms\n",
        highlight=False,
    )


async def _tell(events: MemoryEventSubscriber, again: Token, expected: int) -> None:
    """The MemoryEvents of all this: that of the turn that was published again, and how many of each type."""
    received: list[Received] = []
    try:
        async with asyncio.timeout(EVENT_WAIT_S):
            async for each in events:
                received.append(each)
                if len(received) == expected:
                    break
    except TimeoutError:
        err.print("[yellow]some events are still on their way[/yellow]")
    out.print("the first turn was published once more; nothing is recorded twice:", highlight=False)
    for event in (each.event for each in received if isinstance(each.event, Skipped)):
        if event.command and (event.command.partition, event.command.offset) == (again.partition, again.offset):
            tell("yellow", "memory.skipped  ", f"{event.tenant}, {event.thread}/{event.turn_id}: {event.reason}")
    out.print()
    out.print(counted(each.attributes.type for each in received))
    out.print()


def chosen(questions: list[Question]) -> list[Question]:
    """The dozen of the sample's questions that shows every language and tenant, in the order of ``CHOSEN``."""
    by_turn = {question.evidence[0].turn_id: question for question in questions}
    return [by_turn[turn_id] for turn_id in CHOSEN]


def evidence_ids(question: Question, turns: Iterable[TurnCompleted]) -> set[str]:
    """The ids of the memories a question's answer rests on: a turn's memories are numbered as its messages are."""
    keys = {(t.tenant, t.thread, t.turn_id): turn_key(t.scope, t.thread, t.turn_id) for t in turns}
    return {
        memory_id(question.tenant, keys[question.tenant, each.thread, each.turn_id], each.message)
        for each in question.evidence
    }


def found(answer: Answer, evidence: set[str]) -> Found:
    """Where an answer holds the evidence."""
    hits = [(rank, memory.in_text) for rank, memory in enumerate(answer.memories, 1) if memory.id in evidence]
    return Found(tuple(rank for rank, _ in hits), sum(in_text for _, in_text in hits), len(evidence))


def verdict(found: Found, shown: int) -> tuple[str, str]:
    """A mark, and in words whether the evidence is among the memories shown."""
    if among := found.among(shown):
        return f"{MARK} ", f"evidence: {among} of {found.wanted} among these, {found.in_text} in the text"
    if not found.ranks:
        return "✗ ", "the evidence was not found"
    where = "in the text" if found.in_text else "not in the text"
    return "✗ ", f"the evidence is not among these: it ranks {found.ranks[0]}, and is {where}"


def counted(types: Iterable[str]) -> Table:
    """How many events of each type came."""
    counts = Counter(type_.rpartition(".v")[0] for type_ in types)
    table = Table(box=None, pad_edge=False)
    table.add_column("MemoryEvent")
    table.add_column("received", justify="right")
    for name, count in sorted(counts.items()):
        table.add_row(name, str(count))
    table.add_row("all", str(counts.total()), style="bold")
    return table


def next_command(on_path: str | None, own: Path, here: Path) -> str:
    """What to type next: ``afterturn`` where that is this one, else the way to it from here."""
    if on_path is not None and Path(on_path) == own:
        return "afterturn dev"
    return f"{own.relative_to(here) if own.is_relative_to(here) else own} dev"
