"""What became of a write, from its receipt: nothing is called visible before it is, whole."""

from __future__ import annotations

from itertools import count
from uuid import uuid4

import pytest
from support.recall_bench import Bench
from support.remembered import Said

from afterturn.consumers.recall.answering.arrivals import tenant_partition
from afterturn.consumers.recall.writes import Writes, known_token, marked
from afterturn.consumers.store.points import PointWrite
from afterturn.schemas.commands import Remember
from afterturn.schemas.ids import content_digest, rev_of
from afterturn.schemas.parts import Source
from afterturn.schemas.points import Outcome, Receipt
from afterturn.schemas.scope import Scope
from afterturn.schemas.token import Token

OFFSETS = count(50_000_000)
"""Beyond every offset another test of this store writes."""
ANYONE = Scope()


def fact(tenant: str, content: str = "x") -> Remember:
    return Remember(tenant=tenant, content=content, source=Source(type="tool", id="t"))


def coming(bench: Bench, tenant: str, content: str = "x") -> Token:
    """The token of a fact that is on its way."""
    place = Token(0, tenant_partition(tenant, bench.remembering.fold), next(OFFSETS), str(uuid4()))
    return marked(place, tenant, fact(tenant, content))


def receipt(token: Token, tenant: str, outcome: Outcome, *, born: int | None = None, digest: str | None) -> PointWrite:
    rev = rev_of(0, token.offset) if born is None else born
    made = Receipt(partition=token.partition, born=rev, rev=rev, tenant=tenant, outcome=outcome, digest=digest)
    return PointWrite(token.receipt, made)


async def test_a_command_in_pieces_is_accepted_until_it_is_whole(bench: Bench, tenant: str) -> None:
    """I-47: the checkpoint and the receipt can be there before the command's other points are."""
    writes, token = Writes(bench.seams.store, bench.remembering.fold), coming(bench, tenant)
    before = await writes.status(tenant, ANYONE, token)
    assert before is not None
    assert before.status == "accepted"
    outcome = Outcome(event="memory.recorded.v1", counts={"added": 3})

    def part(ordinal: int) -> PointWrite:
        fields = {"ordinal": ordinal, "position": ordinal, "outcome": None if ordinal else outcome}
        memory = bench.remembering.memory(tenant, Said(f"part {ordinal}", fields=fields), token.offset)
        return PointWrite(str(uuid4()) if ordinal else token.receipt, memory, [1.0] * 256)

    for ordinals, status in (((0,), "accepted"), ((1, 2), "visible")):
        await bench.remembering.put([part(n) for n in ordinals], token.partition, token.offset + max(ordinals))
        found = await writes.status(tenant, ANYONE, token)
        assert found is not None
        assert found.status == status
        assert found.counts == ({"added": 3} if status == "visible" else None)
    assert await writes.status(tenant, Scope(user="ben"), token) is None, "out of scope"


@pytest.mark.parametrize(
    ("outcome", "earlier", "content", "status", "reason"),
    [
        (Outcome(event="memory.skipped.v1", reason="stale"), False, "x", "skipped", "stale"),
        (Outcome(event="memory.skipped.v1", reason="dead_letter"), False, "x", "dead_lettered", "dead_letter"),
        (Outcome(event="memory.forgotten.v1", counts={"forgotten": 2}), False, "x", "visible", None),
        (Outcome(event="memory.skipped.v1", reason="stale"), True, "x", "duplicate", None),
        (Outcome(event="memory.recorded.v1"), True, "another", "conflict", None),
        (Outcome(event="memory.recorded.v1"), True, None, "duplicate", None),
    ],
    ids=["skipped", "dead", "visible", "duplicate", "conflict", "erased"],
)
async def test_the_receipt_says_how_it_ended(
    bench: Bench, tenant: str, outcome: Outcome, earlier: bool, content: str | None, status: str, reason: str | None
) -> None:
    """``earlier``: another command has that receipt, of this content; an erased one has lost its digest."""
    writes, token = Writes(bench.seams.store, bench.remembering.fold), coming(bench, tenant)
    digest = None if content is None else content_digest(fact(tenant, content))
    born = rev_of(0, token.offset) - 1 if earlier else None
    point = receipt(token, tenant, outcome, born=born, digest=digest)
    await bench.remembering.put([point], token.partition, token.offset)
    found = await writes.status(tenant, ANYONE, token)
    assert found is not None
    assert (found.status, found.reason) == (status, reason)


async def test_what_was_collected_or_never_written_is_unknown(bench: Bench, tenant: str) -> None:
    writes, token = Writes(bench.seams.store, bench.remembering.fold), coming(bench, tenant)
    await bench.remembering.put([], token.partition, token.offset)
    assert await writes.status(tenant, ANYONE, token) is None


async def test_a_marked_token_is_of_its_tenant_alone(bench: Bench, tenant: str) -> None:
    fold, token = bench.remembering.fold, coming(bench, tenant)
    assert known_token(tenant, str(token), fold) == token
    neighbour = next(
        name for n in range(99) if tenant_partition(name := f"{tenant}-{n}", fold) == tenant_partition(tenant, fold)
    )
    assert known_token(neighbour, str(token), fold) is None
    for text in ("", "x", str(token)[:-1], str(token) + "0"):
        assert known_token(tenant, text, fold) is None
