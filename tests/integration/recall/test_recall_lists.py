"""Lists without a question: their orders, their pages, and one instant for all of it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import Said

from afterturn.schemas.errors import ContractError
from afterturn.schemas.query import Answer, Query

DAY = timedelta(days=1)


async def pages(bench: Bench, tenant: str, limit: int, **fields: Any) -> list[Answer]:
    """Every page of a list."""
    found = [await bench.ask(tenant, limit=limit, **fields)]
    while found[-1].cursor is not None:
        found.append(await bench.ask(tenant, limit=limit, cursor=found[-1].cursor, **fields))
    return found


@pytest.mark.parametrize("order", [None, "newest", "confidence", "importance"])
async def test_pages_hold_every_memory_once_in_order(bench: Bench, tenant: str, order: str | None) -> None:
    """Rows 49, 69: also where hundreds happened at one instant; an exact multiple ends with an empty page."""
    said = [
        Said(
            f"note {n}",
            at=NOW - (n % 3) * DAY,
            fields={
                "importance": n % 4 / 4,
                "confidence": 0.5 + n % 2 / 4,
                "decay": n % 5 / 50,
                "content_revised": NOW - 9 * DAY,
            },
        )
        for n in range(450)
    ]
    await bench.remembering.remember(tenant, said)
    read = await pages(bench, tenant, 90, order=order, max_tokens=0)
    assert [len(page.memories) for page in read] == [90, 90, 90, 90, 90, 0]
    assert all(page.limits == () for page in read)
    listed = [memory for page in read for memory in page.memories]
    assert len({memory.id for memory in listed}) == 450
    keys = [
        (
            {"importance": m.importance, "confidence": m.effective_confidence or m.confidence}.get(order or "", 0),
            m.occurred_at,
            m.position,
        )
        for m in listed
    ]
    assert keys == sorted(keys, reverse=True)


async def test_a_list_judges_all_pages_at_the_instant_of_the_first(bench: Bench, tenant: str) -> None:
    """Row 49, 56: what happened, or faded, between two pages changes nothing."""
    await bench.remembering.remember(tenant, [Said(f"note {n}", at=NOW - n * DAY) for n in range(4)])
    await bench.remembering.remember(tenant, [Said("soon over", at=NOW - 9 * DAY, fields={"expires_at": NOW + DAY})])
    first = await bench.ask(tenant, limit=2, since="-9d")
    query = Query(limit=5, since="-9d", cursor=first.cursor)
    later = await bench.recall.answer(tenant, query, NOW + 2 * DAY)
    assert texts(first) + texts(later) == ["note 0", "note 1", "note 2", "note 3", "soon over"]
    assert later.cursor is None


async def test_a_cursor_is_bound_to_its_query_and_tenant(bench: Bench, tenant: str) -> None:
    """Row 69: another filter, order or tenant is refused; another length of page is not."""
    await bench.remembering.remember(tenant, [f"note {n}" for n in range(5)])
    cursor = (await bench.ask(tenant, limit=2)).cursor
    assert len((await bench.ask(tenant, limit=3, cursor=cursor, max_tokens=9, explain=True)).memories) == 3
    changed: list[dict[str, Any]] = [
        {"order": "importance"}, {"roles": ["user"]}, {"as_of": NOW}, {"min_confidence": 0.1},
        {"filter": {"field": "role", "op": "eq", "value": "user"}},
    ]  # fmt: skip
    for fields in changed:
        with pytest.raises(ContractError) as refused:
            await bench.ask(tenant, limit=2, cursor=cursor, **fields)
        assert refused.value.place == "cursor"
    with pytest.raises(ContractError):
        await bench.ask(f"{tenant}-other", limit=2, cursor=cursor)


@pytest.mark.parametrize("cursor", ["", "x", "é", "W10", "bnVsbA", "WzEsMiwzXQ", "A" * 10_000])
async def test_what_is_no_cursor_is_refused(bench: Bench, tenant: str, cursor: str) -> None:
    with pytest.raises(ContractError) as refused:
        await bench.ask(tenant, cursor=cursor)
    assert refused.value.place == "cursor"


@pytest.mark.parametrize("fields", [{"order": "newest"}, {"cursor": "x"}])
async def test_a_question_has_its_own_ranking(bench: Bench, tenant: str, fields: dict[str, str]) -> None:
    with pytest.raises(ContractError) as refused:
        await bench.ask(tenant, "What?", **fields)
    assert refused.value.place == next(iter(fields))


async def test_what_was_seen_is_left_out_of_every_page(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"note {n}" for n in range(1_300)])
    newest = await bench.ask(tenant, limit=1_000, max_tokens=0)
    seen = [memory.id for memory in newest.memories]
    rest = await bench.ask(tenant, limit=1_000, max_tokens=0, seen=[*seen, "no id", ""])
    assert texts(rest) == [f"note {n}" for n in reversed(range(300))]


@pytest.mark.parametrize("text", [None, "What is the plan?"])
async def test_confidence_is_that_of_the_instant(bench: Bench, tenant: str, text: str | None) -> None:
    """Row 33: an aged fact drops out, with a question and without; the answer says how far it is believed."""
    said = [
        Said(f"The plan {name}", fields={"confidence": confidence, "decay": decay, "content_revised": NOW - 5 * DAY})
        for name, confidence, decay in (("fades", 0.8, 0.1), ("stays", 0.6, 0.0), ("doubtful", 0.4, 0.0))
    ]
    await bench.remembering.remember(tenant, said)
    now = await bench.ask(tenant, text, min_confidence=0.5)
    assert texts(now) == ["The plan stays"]
    assert "fades" not in now.text
    then = await bench.ask(tenant, text, min_confidence=0.5, as_of=(NOW - 4 * DAY).isoformat())
    assert sorted(texts(then)) == ["The plan fades", "The plan stays"]
    believed = {m.text: m.effective_confidence for m in (await bench.ask(tenant, text)).memories}
    assert believed["The plan fades"] == pytest.approx(0.2943, abs=5e-5)
    assert believed["The plan stays"] is None


async def test_the_event_time_decides(bench: Bench, tenant: str) -> None:
    """Row 40: when it took effect, where that is known, else when it was recorded; the recorder keeps both as one."""
    said = [
        Said("recorded first, took effect last", at=NOW - DAY),
        Said("recorded last, took effect first", at=NOW - 2 * DAY),
    ]
    await bench.remembering.remember(tenant, said)
    assert texts(await bench.ask(tenant))[0] == said[0].text
    assert texts(await bench.ask(tenant, until=(NOW - DAY).isoformat())) == [said[1].text]


async def test_the_end_of_time_is_a_time(bench: Bench, tenant: str) -> None:
    last = datetime.max.replace(tzinfo=UTC)
    await bench.remembering.remember(tenant, [Said(f"note {n}", at=last) for n in range(3)])
    read = await pages(bench, tenant, 2)
    assert sorted(text for page in read for text in texts(page)) == ["note 0", "note 1", "note 2"]
