"""What recall answers when something it stands on fails: what is left, and what is lacking."""

import asyncio
import os
import signal
import time
from collections.abc import Sequence

import pytest
from support.recall_bench import NOW, Bench, texts
from support.store import StoreProcess

from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.store.answers import AnswerStore
from afterturn.consumers.store.errors import StoreAway, StoreRefused
from afterturn.consumers.store.read import Hit, SearchHits, SparseVector
from afterturn.consumers.store.search import Search, Window
from afterturn.consumers.text.embedder import Embedded, Vector
from afterturn.consumers.text.errors import EmbedderAway, EmbedderUnusable
from afterturn.schemas.events import Recalled, Skipped
from afterturn.schemas.query import Query
from afterturn.streams.errors import Stop

QUESTION = "Which train did Ada book?"
SAID = ["Ada booked the train to Kyoto", "Ben keeps bees on the roof"]


class FailingEmbedder:
    """An embedder that raises, or never comes to an end."""

    name = slug = "failing"
    dimension = 256

    def __init__(self, error: Exception | None = None) -> None:
        self._error = error

    async def embed(self, texts: Sequence[str]) -> Embedded:
        raise NotImplementedError

    async def embed_query(self, text: str) -> Vector | None:
        del text
        if self._error is None:
            await asyncio.Event().wait()
            return None
        raise self._error

    async def close(self) -> None:
        """There is nothing to let go of."""


class FailingArm(AnswerStore):
    """A store one arm of which fails, as it does after a fault of its index; the other is the real one's."""

    failing = "dense"

    async def hits(
        self, search: Search, dense: Sequence[float] | None, sparse: SparseVector | None, limit: int
    ) -> SearchHits:
        found = await super().hits(search, dense, sparse, limit)
        error = StoreRefused("searching", 500, "no reason given")
        if self.failing == "dense":
            return SearchHits(lexical=found.lexical, failed={"dense": error})
        return SearchHits(dense=found.dense, failed={"lexical": error})


class FailingPlaces(AnswerStore):
    """A store that cannot read around hits."""

    async def around(self, search: Search, places: Sequence[Window]) -> list[Hit]:
        assert search.tenant
        assert places
        raise StoreAway("reading memories", "TimeoutError")


async def test_without_an_embedder_the_words_still_answer(bench: Bench, tenant: str) -> None:
    """Row 48: a write is kept with its words only, recall goes on with them and says so."""
    await bench.remembering.remember(tenant, SAID)
    recall = bench.recall_with(embedder=FailingEmbedder(EmbedderAway("failing", "is not there")))
    answer = await recall.answer(tenant, Query(text=QUESTION), NOW)
    assert texts(answer)[0] == SAID[0]
    assert answer.degraded == ("vector",)
    assert answer.memories[0].found_by == ("keyword",)
    event = bench.events[-1]
    assert isinstance(event, Recalled)
    assert event.degraded == ("vector",)
    assert event.usage.embedder_calls == 0


async def test_an_embedder_that_hangs_is_not_waited_for(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, SAID)
    recall = bench.recall_with(RecallSettings(embed_timeout=0.1), embedder=FailingEmbedder())
    answer = await recall.answer(tenant, Query(text=QUESTION), NOW)
    assert texts(answer)[0] == SAID[0]
    assert answer.degraded == ("vector",)


async def test_an_embedder_that_can_never_serve_ends_the_process(bench: Bench, tenant: str) -> None:
    recall = bench.recall_with(embedder=FailingEmbedder(EmbedderUnusable("failing", "has no key")))
    with pytest.raises(Stop):
        await recall.answer(tenant, Query(text=QUESTION), NOW)


@pytest.mark.parametrize(
    ("failing", "lacks", "left"), [("dense", "vector", "keyword"), ("lexical", "keyword", "vector")]
)
async def test_one_arm_answers_for_both(bench: Bench, tenant: str, failing: str, lacks: str, left: str) -> None:
    await bench.remembering.remember(tenant, SAID)
    store = FailingArm(bench.remembering.client, dimension=256)
    store.failing = failing
    answer = await bench.recall_with(store=store).answer(tenant, Query(text=QUESTION), NOW)
    assert texts(answer)[0] == SAID[0]
    assert answer.degraded == (lacks,)
    assert {arm for memory in answer.memories for arm in memory.found_by} == {left}


async def test_without_neighbours_the_hits_answer(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [*SAID, *(f"The train {n} of Ada was booked" for n in range(200))])
    recall = bench.recall_with(store=FailingPlaces(bench.remembering.client, dimension=256))
    answer = await recall.answer(tenant, Query(text=QUESTION), NOW)
    assert len(answer.memories) == 50
    assert answer.degraded == ("neighbour",)


async def test_a_store_that_heals_is_named(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, SAID)
    answer = await bench.recall_with(heals=lambda _: True).answer(tenant, Query(text=QUESTION), NOW)
    assert answer.degraded == ("healing",)
    assert texts(answer)[0] == SAID[0]


async def test_a_store_that_is_gone_gives_an_empty_answer_and_is_back_by_itself(
    own_bench: Bench, own_store: StoreProcess, tenant: str
) -> None:
    await own_bench.remembering.remember(tenant, SAID)
    assert (await own_bench.ask(tenant, QUESTION)).memories
    own_store.kill()
    answer = await own_bench.ask(tenant, QUESTION)
    assert (answer.memories, answer.text, answer.degraded) == ((), "", ("search",))
    event = own_bench.events[-1]
    assert isinstance(event, Skipped)
    assert (event.operation, event.reason, event.error) == ("memory.recall", "unavailable", "StoreAway")
    await asyncio.to_thread(own_store.restart)
    answer = await own_bench.ask(tenant, QUESTION)
    assert texts(answer)[0] == SAID[0]
    assert answer.degraded == ()


async def test_a_store_that_stands_still_is_not_waited_for(
    own_bench: Bench, own_store: StoreProcess, tenant: str
) -> None:
    await own_bench.remembering.remember(tenant, SAID)
    recall = own_bench.recall_with(RecallSettings(answer_timeout=0.5))
    pid = own_store.pid
    assert pid is not None
    os.kill(pid, signal.SIGSTOP)
    try:
        started = time.monotonic()
        answer = await recall.answer(tenant, Query(text=QUESTION), NOW)
        assert time.monotonic() - started < 5
        assert (answer.memories, answer.degraded) == ((), ("search",))
    finally:
        os.kill(pid, signal.SIGCONT)
    answer = await own_bench.recall.answer(tenant, Query(text=QUESTION), NOW)
    assert texts(answer)[0] == SAID[0]
