"""What recall leaves out, and how tags and entities are told apart."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import Said


@pytest.mark.parametrize("question", [None, "Where is the spare key?"])
async def test_row_37_only_what_is_active_is_recalled(bench: Bench, tenant: str, question: str | None) -> None:
    """One memory of each status, and one whose time has passed."""
    said = [
        Said(f"The spare key is {place}.", fields={"status": status})
        for place, status in (("in the shed", "active"), ("on the hook", "superseded"), ("in the car", "candidate"))
    ]
    over = Said("The spare key is with Bo.", fields={"expires_at": NOW - timedelta(days=1)})
    await bench.remembering.remember(tenant, [*said, over])
    for profile in ("recipe", "b4-keyword", "b4-hybrid", "dice", "llm4s"):
        answer = await bench.ask(tenant, question, profile=profile)
        assert texts(answer) == ["The spare key is in the shed."], profile


async def test_row_42_tags_are_any_of_and_chosen_before_the_limit(bench: Bench, tenant: str) -> None:
    """Elsewhere after it, so that a tagged answer could be short; and a comma in a tag is a comma (I-46f)."""
    said = [Said(f"The train number {n} to Kyoto", fields={"tags": ("rail",)}) for n in range(5)]
    tagged: dict[str, Any] = {"tags": ("Paris, France", "food")}
    await bench.remembering.remember(tenant, [*said, Said("A train of thought on bread", fields=tagged)])
    for tags in (["food"], ["Paris, France"], ["food", "nothing"]):
        answer = await bench.ask(tenant, "Which train goes to Kyoto?", tags_any=tags, limit=1)
        assert texts(answer) == ["A train of thought on bread"]
    assert texts(await bench.ask(tenant, "Which train?", tags_any=["Paris"], limit=1)) == []
    assert texts(await bench.ask(tenant, "Which train?", tags_all=["food", "rail"], limit=1)) == []


async def test_one_entity_stays_one_whatever_its_capitals(bench: Bench, tenant: str) -> None:
    """I-46d: a dotted capital I is lowered differently by layers; an entity goes by its id, compared exactly."""
    entities = [{"span": span, "type": "place", "id": "istanbul"} for span in ("İstanbul", "istanbul")]
    said = [Said(f"I flew to {each['span']} today", author="İpek", fields={"entities": (each,)}) for each in entities]
    await bench.remembering.remember(tenant, said)
    chosen = {"field": "entities.id", "op": "contains_any", "value": ["istanbul"]}
    for question in ("When did İpek fly to İstanbul?", "when did ipek fly to istanbul?", "İ", None):
        answer = await bench.ask(tenant, question, filter=chosen, format="tagged")
        assert sorted(texts(answer)) == sorted(each.text for each in said)
        assert answer.degraded == ()
        assert question is None or answer.text.count("(istanbul)") == 2
