"""Row 69 and I-69, I-70, I-56: browsing page by page, each memory once, within what the caller may see."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import uuid4

import pytest
from support.api import Caller, problem
from support.log import until

Calling = Callable[..., Caller]
AT = "2026-03-01T12:00:00Z"


async def page(caller: Caller, **params: Any) -> dict[str, Any]:
    answer = await caller.get("/v1/memories", **params)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def paged(caller: Caller, **params: Any) -> list[dict[str, Any]]:
    """Every page one after the other; a full one has a cursor, and the last is not full."""
    found: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    while True:
        read = await page(caller, **params, **cursor)
        found += read["memories"]
        assert ("cursor" in read) == (len(read["memories"]) == read["limit"])
        if "cursor" not in read:
            return found
        cursor = {"cursor": read["cursor"]}


async def many(caller: Caller, count: int, thread: str = "t", **fields: Any) -> None:
    """Messages of one instant: nothing but their ids orders them."""
    for start in range(0, count, 200):
        texts = [f"message {n}" for n in range(start, min(start + 200, count))]
        assert (await caller.say(thread, str(start), *texts, **fields))["status"] == "visible"


async def test_all_come_once_however_many_are_equal(caller: Calling) -> None:
    """I-69: 1,234 memories of one instant, page 100: all, once each, stable under equal times."""
    ada = caller()
    await many(ada, 1_234)
    found = await paged(ada, limit=100)
    assert sorted(m["text"] for m in found) == sorted(f"message {n}" for n in range(1_234))
    assert [m["id"] for m in found] == sorted(m["id"] for m in found)
    assert [m["id"] for m in await paged(ada, limit=617)] == [m["id"] for m in found], "pages may have any size"
    capped = await page(ada, limit=5_000)
    assert (len(capped["memories"]), capped["limit"], capped["max_limit"]) == (1_000, 1_000, 1_000), "I-70"
    assert (capped["total"], capped["total_exact"]) == (1_234, True)
    assert capped["cursor"]


async def test_an_exact_multiple_ends_with_an_empty_page(caller: Calling) -> None:
    """Row 69."""
    ada = caller()
    await many(ada, 6)
    first = await page(ada, limit=3)
    second = await page(ada, limit=3, cursor=first["cursor"])
    third = await page(ada, limit=3, cursor=second["cursor"])
    assert [len(each["memories"]) for each in (first, second, third)] == [3, 3, 0]
    assert "cursor" not in third
    assert third["total"] == 6


@pytest.mark.parametrize("sort", ["newest", "oldest", "recorded", "important"])
async def test_every_order_is_whole_and_by_id_among_equals(caller: Calling, sort: str) -> None:
    """I-56: newest is by event time, the id decides between equals."""
    ada = caller()
    for n in range(7):
        at = f"2026-03-0{1 + n % 3}T12:00:00.00{n % 2}Z"
        messages = [{"role": "user", "content": f"{n} {m}", "importance": (n + m) % 3 / 2} for m in range(3)]
        await ada.say("t", str(n), occurred_at=at, messages=messages)
    found = await paged(ada, sort=sort, limit=2)
    assert len({m["id"] for m in found}) == len(found) == 21
    key = {"newest": "occurred_at", "oldest": "occurred_at", "recorded": "recorded_at", "important": "importance"}[sort]
    values = [m[key] for m in found]
    moments = values if sort == "important" else [datetime.fromisoformat(value) for value in values]
    assert moments == sorted(moments, reverse=sort != "oldest")
    if sort != "recorded":  # by the log's order; several share a moment
        for value in set(values):
            ids = [m["id"] for m in found if m[key] == value]
            assert ids == sorted(ids)


async def test_a_cursor_belongs_to_its_filters(caller: Calling, tenant: str) -> None:
    """Row 69: a changed filter or order is refused; so is another tenant's cursor, and what is none."""
    ada = caller()
    await many(ada, 4)
    cursor = (await page(ada, limit=2, kinds="episodic"))["cursor"]
    assert (await page(ada, limit=3, kinds="episodic", cursor=cursor))["memories"]
    other = caller(tenants=(f"{tenant}-other",))
    for who, params in (
        (ada, {}),
        (ada, {"kinds": "semantic"}),
        (ada, {"kinds": "episodic", "sort": "oldest"}),
        (ada, {"kinds": "episodic", "scope.user": "ada"}),
        (other, {"kinds": "episodic"}),
        (caller(scope={"user": "ada"}), {"kinds": "episodic"}),
    ):
        assert problem(await who.get("/v1/memories", cursor=cursor, **params), 422)["field"] == "cursor"
    for broken in ("x", "", "é", cursor[:-3], cursor + "AAAA", "bnVsbA", "W10"):
        answer = await ada.get("/v1/memories", cursor=broken, kinds="episodic")
        assert problem(answer, 422)["field"] == "cursor", broken


async def test_pages_hold_while_memories_come_and_go(caller: Calling) -> None:
    ada = caller()
    await many(ada, 6)
    first = await page(ada, limit=3, sort="oldest")
    gone = first["memories"][-1]["id"]
    assert (await ada.delete(f"/v1/memories/{gone}", wait=20)).json()["status"] == "visible"
    await ada.remember("Later than all")
    rest = await page(ada, limit=10, sort="oldest", cursor=first["cursor"])
    seen = [m["id"] for m in first["memories"] + rest["memories"]]
    assert len(set(seen)) == len(seen) == 7


async def test_filters_restrict(caller: Calling) -> None:
    """I-46f: a comma in a tag is a comma. I-31: a filter that matches nothing shows nothing."""
    ada = caller()
    await ada.say("a", "1", "in a", scope={"user": "u1"}, occurred_at="2026-01-01T00:00:00Z")
    await ada.say("b", "1", "in b", scope={"user": "u2"})
    key = {"key": "pet"}
    await ada.remember("A cat", tags=["Paris, France"], type="entity", importance=0.9, **key)
    await ada.remember("A dog", tags=["Paris"], type="entity", importance=0.9, **key)
    await ada.remember("A maybe", mode="candidate")
    await ada.remember("Old news", expires_at="2020-01-01T00:00:00Z")

    async def texts(**params: Any) -> list[str]:
        found = await page(ada, **params)
        assert found["total"] == len(found["memories"])
        return sorted(m["text"] for m in found["memories"])

    assert await texts() == ["A dog", "in a", "in b"]
    assert await texts(include_expired="true") == ["A dog", "Old news", "in a", "in b"]
    assert await texts(status=["superseded", "candidate"]) == ["A cat", "A maybe"]
    assert await texts(tags_any="Paris, France", status="superseded") == ["A cat"]
    assert await texts(tags_any=["Paris", "Rome"]) == ["A dog"]
    assert await texts(kinds="episodic") == ["in a", "in b"]
    assert await texts(kinds=["episodic", "semantic"]) == ["A dog", "in a", "in b"]
    assert await texts(types="entity") == ["A dog"]
    assert await texts(threads="a") == ["in a"]
    assert await texts(exclude_threads="a", kinds="episodic") == ["in b"]
    assert await texts(authors="Ada") == ["in a", "in b"]
    assert await texts(min_importance="0.8") == ["A dog"]
    assert await texts(until="2026-02-01") == ["in a"]
    assert await texts(since="-7d", kinds="episodic") == []
    assert await texts(**{"scope.user": "u1"}) == ["in a"]
    assert await texts(**{"scope.user": "nobody"}) == []


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("limit=0", "limit"),
        ("limit=-1", "limit"),
        ("limit=true", "limit"),
        ("limit=abc", "limit"),
        ("limit=1.5", "limit"),
        ("limit=٣", "limit"),
        ("limit=1&limit=2", "limit"),
        ("status=deleted", "status"),
        ("status=", "status"),
        ("kinds=fact", "kinds.0"),
        ("kinds=", "kinds.0"),
        ("since=yesterday", "since"),
        ("since=0000-01-01", "since"),
        ("min_importance=7", "min_importance"),
        ("min_importance=nan", "min_importance"),
        ("min_importance=x", "min_importance"),
        ("sort=random()", "sort"),
        ("scope.user=", "scope.user"),
        ("scope.user=a&scope.user=b", "scope.user"),
        ("scope.team=a", "scope.team"),
        ("scope[user][$ne]=", "?"),
        ("include_expired=1", "include_expired"),
        ("text=x", "text"),
        ("tags_any=" + "x" * 129, "tags_any.0"),
    ],
)
async def test_bad_parameters_are_refused_by_name(caller: Calling, query: str, field: str) -> None:
    """I-34 and others."""
    assert problem(await caller().get(f"/v1/memories?{query}"), 422)["field"] == field


async def test_one_memory_is_shown_to_whom_it_belongs(caller: Calling, tenant: str) -> None:
    """Rows 1, 20: another tenant's and another scope's are as if they were not there."""
    ada, other = caller(), caller(tenants=(f"{tenant}-other",))
    scoped = caller(scope={"user": "ada"})
    id_ = await scoped.remember(
        "Ada has a dog.",
        type="entity",
        data={"name": "Rex"},
        key="pet",
        source={"type": "human", "id": "form"},
        entities=[{"span": "Ada", "type": "person"}],
    )
    for who in (ada, scoped):
        shown = (await who.get(f"/v1/memories/{id_}")).json()
        assert (shown["id"], shown["text"], shown["status"]) == (id_, "Ada has a dog.", "active")
        assert (shown["scope"], shown["data"], shown["key"]) == ({"user": "ada"}, {"name": "Rex"}, "pet")
        assert (shown["source"], shown["entities"][0]["span"]) == ({"type": "human", "id": "form"}, "Ada")
        assert not {"tenant", "partition", "born", "rev", "digest", "outcome", "evict_key"} & set(shown)
    ben = caller(scope={"user": "ben"})
    for who, path in ((other, id_), (ben, id_), (ada, str(uuid4())), (ada, "x"), (ada, id_.upper()), (ada, "%2e%2e")):
        assert problem(await who.get(f"/v1/memories/{path}"), 404)["problem"] == "there is no such memory"
    assert problem(await ada.get(f"/v1/memories/{id_}", **{"scope.user": "ben"}), 404)
    assert problem(await scoped.get(f"/v1/memories/{id_}", **{"scope.user": "ben"}), 403)
    await scoped.delete(f"/v1/memories/{id_}", wait=20)
    assert problem(await ada.get(f"/v1/memories/{id_}"), 404)


async def test_a_thread_is_read_in_order_with_its_gaps(caller: Calling) -> None:
    """Long messages are whole again, what was removed is a gap, and another scope's thread is another thread."""
    ada = caller()
    long = "".join(f"Sentence number {n} of a long one. " for n in range(300))
    await ada.say("t/1 ü", "1", "first", long, "third")
    await ada.say("t/1 ü", "1", "hers", scope={"user": "ada"})
    await ada.say("t/1 ü", "2", "fourth")

    async def read(**params: Any) -> dict[str, Any]:
        answer = await ada.get("/v1/threads/t%2F1%20%C3%BC", **params)
        assert answer.status_code == 200, answer.text
        found: dict[str, Any] = answer.json()
        return found

    whole = await read()
    assert [m["text"] for m in whole["messages"]] == ["first", long, "third", "fourth"]
    assert [m["position"] for m in whole["messages"]] == [0, 1, 2, 3]
    assert len(whole["messages"][1]["ids"]) > 1
    assert (whole["total"], whole["thread"], "next" in whole) == (4, "t/1 ü", False)
    assert [m["text"] for m in (await read(**{"scope.user": "ada"}))["messages"]] == ["hers"]
    await ada.delete(f"/v1/memories/{whole['messages'][2]['ids'][0]}", wait=20)
    await ada.delete(f"/v1/memories/{whole['messages'][1]['ids'][0]}", wait=20)
    first = await read(limit=2)
    assert first["next"] == 2
    assert first["messages"][1]["missing_parts"] == 1
    second = await read(limit=2, **{"from": first["next"]})
    assert second["messages"][0] == {"position": 2, "removed": "deleted", "ids": [], "tags": []}
    assert second["messages"][1]["text"] == "fourth"
    assert "next" not in second
    assert (await read(**{"from": 10**9}))["messages"] == []
    assert problem(await ada.get("/v1/threads/t%2F1%20%C3%BC", **{"scope.user": "ben"}), 404)
    assert problem(await ada.get("/v1/threads/other"), 404)
    for bad in ("-1", "x", "true", "1" * 20):
        assert problem(await ada.get("/v1/threads/t", **{"from": bad}), 422)["field"] == "from"


async def test_stats_agree_with_what_is_there(caller: Calling, tenant: str) -> None:
    """I-76: also after an erasure."""
    ada, scoped = caller(), caller(scope={"user": "ada"})
    await many(ada, 3)
    id_ = await scoped.remember("Hers", type="entity")
    await ada.remember("Perhaps", mode="candidate")
    await ada.write(f"/v1/memories/{id_}/pin")
    found = (await ada.get("/v1/stats")).json()
    assert found == {
        "tenant": tenant,
        "scope": {},
        "memories": 5,
        "by_status": {"active": 4, "candidate": 1},
        "by_kind": {"episodic": 3, "semantic": 2},
        "by_type": {"conversation": 3, "entity": 1},
        "pinned": 1,
        "bounds": {"max_memories": 2_000},
    }
    assert (await scoped.get("/v1/stats")).json()["by_kind"] == {"semantic": 1}
    assert (await ada.get("/v1/stats", **{"scope.user": "ben"})).json()["memories"] == 0
    await ada.write("/v1/settings", {"bounds": {"max_memories": 50}})

    async def bounded() -> bool:
        answer = (await ada.get("/v1/stats")).json()
        return bool(answer["bounds"] == {"max_memories": 50})

    await until(bounded)
    await ada.write("/v1/erase", {"confirm": tenant})
    assert (await ada.get("/v1/stats")).json()["memories"] == 0
    assert (await page(ada, status=["active", "candidate", "superseded"]))["total"] == 0


async def test_tenants_are_listed_for_operators(caller: Calling, tenant: str) -> None:
    """I-81, I-82: recalling makes no tenant, and an erased one is no longer listed."""
    names = [f"{tenant}-{n}" for n in range(3)]
    for name in names:
        await caller(tenants=(name,)).remember("x")
    operator = caller(tenants=(), all_tenants=True, rights=("read", "admin"))
    await operator.client.post("/v1/recall", headers=operator.headers | {"Afterturn-Tenant": f"{tenant}-x"}, json={})

    async def listed(who: Caller, **params: Any) -> set[str]:
        found: set[str] = set()
        cursor: dict[str, str] = {}
        while True:
            answer = (await who.get("/v1/tenants", limit=1, **params, **cursor)).json()
            found |= {row["tenant"] for row in answer["tenants"]}
            if "cursor" not in answer:
                return {name for name in found if name.startswith(tenant)}
            cursor = {"cursor": answer["cursor"]}

    assert await listed(operator) == set(names)
    assert await listed(caller(tenants=(names[0], "nobody"), rights=("admin",))) == {names[0]}
    await caller(tenants=(names[1],)).write("/v1/erase", {"confirm": names[1]})
    assert await listed(operator) == {names[0], names[2]}
    assert await listed(operator, all="true") == set(names)
    assert "admin" in problem(await caller(rights=("read",)).get("/v1/tenants"), 403)["problem"]
    assert problem(await caller(scope={"user": "ada"}).get("/v1/tenants"), 403)
    assert problem(await operator.get("/v1/tenants", cursor="x"), 422)["field"] == "cursor"


async def test_required_dimensions_hold_for_every_read(caller: Calling) -> None:
    """Row 6: memory unavailable, whatever is asked."""
    all_, ada = caller(), caller(scope={"user": "ada"})
    id_ = await ada.remember("Ada likes tea")
    await ada.say("t", "1", "hello")
    assert (await all_.write("/v1/settings", {"required_scope": ["user"]}))["status"] == "visible"

    async def refused() -> bool:
        return (await all_.get("/v1/stats")).status_code == 422

    await until(refused)
    for path in ("/v1/memories", f"/v1/memories/{id_}", "/v1/threads/t", "/v1/stats"):
        assert problem(await all_.get(path), 422)["problem"] == "memory unavailable: user"
        assert (await all_.get(path, **{"scope.user": "ada"})).status_code == 200
        assert (await ada.get(path)).status_code == 200
