"""Reading one's own writes: a query waits for its token, and only so long."""

import asyncio
import time
from uuid import uuid4

import pytest
from support.recall_bench import NOW, Bench, texts
from support.remembered import Said

from afterturn.consumers.recall.answering.arrivals import tenant_partition
from afterturn.consumers.recall.answering.engine import SERVED
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.errors import ContractError
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Outcome, Receipt
from afterturn.schemas.query import Query
from afterturn.schemas.token import Token

QUICK = RecallSettings(after_wait=0.3)
OFFSET = 1_000_000
"""Beyond every offset another test of this store writes."""


def coming(bench: Bench, tenant: str, offset: int) -> Token:
    """The token of a command that is still on its way."""
    return Token(0, tenant_partition(tenant, bench.remembering.fold), offset, str(uuid4()))


def point(bench: Bench, tenant: str, token: Token, ordinal: int, added: int) -> PointWrite:
    """One of the memories of a command; ordinal 0 is its receipt."""
    fields = {"ordinal": ordinal, "position": ordinal}
    if ordinal:
        fields["outcome"] = None  # type: ignore[assignment]
    else:
        fields["outcome"] = Outcome(event="memory.recorded.v1", counts={"added": added})  # type: ignore[assignment]
    memory = bench.remembering.memory(tenant, Said(f"part {ordinal}", fields=fields), token.offset)
    return PointWrite(token.receipt if ordinal == 0 else str(uuid4()), memory, [1.0] * 256)


async def test_a_query_waits_until_its_turn_is_there(bench: Bench, tenant: str) -> None:
    token = coming(bench, tenant, OFFSET)
    asking = asyncio.create_task(bench.recall.answer(tenant, Query(text="Which part?", after=str(token)), NOW))
    done, _ = await asyncio.wait({asking}, timeout=0.3)
    assert not done
    await bench.remembering.put([point(bench, tenant, token, 0, 1)], token.partition, OFFSET)
    answer = await asking
    assert texts(answer) == ["part 0"]
    assert answer.degraded == ()


async def test_a_batch_that_shows_in_pieces_is_awaited_whole(bench: Bench, tenant: str) -> None:
    """The checkpoint and the receipt can be there before the command's other points are."""
    token = coming(bench, tenant, OFFSET + 10)
    await bench.remembering.put([point(bench, tenant, token, 0, 3)], token.partition, token.offset)
    query = Query(text="Which part?", after=str(token))
    first = await bench.recall_with(QUICK).answer(tenant, query, NOW)
    assert first.degraded == ("after",)
    assert texts(first) == ["part 0"], "what is there is answered"
    rest = [point(bench, tenant, token, ordinal, 3) for ordinal in (1, 2)]
    await bench.remembering.put(rest, token.partition, token.offset + 1)
    whole = await bench.recall.answer(tenant, query, NOW)
    assert whole.degraded == ()
    assert len(whole.memories) == 3


async def test_the_receipt_of_a_skipped_turn_is_an_arrival(bench: Bench, tenant: str) -> None:
    token = coming(bench, tenant, OFFSET + 20)
    rev = rev_of(0, token.offset)
    outcome = Outcome(event="memory.skipped.v1", operation="memory.record", reason="blank")
    receipt = Receipt(partition=token.partition, born=rev, rev=rev, tenant=tenant, outcome=outcome, digest="0" * 32)
    await bench.remembering.put([PointWrite(token.receipt, receipt)], token.partition, token.offset)
    answer = await bench.recall.answer(tenant, Query(text="anything", after=str(token)), NOW)
    assert answer.degraded == ()


async def test_a_turn_published_twice_has_arrived_with_the_first(bench: Bench, tenant: str) -> None:
    (first,) = await bench.remembering.remember(tenant, ["It was said once"])
    again = Token(0, first.partition, OFFSET + 30, first.receipt)
    await bench.remembering.put([], again.partition, again.offset)
    answer = await bench.recall.answer(tenant, Query(text="What was said?", after=str(again)), NOW)
    assert answer.degraded == ()
    assert texts(answer) == ["It was said once"]


async def test_what_does_not_come_in_time_is_lacking_and_the_rest_is_answered(bench: Bench, tenant: str) -> None:
    await bench.remembering.remember(tenant, ["What was known before"])
    token = coming(bench, tenant, OFFSET * 1_000)
    started = time.monotonic()
    answer = await bench.recall_with(QUICK).answer(tenant, Query(text="known", after=str(token)), NOW)
    assert time.monotonic() - started >= 0.3
    assert answer.degraded == ("after",)
    assert texts(answer) == ["What was known before"]


async def test_a_receipt_of_another_tenant_looks_like_one_that_never_comes(bench: Bench, tenant: str) -> None:
    """Whoever can compute another's receipt id learns nothing by asking for it."""
    fold = bench.remembering.fold
    other = next(o for n in range(99) if tenant_partition(o := f"{tenant}-{n}", fold) == tenant_partition(tenant, fold))
    (theirs,) = await bench.remembering.remember(other, ["A secret of theirs"])
    recall = bench.recall_with(QUICK)
    known = await recall.answer(tenant, Query(text="secret", after=str(theirs)), NOW)
    unknown = Token(0, theirs.partition, theirs.offset, str(uuid4()))
    never = await recall.answer(tenant, Query(text="secret", after=str(unknown)), NOW)
    assert known.degraded == never.degraded == ("after",)
    assert known.memories == never.memories == ()


@pytest.mark.parametrize("wrong", ["partition", "epoch", "text"])
async def test_a_token_that_cannot_be_of_this_tenant_is_refused_at_once(bench: Bench, tenant: str, wrong: str) -> None:
    token = coming(bench, tenant, 5)
    text = {
        "partition": str(Token(0, (token.partition + 1) % 3, 5, token.receipt)),
        "epoch": str(Token(1, token.partition, 5, token.receipt)),
        "text": "not a token",
    }[wrong]
    with pytest.raises(ContractError) as refused:
        await bench.recall.answer(tenant, Query(text="anything", after=text), NOW)
    assert refused.value.place == "after"


async def test_authors_of_the_awaited_turn_are_known_at_once(bench: Bench, tenant: str) -> None:
    """The tenant's state is remembered for a second: a query that waits for its turn reads it anew."""
    await bench.ask(tenant, "Nobody is known yet")
    tokens = await bench.remembering.remember(tenant, [Said("I like tea", "Ada"), Said("I like tea", "Ben")])
    query = Query(text="What does Ben like?", after=str(tokens[-1]), explain=True)
    answer = await bench.recall.answer(tenant, query, NOW)
    assert answer.memories[0].author == "Ben"
    assert answer.memories[0].parts is not None
    assert answer.memories[0].parts.author == SERVED.author


async def test_a_turn_published_again_has_not_arrived_before_its_place_on_the_log(bench: Bench, tenant: str) -> None:
    """What was published between the two is awaited with it."""
    (first,) = await bench.remembering.remember(tenant, ["It was said once"])
    again = Token(0, first.partition, OFFSET * 1_000, first.receipt)
    answer = await bench.recall_with(QUICK).answer(tenant, Query(text="What was said?", after=str(again)), NOW)
    assert answer.degraded == ("after",)
