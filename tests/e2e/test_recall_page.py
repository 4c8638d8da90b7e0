"""The page on recall: its commands are run as they stand, and say what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from support.reader import Reader

from afterturn.consumers.dev.stack import Addresses
from afterturn.schemas.conditions import FIELDS, Op
from afterturn.schemas.query import Format, Order, Profile, Query

PAGE = Path(__file__).resolve().parents[2] / "docs" / "recall.md"


def test_recall(stack: Addresses, tmp_path: Path) -> None:
    """Row 4 over the whole stack, and each part of the page."""
    reader = Reader(PAGE, stack, tmp_path)
    writing, filtering, listing, formats, waiting = reader.blocks("sh")
    post = writing.splitlines()[0]

    def answers(block: str) -> list[dict[str, Any]]:
        return reader.answers(f"{post}\n{block}")

    assert [answer["status"] for answer in reader.answers(writing)] == ["visible"] * 3
    (filtered,) = answers(filtering)
    assert [memory["text"] for memory in filtered["memories"]] == ["The cello is at the workshop in Porto."]
    (listed,) = answers(listing)
    assert len(listed["memories"]) == 2
    assert listed["cursor"]
    timeline, sections, tagged, groups, contribution = (answer["text"] for answer in answers(formats))
    assert "[8 May 2026, 13:56]\nMira: My cello lesson is on Thursday." in timeline
    assert "## User Preferences\n- Mira plays the cello." in sections
    assert " — source: Mail of 1 May — entities: Mira (p1)" in tagged
    assert groups.startswith("## Known Facts\n- ")
    (shown,) = reader.blocks("text")
    assert contribution == shown.rstrip("\n")
    accepted, answer = answers(waiting)
    assert accepted["status"] == "accepted"
    assert answer["degraded"] == []
    assert "Mira: The lesson was moved to Friday." in answer["text"]


def test_every_field_ranking_format_and_operator_is_told() -> None:
    told = set(re.findall(r"`([a-z0-9_.-]+)`", PAGE.read_text()))
    named: list[Any] = [Profile, Format, Order, Op]
    words = {word for each in named for word in get_args(each)} | set(FIELDS) | set(fields_of(Query))
    assert words - told == set()


def fields_of(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)
