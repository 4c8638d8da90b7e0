"""A filter selects in the store what it means, and nothing it says lets another tenant's memory through."""

import asyncio
from collections.abc import Callable, Iterator
from uuid import uuid4

import httpx
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.condition_values import NOW, conditions, leaves, memory_fields
from support.naive_conditions import fulfils
from support.store_points import DIMENSION, fold_settings, memory, pid

from afterturn.consumers.store import filters
from afterturn.consumers.store.client import opened
from afterturn.consumers.store.collection import create_or_check
from afterturn.consumers.store.narrowing import narrowing
from afterturn.consumers.store.points import PointWrite
from afterturn.consumers.store.search import Search
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.write import WriteStore
from afterturn.schemas.conditions import Condition
from afterturn.schemas.points import Checkpoint, Memory

TENANTS = ("mine", "theirs")
EACH = 80
Select = Callable[[filters.Filter], set[str]]


@pytest.fixture(scope="module")
def memories() -> dict[str, Memory]:
    """Varied memories of two tenants, the same for both."""
    made: list[dict[str, object]] = []

    @settings(max_examples=EACH, database=None, phases=[Phase.generate], derandomize=True, deadline=None)
    @given(memory_fields())
    def collect(fields: dict[str, object]) -> None:
        made.append(fields)

    collect()
    return {
        pid(f"{tenant} {number}"): memory(tenant, number, number + 1, **fields)
        for tenant in TENANTS
        for number, fields in enumerate(made[:EACH])
    }


@pytest.fixture(scope="module")
def select(store_url: str, memories: dict[str, Memory]) -> Iterator[Select]:
    """Asks a store that holds them; strict mode is on."""
    store = StoreSettings(url=store_url, alias=f"alias-{uuid4().hex}")

    async def fill() -> None:
        async with opened(store) as client:
            assert await create_or_check(client, fold_settings()) == []
            writes = [PointWrite(id_, each) for id_, each in memories.items()]
            checkpoint = Checkpoint(partition=0, next=1_000)
            await WriteStore(client, dimension=DIMENSION, epoch=0).write(
                writes, previous=0, next_=1_000, checkpoint=checkpoint
            )

    asyncio.run(fill())
    with httpx.Client(base_url=f"{store_url}/collections/{store.alias}/points", timeout=30) as http:

        def ask(chosen: filters.Filter) -> set[str]:
            answer = http.post("/scroll", json={"filter": chosen, "limit": 1_000, "with_payload": False})
            assert answer.is_success, answer.text
            return {point["id"] for point in answer.json()["result"]["points"]}

        yield ask


LAW = settings(max_examples=150, deadline=None)


@LAW
@given(leaves().map(Condition.model_validate) | conditions())
def test_the_store_selects_what_a_filter_means(
    select: Select, memories: dict[str, Memory], condition: Condition
) -> None:
    """Rows 56, 57: the algebra and its fields, against a plain predicate."""
    chosen = filters.all_of(filters.match("point", "memory"), narrowing(condition, NOW))
    assert select(chosen) == {id_ for id_, each in memories.items() if fulfils(each, condition, NOW)}


@LAW
@given(conditions(), st.sampled_from(TENANTS))
def test_a_filter_only_narrows(select: Select, memories: dict[str, Memory], condition: Condition, tenant: str) -> None:
    """Rows 32, 56: no filter brings back what another rule hides: a tenant's, a status's, what has expired."""
    plain = filters.all_of(*filters.searched(Search(tenant=tenant, as_of=NOW)))
    narrowed = filters.searched(Search(tenant=tenant, as_of=NOW, where=narrowing(condition, NOW)))
    found = select(filters.all_of(*narrowed))
    assert found <= select(plain)
    assert {memories[id_].tenant for id_ in found} <= {tenant}
    assert {memories[id_].status for id_ in found} <= {"active"}


def test_what_holds_at_an_instant(select: Select, memories: dict[str, Memory]) -> None:
    """Rows 35, 41: valid from then on, until before; expired and invalidated at that instant is over."""
    for day in sorted({each.valid_from for each in memories.values() if each.valid_from}):
        found = select(filters.all_of(*filters.searched(Search(tenant="mine", as_of=day))))
        assert found == {
            id_
            for id_, each in memories.items()
            if (each.tenant, each.status) == ("mine", "active")
            and (each.valid_from is None or each.valid_from <= day)
            and all(end is None or day < end for end in (each.valid_to, each.expires_at, each.invalidated_at))
        }
