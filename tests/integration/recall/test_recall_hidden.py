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


@pytest.mark.parametrize("format_", ["timeline", "lines", "tagged"])
async def test_a_summary_is_shown_only_where_nothing_of_what_it_was_made_of_is(
    bench: Bench, tenant: str, format_: str
) -> None:
    """Its sources are recalled until they expire; no text says a thing twice."""
    (token,) = await bench.remembering.remember(tenant, [told := Said("Ann keeps bees at three places.")])
    gone: dict[str, Any] = {"status": "superseded", "summary": token.receipt}
    sources = [Said(f"Ann keeps bees at place {n}.", fields=gone) for n in range(3)]
    made = await bench.remembering.remember(tenant, sources)
    answer = await bench.ask(tenant, "Where does Ann keep bees?", format=format_)
    assert all(each.text in answer.text for each in sources)
    assert told.text not in answer.text
    assert told.text in texts(answer)
    alone = await bench.ask(tenant, "Where does Ann keep bees?", format=format_, seen=[each.receipt for each in made])
    assert told.text in alone.text


async def test_what_a_summary_has_taken_the_place_of_expires(bench: Bench, tenant: str) -> None:
    (token,) = await bench.remembering.remember(tenant, [told := Said("Cy reads three books.")])
    over: dict[str, Any] = {"status": "superseded", "summary": token.receipt, "expires_at": NOW - timedelta(days=1)}
    await bench.remembering.remember(tenant, [Said(f"Cy reads book {n}.", fields=over) for n in range(3)])
    answer = await bench.ask(tenant, "What does Cy read?")
    assert texts(answer) == [told.text]
    assert told.text in answer.text
