"""LoCoMo files: conversations of two speakers over many sessions, and questions with the ids of their evidence.

The data set is for evaluation only (CC BY-NC 4.0): none of it is part of Afterturn, its path is an argument.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from afterturn.schemas.commands import TurnCompleted
from afterturn.schemas.errors import ContractError
from afterturn.schemas.parts import Message

_EVIDENCE = re.compile(r"D:?(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True)
class Question:
    """A question; its category (1 multi-hop, 2 temporal, 3 open, 4 single-hop, 5 adversarial); its evidence's turns."""

    text: str
    category: int
    evidence: frozenset[str]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One conversation: a tenant, its turns in order, its questions."""

    tenant: str
    turns: tuple[TurnCompleted, ...]
    questions: tuple[Question, ...]


def read(path: Path) -> list[Conversation]:
    """The conversations of a LoCoMo file.

    Raises:
        ContractError: there is no such file, or it is no LoCoMo file; the text says where to get one.
    """
    if not path.is_file():
        raise ContractError(
            "invalid", "FILE", f"there is no file {path}: give the path of a LoCoMo file (snap-research/LoCoMo)"
        )
    try:
        return [_conversation(sample) for sample in orjson.loads(path.read_bytes())]
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise ContractError("invalid", "FILE", f"{path} is no LoCoMo file ({type(error).__name__})") from None


def repaired(evidence: list[str]) -> frozenset[str]:
    """The turn ids in an evidence list; some are malformed there: ``D8:6; D9:17``, ``D:11:26``, ``D30:05``."""
    return frozenset(f"D{int(s)}:{int(n)}" for text in evidence for s, n in _EVIDENCE.findall(text))


def _conversation(sample: dict[str, Any]) -> Conversation:
    tenant = f"locomo-{sample['sample_id']}"
    spoken = sample["conversation"]
    sessions = sorted((int(found[1]), name) for name in spoken if (found := _SESSION.fullmatch(name)))
    turns = tuple(
        _turn(tenant, name, _time(spoken[f"{name}_date_time"]), said) for _, name in sessions for said in spoken[name]
    )
    there = {turn.turn_id for turn in turns}
    questions = tuple(
        Question(asked["question"], asked["category"], repaired(asked["evidence"]) & there) for asked in sample["qa"]
    )
    return Conversation(tenant, turns, questions)


def _turn(tenant: str, session: str, at: datetime, said: dict[str, Any]) -> TurnCompleted:
    caption = said.get("blip_caption")
    text = f"{said['text']} [shares {caption}]" if caption else said["text"]
    message = Message(role="user", author=said["speaker"], content=text)
    return TurnCompleted(tenant=tenant, thread=session, turn_id=said["dia_id"], occurred_at=at, messages=(message,))


def _time(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
