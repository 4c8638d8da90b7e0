"""Prompt texts in their formats, what stands beside memories, and waiting for all there is."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, get_args

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import Said

from afterturn.consumers.recall.answering.labelling import SECONDS, Sources
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.schemas.guarding import NOTE
from afterturn.schemas.query import Format, Query
from afterturn.schemas.scope import Scope

FORMATS: tuple[Format, ...] = get_args(Format)
FACTS = [
    Said("Prefers Scala over Java", None, fields={"type": "user_fact", "kind": "semantic"}),
    Said("Scala runs on the JVM", None, fields={"type": "knowledge", "kind": "semantic"}),
    Said("We talked of Scala", "Ada"),
]


def asked(**fields: Any) -> Query:
    return Query.model_validate({"text": "What of Scala and Java?"} | fields)


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("tokens", [0, 9, 30, 60, 2_000])
async def test_every_format_keeps_the_budget_and_tells_what_it_shows(
    bench: Bench, tenant: str, format_: Format, tokens: int
) -> None:
    """Row 26."""
    await bench.remembering.remember(tenant, FACTS)
    answer = await bench.recall.answer(tenant, asked(format=format_, max_tokens=tokens), NOW)
    assert answer.tokens <= tokens
    assert len(answer.text) <= 4 * tokens
    for memory in answer.memories:
        assert memory.in_text == (memory.text in answer.text)
    if tokens == 2_000:
        assert all(memory.in_text for memory in answer.memories)
        assert answer.text.startswith(NOTE)


async def test_sections_of_what_was_found(bench: Bench, tenant: str) -> None:
    """Row 27."""
    await bench.remembering.remember(tenant, FACTS)
    answer = await bench.recall.answer(tenant, asked(format="sections", note=False), NOW)
    assert answer.text == (
        "# Retrieved Context\n## Relevant Knowledge\n- Scala runs on the JVM\n"
        "## User Preferences\n- Prefers Scala over Java\n## Previous Context\n- We talked of Scala"
    )


async def test_the_index_is_of_the_newest_that_have_not_expired(bench: Bench, tenant: str) -> None:
    """Row 29."""
    said = [Said(f"note {n} {'x' * 90}", fields={"expires_at": NOW} if n == 25 else {}) for n in range(30)]
    await bench.remembering.remember(tenant, said)
    answer = await bench.ask(tenant, format="index", limit=20, note=False)
    heading, _, *lines = answer.text.splitlines()
    assert heading == "# Long-Term Memory"
    newest = [n for n in reversed(range(30)) if n != 25][:20]
    assert lines == [
        f"- {memory.id}: {f'note {n} ' + 'x' * 90:.80}" for memory, n in zip(answer.memories, newest, strict=True)
    ]


async def test_a_contribution_counts_what_the_filters_leave(bench: Bench, tenant: str) -> None:
    """Rows 30, 32: the count, the list and the text see the same memories."""
    other = Scope(user="bob")
    await bench.remembering.remember(tenant, [*FACTS, Said("Bob's Scala", scope=other)])
    answer = await bench.recall.answer(
        tenant, asked(format="contribution", limit=1, filter={"field": "kind", "op": "eq", "value": "semantic"}), NOW
    )
    assert "2 memories available" in answer.text
    assert "[1 more retrievable via the memory tool]" in answer.text
    assert "Bob" not in answer.text
    assert answer.available == 2


async def test_why_nothing_is_shown(bench: Bench, tenant: str) -> None:
    """Rows 31, 51: nothing stored, nothing beside what was seen, nothing found."""
    ask = {"format": "tagged"}
    assert (await bench.ask(tenant, **ask)).text == "No memories stored yet."
    await bench.remembering.remember(tenant, ["The train to Kyoto"])
    first = await bench.ask(tenant, **ask)
    assert first.text == f"{NOTE}\nAll memories (1):\n- The train to Kyoto"
    seen = [memory.id for memory in first.memories]
    assert (await bench.ask(tenant, **ask, seen=seen)).text == "No additional memories beyond those already provided."
    none = await bench.ask(tenant, "zebra", profile="b4-keyword", **ask)
    assert none.text.startswith("No memories about 'zebra'.")
    assert "1 memory is stored about the user & context." in none.text
    assert (await bench.ask(tenant, "zebra", profile="b4-keyword", format="lines")).text == "(no memories found)"


class Catalogue:
    """A resolver that says what it was told to, and counts."""

    def __init__(self, answer: Mapping[str, Sequence[str]] | BaseException | None) -> None:
        self.calls: list[Sources] = []
        self.answer = answer

    async def labels(self, tenant: str, sources: Sources, /) -> Mapping[str, Sequence[str]]:  # noqa: ARG002
        self.calls.append(sources)
        if self.answer is None:
            await asyncio.Event().wait()
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer or {id_: (f"book of {id_[:4]}", "x" * 100, "third") for id_ in sources}


async def test_labels_come_from_one_call(bench: Bench, tenant: str) -> None:
    """Row 52: all ids at once, two labels of 80 characters."""
    await bench.remembering.remember(tenant, FACTS)
    catalogue = Catalogue({})
    answer = await bench.recall_with(labels=catalogue).answer(tenant, asked(format="tagged"), NOW)
    (call,) = catalogue.calls
    assert set(call) == {memory.id for memory in answer.memories}
    for memory in answer.memories:
        assert memory.labels == (f"book of {memory.id[:4]}", "x" * 80)
        assert f" — source: book of {memory.id[:4]}; {'x' * 80}" in answer.text


@pytest.mark.parametrize("trouble", [None, RuntimeError("down"), asyncio.CancelledError()], ids=str)
async def test_a_resolver_in_trouble_changes_nothing_else(
    bench: Bench, tenant: str, trouble: BaseException | None
) -> None:
    """Row 52: failure and slowness are ignored."""
    await bench.remembering.remember(tenant, FACTS)
    plain = await bench.recall_with(labels=Catalogue({"nobody": ("x",)})).answer(tenant, asked(), NOW)
    answer = await bench.recall_with(labels=Catalogue(trouble)).answer(tenant, asked(), NOW)
    assert (texts(answer), answer.text, answer.degraded) == (texts(plain), plain.text, ())
    assert all(memory.labels is None for memory in answer.memories)
    assert answer.took_ms < 1_000 * (SECONDS + 2)


async def test_a_memory_brings_its_own_label_and_entities(bench: Bench, tenant: str) -> None:
    """Rows 52, 53."""
    source = {"type": "tool", "id": "mail"}
    entities = ({"span": "Ada", "type": "person", "id": "p1"}, {"span": "tea", "type": "thing"})
    said = [
        Said("Likes tea", fields={"source": source | {"label": "Mail of May", "uri": "x:1"}, "entities": entities}),
        Said("Likes rain", fields={"source": source | {"uri": "x:2"}}),
        Said("Likes snow", fields={"source": source}),
    ]
    await bench.remembering.remember(tenant, said)
    answer = await bench.ask(tenant, format="tagged", note=False)
    assert [memory.labels for memory in answer.memories] == [None, ("x:2",), ("Mail of May",)]
    assert [memory.entities for memory in answer.memories] == [None, None, ("Ada (p1)",)]
    assert answer.text.splitlines()[1:] == [
        "- Likes snow", "- Likes rain — source: x:2", "- Likes tea — source: Mail of May — entities: Ada (p1)"
    ]  # fmt: skip


class Ending:
    """A turn log as numbers: where it ends, and what was committed when it was asked for that the nth time."""

    def __init__(self, end: int, *committed: int | None) -> None:
        self._end = end
        self._committed = list(committed)

    async def end(self, partition: int, /) -> int:  # noqa: ARG002
        return self._end

    async def committed(self, partition: int, /) -> int | None:  # noqa: ARG002
        return self._committed.pop(0) if len(self._committed) > 1 else self._committed[0]


async def test_a_consistent_answer_waits_for_all_there_is(own_bench: Bench, tenant: str) -> None:
    """Row 4: until the checkpoint has passed the log's end and the whole batch was committed; bounded, and said."""
    (token,) = await own_bench.remembering.remember(tenant, ["The train to Kyoto"])
    end = token.offset + 1
    short = RecallSettings(after_wait=0.2)
    for log, lacks in (
        (Ending(end, end), ()),
        (Ending(end, None, end - 1, end), ()),
        (Ending(0, None), ()),
        (Ending(end + 1, end + 1), ("after",)),  # a record the store doesn't have yet
        (Ending(end, end - 1), ("after",)),  # its batch is still landing
        (None, ("after",)),
    ):
        answer = await own_bench.recall_with(short, log=log).answer(tenant, asked(consistent=True), NOW)
        assert answer.degraded == lacks
        assert texts(answer) == ["The train to Kyoto"]
