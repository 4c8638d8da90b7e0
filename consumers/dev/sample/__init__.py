"""The sample of conversations and questions that the demo, the tests and the recall floor share."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

import orjson

Language = Literal["en", "de", "es", "zh"]


@dataclass(frozen=True, slots=True)
class Evidence:
    """A message that answers a question; ``message`` is its index in the turn, from 0."""

    thread: str
    turn_id: str
    message: int


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a tenant's memories, and every message its answer rests on.

    ``language`` is that of the question and of its evidence. ``note`` says what makes the question worth asking and,
    where it is asked in the first person, by whom.
    """

    tenant: str
    question: str
    language: Language
    evidence: tuple[Evidence, ...]
    note: str | None = None


def load_turns() -> list[dict[str, object]]:
    """The turns as bodies of ``turn.completed``, thread by thread and ascending in time within each."""
    return [orjson.loads(line) for line in _lines("turns.jsonl")]


def load_questions() -> list[Question]:
    """The questions, in the order of the file: by tenant."""
    return [_question(line) for line in _lines("questions.jsonl")]


def _lines(name: str) -> list[bytes]:
    return (files(__name__) / name).read_bytes().splitlines()


def _question(line: bytes) -> Question:
    fields = orjson.loads(line)
    evidence = tuple(Evidence(**reference) for reference in fields.pop("evidence"))
    return Question(evidence=evidence, **fields)
