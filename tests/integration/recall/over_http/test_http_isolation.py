"""Rows 1, 6 and 20: whatever two tenants, and two users of one tenant, hold and ask, no row crosses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.api import Caller

Calling = Callable[..., Caller]
OWNERS = ("t1/ada", "t1/ben", "t2/ada")
NAMES = st.sampled_from(["t", "T", "t1", "t\u00fc", "t:1", "a&b", "%", "t/1", "_", "*", '"', "{}"])
"""Threads, tags and words that are the same among all, and such as joined keys confuse (I-33, I-36, I-37)."""


class House:
    """Three owners who hold the same things under the same names; each text says whose it is."""

    def __init__(self, callers: dict[str, Caller]) -> None:
        self.callers = callers
        self.ids: dict[str, list[str]] = {owner: [] for owner in callers}
        self.tokens: dict[str, list[str]] = {owner: [] for owner in callers}

    async def hold(self, owner: str, thread: str, tag: str) -> None:
        said = await self.callers[owner].say(thread, uuid4().hex, f"the shared word of {owner}", tags=[tag])
        fact = await self.callers[owner].write("/v1/memories", {"content": f"a fact of {owner}", "tags": [tag]})
        self.ids[owner].append(fact["id"])
        self.tokens[owner] += [said["token"], fact["token"]]


@pytest.fixture
async def house(caller: Calling, tenant: str) -> House:
    one, two = f"{tenant}-1", f"{tenant}-2"
    for name in (one, two):
        await caller(tenants=(name,)).write("/v1/settings", {"required_scope": ["user"]})
    made = House(
        {
            "t1/ada": caller(tenants=(one,), scope={"user": "ada"}),
            "t1/ben": caller(tenants=(one,), scope={"user": "ben"}),
            "t2/ada": caller(tenants=(two,), scope={"user": "ada"}),
        }
    )
    for owner in OWNERS:
        for name in ("t", "t:1", "t/1"):
            await made.hold(owner, name, name)
    return made


ASKED = st.fixed_dictionaries(
    {},
    optional={
        "threads": st.lists(NAMES, min_size=1, max_size=2),
        "exclude_threads": st.lists(NAMES, min_size=1, max_size=2),
        "tags_any": st.lists(NAMES, min_size=1, max_size=2),
        "kinds": st.sampled_from([["episodic"], ["semantic"], ["episodic", "semantic"]]),
        "authors": st.just(["Ada"]),
        "min_importance": st.sampled_from([0.0, 0.5]),
    },
)


def own_only(answer: Any, owner: str) -> bool:
    """An answer names nobody else's texts; what was refused names none at all."""
    others = [other for other in OWNERS if other != owner]
    return not any(f"of {other}" in answer.text for other in others)


@settings(max_examples=40, database=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(OWNERS), ASKED, NAMES)
async def test_no_row_crosses_whatever_is_asked(house: House, owner: str, asked: dict[str, Any], thread: str) -> None:
    """Every read route, with the words, names and filters of all."""
    who = house.callers[owner]
    answers = [
        await who.post("/v1/recall", {"text": "the shared word, a fact", **asked}),
        await who.post("/v1/recall", asked),
        await who.get("/v1/memories", limit=3, **asked),
        await who.get("/v1/memories", status=["active", "candidate", "superseded"], sort="recorded", **asked),
        await who.get(f"/v1/threads/{quote(thread, safe='')}"),
        await who.get("/v1/stats"),
    ]
    for answer in answers:
        assert answer.status_code in {200, 404}, answer.text
        assert not any(f"of {other}" in answer.text for other in OWNERS if other != owner)
    assert answers[-1].json()["memories"] == 6
    if not asked:
        assert all(f"of {owner}" in answer.text for answer in answers[:4]), "everyone finds their own"


@pytest.mark.parametrize("owner", OWNERS)
async def test_of_others_ids_and_tokens_nothing_is_told(house: House, owner: str) -> None:
    who = house.callers[owner]
    for other in OWNERS:
        own = owner == other
        for id_ in house.ids[other]:
            assert (await who.get(f"/v1/memories/{id_}")).status_code == (200 if own else 404)
            if not own:
                assert (await who.post(f"/v1/memories/{id_}/pin")).status_code == 404
                assert (await who.post("/v1/forget", {"ids": [id_], "confirm": True})).status_code == 404
        for token in house.tokens[other]:
            assert (await who.get(f"/v1/writes/{token}")).status_code == (200 if own else 404)
