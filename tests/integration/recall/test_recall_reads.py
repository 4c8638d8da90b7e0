"""The reads recall adds to the store's: each gives what it says, and nothing of another tenant or scope."""

from support.recall_bench import NOW, Bench
from support.remembered import Said

from afterturn.consumers.recall.answering.arrivals import tenant_partition
from afterturn.consumers.store.answers import SHOWN_FIELDS
from afterturn.consumers.store.search import Search, Window
from afterturn.consumers.text import lexical
from afterturn.schemas.scope import Scope

ANN, BOB, NOBODY = Scope(user="ann"), Scope(user="bob"), Scope()


async def test_places_are_those_of_one_thread_in_one_scope(bench: Bench, tenant: str) -> None:
    said = [Said(f"{scope.user} {n}", thread="talk", scope=scope) for scope in (ANN, BOB, NOBODY) for n in range(6)]
    await bench.remembering.remember(tenant, said)
    await bench.remembering.remember(
        f"{tenant}-other", [Said(f"other {n}", thread="talk", scope=ANN) for n in range(6)]
    )
    store, search = bench.seams.store, Search(tenant=tenant, as_of=NOW)
    for places, expected in (
        ([Window("talk", ANN, 1, 2)], {"ann 1", "ann 2"}),
        ([Window("talk", NOBODY, 0, 0)], {"None 0"}),
        (
            [Window("talk", ANN, 4, 99), Window("talk", BOB, 0, 0), Window("talk", ANN, 0, 0)],
            {"ann 4", "ann 5", "bob 0", "ann 0"},
        ),
        ([Window("elsewhere", ANN, 0, 9)], set()),
        ([], set()),
    ):
        assert {hit.payload["content"] for hit in await store.around(search, places)} == expected
    narrowed = Search(tenant=tenant, scope=(("user", "bob"),), as_of=NOW)
    assert await store.around(narrowed, [Window("talk", ANN, 0, 9)]) == []


async def test_hits_carry_all_an_answer_shows(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [Said("The train to Kyoto", fields={"tags": ("trip",)})])
    words = lexical.query("train")
    vector = await bench.seams.embedder.embed_query("train")
    found = await bench.seams.store.hits(Search(tenant=tenant), vector, (words.indices, words.values), 5)
    for hits in (found.dense, found.lexical):
        (hit,) = hits
        assert set(hit.payload) <= set(SHOWN_FIELDS)
        assert hit.payload["content"] == "The train to Kyoto"
        assert hit.payload["tags"] == ["trip"]


async def test_the_newest_come_in_the_order_they_happened(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, [f"note {n}" for n in range(8)])
    newest = await bench.seams.store.newest(Search(tenant=tenant), 3)
    assert [hit.payload["content"] for hit in newest] == ["note 7", "note 6", "note 5"]


async def test_checkpoints_are_read_together(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, ["anything"])
    mine = tenant_partition(tenant, bench.remembering.fold)
    store = bench.seams.store
    found = await store.checkpoints(range(1_000))
    assert mine in found
    assert found[mine] == await store.checkpoint(mine)
    assert set(found) <= {0, 1, 2}
    assert await store.checkpoints([]) == {}
