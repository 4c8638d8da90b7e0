"""The small parts of the recall service: what it remembers, refuses, asks for and shows."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, generate_latest

from afterturn.consumers.recall import metrics as names
from afterturn.consumers.recall.answering.arrivals import tenant_partition, token_of
from afterturn.consumers.recall.answering.asking import search_of
from afterturn.consumers.recall.answering.outcomes import Reply, event_of
from afterturn.consumers.recall.answering.showing import found_by
from afterturn.consumers.recall.answering.states import TenantStates
from afterturn.consumers.recall.metrics import RecallMetrics
from afterturn.consumers.recall.ranking.pool import Pool, candidate_of, thread_key
from afterturn.consumers.recall.settings import RecallSettings, require_loopback
from afterturn.consumers.recall.watching import behind
from afterturn.consumers.recall.web.app import TurnOverHttp
from afterturn.consumers.recall.web.documenting import document
from afterturn.consumers.store.read import Hit, SearchHits
from afterturn.schemas.errors import ContractError
from afterturn.schemas.events import Recalled, Skipped
from afterturn.schemas.ids import rev_of
from afterturn.schemas.points import Checkpoint, TenantState
from afterturn.schemas.query import Query
from afterturn.schemas.scope import Scope
from afterturn.schemas.settings import FoldSettings
from afterturn.schemas.token import Token
from afterturn.streams.errors import BadSettings

NOW = datetime(2026, 4, 1, 12, tzinfo=UTC)
FOLD = FoldSettings(embedder="e", dimension=4, topic="t", partitions=12, group="g", epoch=2)
RECEIPT = "00000000-0000-0000-0000-000000000000"


class Reading:
    """Counts what is read of tenants."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.time = 0.0
        self.away = False

    async def read(self, tenant: str) -> TenantState | None:
        self.asked.append(tenant)
        if self.away:
            raise ConnectionError
        return None if tenant == "nobody" else TenantState(partition=0, born=0, rev=0, tenant=tenant)


async def test_a_tenants_state_is_read_once_a_second() -> None:
    reading = Reading()
    states = TenantStates(reading.read, seconds=1, entries=10, clock=lambda: reading.time)
    for _ in range(3):
        state = await states.get("ann")
        assert state is not None
        assert state.tenant == "ann"
        assert await states.get("nobody") is None
    assert reading.asked == ["ann", "nobody"]
    reading.time = 1.0
    await states.get("ann")
    assert reading.asked == ["ann", "nobody", "ann"]
    await states.get("ann", fresh=True)
    assert reading.asked[-2:] == ["ann", "ann"]


async def test_remembered_states_are_bounded_and_failures_are_not_remembered() -> None:
    reading = Reading()
    states = TenantStates(reading.read, seconds=1, entries=2, clock=lambda: reading.time)
    for tenant in ("a", "b", "c", "b", "c", "a"):
        await states.get(tenant)
    assert reading.asked == ["a", "b", "c", "a"]
    reading.away = True
    with pytest.raises(ConnectionError):
        await states.get("d")
    reading.away = False
    assert await states.get("d") is not None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "::1", "localhost"])
def test_loopback_is_where_it_may_listen(host: str) -> None:
    require_loopback(host)


@pytest.mark.parametrize(
    "host", ["0.0.0.0", "::", "10.0.0.1", "example.org", "localhost.example.org", "", "::ffff:10.0.0.1"]
)
def test_anywhere_else_it_may_not(host: str) -> None:
    with pytest.raises(BadSettings, match="AFTERTURN_RECALL_HOST"):
        require_loopback(host)


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AFTERTURN_RECALL_PORT", "9000")
    monkeypatch.setenv("AFTERTURN_RECALL_AFTER_WAIT", "1.5")
    settings = RecallSettings()
    assert (settings.port, settings.after_wait, settings.host) == (9000, 1.5, "127.0.0.1")


def test_a_search_takes_every_time_from_one_now() -> None:
    search = search_of("ann", Query(text="x", since="-7d", until="-1d"), NOW)
    assert (search.since, search.until, search.as_of) == (NOW - timedelta(days=7), NOW - timedelta(days=1), NOW)
    assert search.statuses == ("active",)


@pytest.mark.parametrize(
    ("until", "expected"),
    [(None, "2026-01-01T00:00:00.000001Z"), ("2025-12-01T00:00:00Z", "2025-12-01T00:00:00Z")],
)
def test_as_of_leaves_out_what_came_later(until: str | None, expected: str) -> None:
    query = Query(text="x", until=until, as_of=datetime(2026, 1, 1, tzinfo=UTC))
    search = search_of("ann", query, NOW)
    assert search.until == datetime.fromisoformat(expected)
    assert search.as_of == datetime(2026, 1, 1, tzinfo=UTC)


def test_a_relative_time_before_all_years_is_named() -> None:
    with pytest.raises(ContractError) as refused:
        search_of("ann", Query(text="x", until="-700000d"), datetime(1900, 1, 1, tzinfo=UTC))
    assert refused.value.place == "until"


@given(st.text(min_size=1, max_size=20))
def test_only_tokens_that_can_be_a_tenants_are_waited_for(tenant: str) -> None:
    own = tenant_partition(tenant, FOLD)
    for epoch, partition, taken in ((2, own, True), (2, (own + 1) % 12, False), (3, own, False), (1, 99, True)):
        text = str(Token(epoch, partition, 5, RECEIPT))
        if taken:
            assert token_of(tenant, text, FOLD).epoch == epoch
        else:
            with pytest.raises(ContractError) as refused:
                token_of(tenant, text, FOLD)
            assert refused.value.place == "after"


def checkpoint(offset: int, epoch: int = 2) -> Checkpoint:
    return Checkpoint(partition=0, next=rev_of(epoch, offset))


def test_a_store_is_behind_where_its_checkpoint_is_before_the_committed_offset() -> None:
    committed = {0: 5, 1: 5, 2: 5, 3: 5, 4: None, 5: 0, 6: 5}
    checkpoints = {0: checkpoint(5), 1: checkpoint(9), 2: checkpoint(4), 4: checkpoint(0), 6: checkpoint(9, epoch=1)}
    assert behind(committed, checkpoints, 2) == {2, 3, 6}


def test_threads_of_one_name_differ_by_scope() -> None:
    payloads: list[dict[str, Any]] = [
        {"thread": "t"},
        *({"thread": "t", "scope": {d: "x"}} for d in ("user", "agent")),
        {"scope": {"user": "x"}},
    ]
    assert len({thread_key(payload | {"position": 0}) for payload in payloads}) == len(payloads)
    assert thread_key(payloads[-1]) == thread_key(payloads[0]) == "", "what has no place in a thread has no neighbours"


def test_a_pool_knows_hits_of_both_arms_once() -> None:
    payload = {
        "thread": "t",
        "position": 2,
        "ordinal": 0,
        "occurred_at": "2026-03-01T12:00:00Z",
        "chars": 3,
        "scope": {"user": "x"},
    }
    pool = Pool.of(
        SearchHits([Hit("a", 0.5, payload)], [Hit("a", 3.0, payload), Hit("b", 2.0, payload | {"parts": 2})])
    )
    assert list(pool.candidates) == ["a", "b"]
    assert (pool.dense, pool.lexical) == ({"a": 0.5}, {"a": 3.0, "b": 2.0})
    (thread,) = pool.threads.values()
    assert (thread.name, thread.scope) == ("t", Scope(user="x"))
    assert pool.divided == {(pool.candidates["b"].thread_key, 2)}


def test_a_memory_without_times_or_thread_is_placed_all_the_same() -> None:
    made = candidate_of(
        "a", {"ordinal": 0, "kind": "semantic", "content": "four", "recorded_at": "2026-03-01T00:00:00Z"}, ""
    )
    assert (made.occurred_at, made.chars, made.thread_key) == (datetime(2026, 3, 1, tzinfo=UTC), 4, "")
    assert candidate_of("a", {"ordinal": 0}, "").occurred_at.year == 1970


def test_what_found_a_memory_has_a_fixed_order() -> None:
    assert found_by(frozenset({"keyword", "vector"})) == ("vector", "keyword")
    assert found_by(frozenset()) == ()


def test_a_reply_becomes_one_event() -> None:
    recalled = event_of("ann", Reply(lacks=("vector",)), NOW, 1.5)
    assert isinstance(recalled, Recalled)
    assert (recalled.hits, recalled.degraded, recalled.ms) == (0, ("vector",), 1.5)
    skipped = event_of("ann", Reply(skipped="unavailable", error="StoreAway"), NOW, 0)
    assert isinstance(skipped, Skipped)
    assert (skipped.operation, skipped.reason, skipped.error) == ("memory.recall", "unavailable", "StoreAway")


def test_metrics_have_the_names_that_are_told() -> None:
    registry = CollectorRegistry()
    counted = RecallMetrics(registry)
    counted.answered("/v1/recall", 200, 0.01)
    counted.degraded(("vector",))
    counted.event("dropped", 3)
    text = generate_latest(registry).decode()
    told = [value for name, value in vars(names).items() if name.isupper() and isinstance(value, str)]
    assert all(name in text for name in told)
    assert 'afterturn_recall_events_total{ending="dropped"} 3.0' in text
    assert "tenant" not in text


def test_examples_of_the_document_are_what_they_show() -> None:
    for path, model in (("/v1/recall", Query), ("/v1/turns", TurnOverHttp)):
        asked = document()["paths"][path]["post"]["requestBody"]["content"]["application/json"]["example"]
        assert model.model_validate(asked).model_dump(mode="json", exclude_unset=True, exclude_none=True) == asked
