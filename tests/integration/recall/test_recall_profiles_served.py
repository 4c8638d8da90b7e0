"""Rankings by name, over a store: what each finds, and where it says that it is not exact."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import Said

PROFILES = ("b4-keyword", "b4-hybrid", "dice", "llm4s")


def fact(text: str, *entities: str, days: float = 1, **fields: Any) -> Said:
    mentioned = tuple({"span": each, "type": "person", "id": each} for each in entities)
    given = {"content_revised": NOW - timedelta(days=days), "entities": mentioned, "kind": "semantic"}
    return Said(text, None, fields=given | fields)


@pytest.mark.parametrize("profile", ["recipe", *PROFILES])
async def test_what_answers_comes_first_and_scores_are_sums(bench: Bench, tenant: str, profile: str) -> None:
    await bench.remembering.remember(
        tenant, ["The train to Kyoto leaves at nine", "My sister keeps bees", "Rain again"]
    )
    answer = await bench.ask(tenant, "When does the train to Kyoto leave?", profile=profile, explain=True)
    assert texts(answer)[0] == "The train to Kyoto leaves at nine"
    assert "The train to Kyoto leaves at nine" in answer.text
    assert (answer.degraded, answer.limits) == ((), ())
    for memory in answer.memories:
        assert memory.parts is not None
        assert memory.found_by
        assert sum(memory.parts.model_dump().values()) == pytest.approx(memory.score, abs=1e-9)


@pytest.mark.parametrize("profile", PROFILES)
async def test_filters_hold_and_tenants_stay_apart_in_every_ranking(bench: Bench, tenant: str, profile: str) -> None:
    """Rows 1, 56."""
    for who in (tenant, f"{tenant}-2"):
        said = [fact(f"The plan of {who} {kind}", "plan", kind=kind) for kind in ("semantic", "reflection")]
        await bench.remembering.remember(who, said)
    asking = [
        bench.ask(
            tenant, "What is the plan?", profile=profile, filter={"field": "kind", "op": "eq", "value": "semantic"}
        )
    ]
    for answer in await asyncio.gather(*asking):
        assert texts(answer) == [f"The plan of {tenant} semantic"]


@pytest.mark.parametrize("profile", PROFILES)
async def test_what_was_seen_makes_room_in_every_ranking(bench: Bench, tenant: str, profile: str) -> None:
    """Row 31: and the limit is still filled."""
    await bench.remembering.remember(tenant, [f"Train {n} goes to Kyoto" for n in range(40)])
    seen: list[str] = []
    for _ in range(4):
        answer = await bench.ask(tenant, "Which train goes to Kyoto?", profile=profile, limit=10, seen=seen)
        assert len(answer.memories) == 10
        assert not {memory.id for memory in answer.memories} & set(seen)
        seen += [memory.id for memory in answer.memories]


async def test_dice_brings_in_what_the_hits_entities_are_mentioned_by(bench: Bench, tenant: str) -> None:
    """Row 45: only where hits are few, and only what is believed; another scope's or tenant's facts stay out."""
    await bench.remembering.remember(f"{tenant}-2", [fact("Somebody else's", "ada")])
    noise = [fact(f"Nothing of the kind, number {n}") for n in range(30)]
    said = [
        fact("Ada plays the cello", "ada"),
        fact("She was born in Kyoto", "ada"),
        fact("She is a spy", "ada", confidence=0.4),
        fact("She is ill", "ada", confidence=0.9, decay=0.1, days=30),
    ]
    await bench.remembering.remember(tenant, [*noise, *said])
    few = {"profile": "dice", "filter": {"field": "entities.id", "op": "exists", "value": True}}
    answer = await bench.ask(tenant, "cello", limit=10, **few)
    found = {memory.text: memory.found_by for memory in answer.memories}
    assert found.keys() == {"Ada plays the cello", "She was born in Kyoto"}
    assert "related" in found["She was born in Kyoto"]
    assert answer.memories[0].text == "Ada plays the cello"
    thin = await bench.ask(tenant, "cello", limit=1, **few)
    assert not any("related" in memory.found_by for memory in thin.memories)


async def test_a_pool_that_is_full_is_said(bench: Bench, tenant: str) -> None:
    """Rows 43, 45: more share a word with the question than are ranked."""
    await bench.remembering.remember(tenant, [f"Train number {n}" for n in range(300)])
    for profile in ("b4-keyword", "b4-hybrid"):
        assert (await bench.ask(tenant, "train", profile=profile)).limits == ("pool",)
        assert (await bench.ask(tenant, "train", profile=profile, filter=_first(100))).limits == ()
    assert (await bench.ask(tenant, "train", profile="dice", limit=5)).limits == ("pool",)
    assert (await bench.ask(tenant, "train", profile="dice", limit=50)).limits == ()


def _first(count: int) -> dict[str, object]:
    return {"field": "position", "op": "lt", "value": count}


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("text", ["the and", "烤鸭", "?", "🙂", "x" * 20_000, "AND OR NOT"])
async def test_no_text_is_too_odd_for_any_ranking(bench: Bench, tenant: str, profile: str, text: str) -> None:
    """Row 43: also a question without a word of any meaning is answered."""
    await bench.remembering.remember(tenant, ["我喜欢北京烤鸭", "The main thing is the and"])
    answer = await bench.ask(tenant, text, profile=profile)
    assert answer.degraded == ()
    if text == "烤鸭" and profile != "llm4s":
        assert texts(answer)[0] == "我喜欢北京烤鸭"
