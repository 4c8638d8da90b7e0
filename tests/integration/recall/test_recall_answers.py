"""What recall answers from a store that works."""

import asyncio
from datetime import timedelta

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import AT, Said

from afterturn.consumers.recall.settings import RecallSettings
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import Recalled, Skipped
from afterturn.schemas.guarding import NOTE
from afterturn.schemas.ids import tenant_id
from afterturn.schemas.query import Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import Phases, TenantSettings

TALK = [
    Said("I finally booked the train to Kyoto for the cherry blossom.", "Ada"),
    Said("Wonderful, when do you leave?", "Ben"),
    Said("On the third of April, for two weeks.", "Ada"),
    Said("My sister keeps bees on the roof of the library.", "Ben"),
    Said("The printer on the second floor is out of toner again.", "Ada"),
]


async def test_the_memory_that_answers_comes_first_with_all_it_is(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, TALK)
    answer = await bench.ask(tenant, "Which train did Ada book?")
    first = answer.memories[0]
    assert first.text == TALK[0].text
    assert (first.author, first.role, first.thread, first.position) == ("Ada", "user", "talk", 0)
    assert (first.kind, first.type, first.importance, first.confidence) == ("episodic", "conversation", 0.5, 1.0)
    assert first.occurred_at is not None
    assert set(first.found_by) == {"vector", "keyword"}
    assert first.in_text
    assert f"Ada: {TALK[0].text}" in answer.text
    assert answer.tokens == -(-len(answer.text) // 4)
    assert answer.degraded == ()
    assert answer.took_ms > 0


async def test_what_stands_around_a_hit_comes_with_it(bench: Bench, tenant: str) -> None:
    """The date of the journey shares no word with the question, and more than a hundred others are nearer to it."""
    noise = [Said(f"Which train is it, asked passenger {n} of train {n}", "Ben", f"hall {n}") for n in range(150)]
    await bench.remembering.remember(tenant, [*TALK[:3], *noise])
    answer = await bench.ask(tenant, "Which train to Kyoto did she book for the cherry blossom?", max_tokens=20_000)
    found = {memory.text: memory.found_by for memory in answer.memories}
    assert found[TALK[2].text] == ("neighbour",)


async def test_neighbours_of_a_thread_of_the_same_name_in_another_scope_stay_out(bench: Bench, tenant: str) -> None:
    ann, bob = Scope(user="ann"), Scope(user="bob")
    noise = [Said(f"Which train is it, asked passenger {n}", "Ben", f"hall {n}", scope=ann) for n in range(150)]
    await bench.remembering.remember(tenant, [Said(TALK[0].text, "Ada", scope=ann), *noise])
    await bench.remembering.remember(tenant, [Said("Unrelated words of Bob", "Bob", scope=bob) for _ in range(3)])
    answer = await bench.ask(tenant, "Which train to Kyoto for the cherry blossom?", max_tokens=20_000, limit=500)
    assert not any(
        "Bob" in text and "neighbour" in m.found_by for text, m in zip(texts(answer), answer.memories, strict=True)
    )


async def test_without_a_hit_there_is_nothing_to_show(bench: Bench, tenant: str) -> None:
    """I-72: no empty block, no header."""
    answer = await bench.ask(tenant, "Which train did Ada book?")
    assert (answer.memories, answer.text, answer.tokens, answer.degraded) == ((), "", 0, ())
    event = bench.events[-1]
    assert isinstance(event, Recalled)
    assert event.hits == 0


async def test_asking_for_an_unknown_tenant_creates_nothing(bench: Bench, tenant: str) -> None:
    """I-81."""
    client = bench.remembering.client
    before = await client.post("counting", "/count", {"exact": True})
    await bench.ask(tenant, "Is anybody there?")
    assert await client.post("counting", "/count", {"exact": True}) == before
    assert await client.post("reading", "", {"ids": [tenant_id(tenant)]}) == []


async def test_tenants_that_ask_at_once_see_only_their_own(bench: Bench, tenant: str) -> None:
    """I-30."""
    one, two = f"{tenant}-1", f"{tenant}-2"

    async def use(mine: str, number: int) -> None:
        await bench.remembering.remember(mine, [f"The secret of {mine} is number {number}"])
        answer = await bench.ask(mine, "What is the secret number?", limit=1_000, max_tokens=50_000)
        assert answer.memories
        assert all(mine in text for text in texts(answer))
        assert f"{one if mine == two else two} " not in answer.text

    for number in range(50):
        await asyncio.gather(use(one, number), use(two, number))


async def test_one_relevant_memory_is_found_among_many_better_ones_of_another_tenant(bench: Bench, tenant: str) -> None:
    """I-40: the filter is inside the search, so that nothing is cut before it. The many are ten times what is read."""
    crowd = [Said("The blossom train to Kyoto leaves", thread=f"t{n}") for n in range(2_000)]
    await bench.remembering.remember(f"{tenant}-crowd", crowd)
    await bench.remembering.remember(tenant, [Said("We might see Kyoto one day", "Eve")])
    answer = await bench.ask(tenant, "When leaves the blossom train to Kyoto?", limit=5)
    assert texts(answer) == ["We might see Kyoto one day"]


async def test_users_with_a_thread_of_the_same_name_stay_apart(bench: Bench, tenant: str) -> None:
    """I-33."""
    for user in ("ann", "bob"):
        said = [Said(f"The wifi password of {user} is {user}-1234", user, "session-1", scope=Scope(user=user))]
        await bench.remembering.remember(tenant, said)
    answer = await bench.ask(tenant, "What is the wifi password?", scope={"user": "ann"})
    assert texts(answer) == ["The wifi password of ann is ann-1234"]


async def test_a_scope_without_memories_is_empty(bench: Bench, tenant: str) -> None:
    """I-31."""
    await bench.remembering.remember(tenant, [Said("The wifi password is 1234", scope=Scope(workspace="B"))])
    answer = await bench.ask(tenant, "What is the wifi password?", scope={"workspace": "A"})
    assert answer.memories == ()


@pytest.mark.parametrize(
    "text",
    ["the and", "`x`", "main", "AND OR NOT", "-", "\"'`", "* ? :", "a" * 5_000, "北京烤鸭", "🙂", "ﷺ", "select * from"],
)
async def test_no_text_is_too_odd_to_ask(bench: Bench, tenant: str, text: str) -> None:
    """I-46g, I-54."""
    await bench.remembering.remember(tenant, [Said("The main thing is the and", scope=Scope(workspace="main"))])
    answer = await bench.ask(tenant, text, scope={"workspace": "main"})
    assert answer.degraded == ()


async def test_words_of_chinese_are_found_by_the_keyword_arm(bench: Bench, tenant: str) -> None:
    """I-46c."""
    await bench.remembering.remember(tenant, ["我喜欢北京烤鸭", "今天下雨了"])
    answer = await bench.ask(tenant, "烤鸭")
    assert answer.memories[0].text == "我喜欢北京烤鸭"
    assert "keyword" in answer.memories[0].found_by


async def test_eight_threads_written_at_once_are_all_recalled(bench: Bench, tenant: str) -> None:
    """I-07."""
    said = [Said(f"marker {n} of the concurrent test", thread=f"session {n}") for n in range(8)]
    await asyncio.gather(*(bench.remembering.remember(tenant, [each]) for each in said))
    answer = await bench.ask(tenant, "marker of the concurrent test")
    assert sorted(texts(answer)) == sorted(each.text for each in said)


async def test_what_was_seen_is_left_out_before_the_limit(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"Train number {n} goes to Kyoto" for n in range(150)])
    seen: list[str] = []
    for _ in range(15):
        answer = await bench.ask(tenant, "Which train goes to Kyoto?", limit=10, seen=seen)
        assert len(answer.memories) == 10
        assert not {memory.id for memory in answer.memories} & set(seen)
        seen += [memory.id for memory in answer.memories]
    assert len(set(seen)) == 150
    answer = await bench.ask(tenant, "Which train goes to Kyoto?", seen=seen)
    assert (answer.memories, answer.text) == ((), "")


async def test_the_limit_bounds_the_list_and_never_the_text(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"Train number {n} goes to Kyoto" for n in range(90)])
    whole = await bench.ask(tenant, "Which train goes to Kyoto?", limit=80)
    short = await bench.ask(tenant, "Which train goes to Kyoto?", limit=2)
    assert short.text == whole.text
    assert texts(short) == texts(whole)[:2]
    assert len(whole.text.splitlines()) > 40


@pytest.mark.parametrize("tokens", [0, 1, 10, 100, 1_000])
async def test_the_text_never_exceeds_its_budget(bench: Bench, tenant: str, tokens: int) -> None:
    await bench.remembering.remember(tenant, [f"Train {n}\n\ngoes to\nKyoto {'x' * (n * 7 % 90)}" for n in range(60)])
    answer = await bench.ask(tenant, "Which train goes to Kyoto?", max_tokens=tokens, limit=60)
    assert answer.tokens <= tokens
    lines = sum(not line.startswith("[") for line in answer.text.splitlines() if line != NOTE)
    assert lines == sum(memory.in_text for memory in answer.memories)


async def test_score_parts_come_on_request_and_sum_up(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, TALK)
    plain = await bench.ask(tenant, "Which train did Ada book?")
    assert all(memory.parts is None for memory in plain.memories)
    explained = await bench.ask(tenant, "Which train did Ada book?", explain=True)
    for memory in explained.memories:
        assert memory.parts is not None
        assert sum(memory.parts.model_dump().values()) == pytest.approx(memory.score, abs=1e-9)
    named = [m.author for m in explained.memories if m.parts and m.parts.author]
    assert set(named) == {"Ada"}


async def test_without_a_question_the_newest_come_first(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [Said(f"note {n}", at=AT + timedelta(days=n)) for n in (3, 1, 2)])
    for text in (None, "", "  "):
        answer = await bench.ask(tenant, text, limit=2)
        assert texts(answer) == ["note 3", "note 2"]
        assert answer.degraded == ()
        assert answer.text.index("note 1") < answer.text.index("note 3")


async def test_times_restrict_and_are_taken_from_one_now(bench: Bench, tenant: str) -> None:
    days = {n: NOW - timedelta(days=n) for n in (1, 8, 30)}
    await bench.remembering.remember(tenant, [Said(f"trip {n} to Kyoto", at=at) for n, at in days.items()])
    recent = await bench.ask(tenant, "trip to Kyoto", since="-7d")
    assert texts(recent) == ["trip 1 to Kyoto"]
    older = await bench.ask(tenant, "trip to Kyoto", until=days[8].isoformat())
    assert texts(older) == ["trip 30 to Kyoto"], "until is exclusive"
    then = await bench.ask(tenant, "trip to Kyoto", as_of=days[8].isoformat())
    assert sorted(texts(then)) == ["trip 30 to Kyoto", "trip 8 to Kyoto"]
    extreme = await bench.ask(tenant, "trip", since="0001-01-01T00:00:00Z", until="9999-12-31T23:59:59Z")
    assert len(extreme.memories) == 3


async def test_what_has_expired_is_not_recalled(bench: Bench, tenant: str) -> None:
    until = {"over": NOW, "still": NOW + timedelta(seconds=1)}
    said = [Said(f"The offer {name} stands", fields={"expires_at": at}) for name, at in until.items()]
    await bench.remembering.remember(tenant, said)
    assert texts(await bench.ask(tenant, "Which offer stands?")) == ["The offer still stands"]
    assert len((await bench.ask(tenant, "Which offer stands?", as_of="2026-03-20T00:00:00Z")).memories) == 2


@pytest.mark.parametrize("status", ["candidate", "superseded"])
async def test_only_what_is_active_is_recalled(bench: Bench, tenant: str, status: str) -> None:
    await bench.remembering.remember(tenant, [Said("The old plan", fields={"status": status}), "The new plan"])
    assert texts(await bench.ask(tenant, "What is the plan?")) == ["The new plan"]
    assert texts(await bench.ask(tenant)) == ["The new plan"]


async def test_a_query_without_a_required_dimension_is_refused_and_told(bench: Bench, tenant: str) -> None:
    said = [Said("The wifi password is 1234", scope=Scope(user="ann"))]
    await bench.remembering.remember(tenant, said, TenantSettings(required_scope=("user", "agent")))
    with pytest.raises(ContractError, match="user, agent") as refused:
        await bench.ask(tenant, "What is the wifi password?")
    assert refused.value.place == "scope.user"
    event = bench.events[-1]
    assert isinstance(event, Skipped)
    assert (event.operation, event.reason) == ("memory.recall", "scope")


async def test_a_tenant_that_switched_recall_off_gets_nothing(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, TALK, TenantSettings(phases=Phases(recall="off")))
    answer = await bench.ask(tenant, "Which train did Ada book?")
    assert (answer.memories, answer.text, answer.degraded) == ((), "", ())
    event = bench.events[-1]
    assert isinstance(event, Skipped)
    assert event.reason == "off"


async def test_events_count_and_never_quote(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, TALK)
    answer = await bench.ask(tenant, "Which train did Ada book?")
    event = bench.events[-1]
    assert isinstance(event, Recalled)
    assert (event.hits, event.tokens) == (len(answer.memories), answer.tokens)
    assert event.found_by.vector == sum("vector" in m.found_by for m in answer.memories)
    assert event.usage.embedder_calls == 1
    assert "train" not in event.model_dump_json()
    assert "Ada" not in event.model_dump_json()


async def test_a_long_message_in_parts_is_recalled_by_its_parts(bench: Bench, tenant: str) -> None:
    """Parts share a position; the one that says it comes first, whatever the others say."""
    said = [
        Said("An introduction of no interest", fields={"parts": 2, "part": 0, "position": 7}),
        Said("The treasure lies below the lighthouse", fields={"parts": 2, "part": 1, "ordinal": 1, "position": 7}),
    ]
    await bench.remembering.remember(tenant, said)
    answer = await bench.ask(tenant, "Where lies the treasure?")
    assert texts(answer)[0] == "The treasure lies below the lighthouse"
    assert {memory.position for memory in answer.memories} == {7}


async def test_the_newest_that_were_seen_make_room_for_older_ones(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"note {n}" for n in range(205)])
    seen: list[str] = []
    while page := (await bench.ask(tenant, None, limit=100, max_tokens=0, seen=seen)).memories:
        seen += [memory.id for memory in page]
    assert len(seen) == len(set(seen)) == 205


async def test_a_wider_recall_answers_from_more_hits(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"The train number {n} leaves for Kyoto" for n in range(160)])
    query = Query.model_validate({"text": "Which train leaves for Kyoto?", "limit": 1_000, "max_tokens": 0})
    counts = []
    for breadth in ("usual", "wide"):
        settings = RecallSettings.model_validate({"breadth": breadth})
        counts.append(len((await bench.recall_with(settings).answer(tenant, query, NOW)).memories))
    assert 50 <= counts[0] < 100 <= counts[1]
