"""Who may, over HTTP: rows 1, 2, 6 and 7 with keys and tokens; loopback only without either."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.api import Keys, problem, ready
from support.identity import AUDIENCE, ISSUER, identity_provider
from support.log import until
from support.recall_service import Served, served

from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.consumers.recall.web.app import ROUTES
from afterturn.streams.errors import BadSettings

TURN = {
    "thread": "t",
    "turn_id": "1",
    "occurred_at": "2026-03-01T12:00:00Z",
    "messages": [{"role": "user", "content": "I booked the train to Kyoto."}],
}


@pytest.fixture
def keys(tmp_path: Path) -> Keys:
    made = Keys(tmp_path / "keys.json")
    made.save()
    return made


@pytest.fixture
async def service(http_environment: dict[str, str], keys: Keys) -> AsyncIterator[Served]:
    async with served(http_environment, AccessSettings(keys_file=keys.path)) as running:
        await until(lambda: ready(running), tick=0.05)
        yield running


async def test_every_route_asks_who_it_is(service: Served, keys: Keys) -> None:
    good = keys.add()
    wrong = good["authorization"][:-3] + "xxx"
    for method, path, _ in ROUTES:
        for headers in ({}, {"authorization": "Basic eDp5"}, {"authorization": "Bearer"}, {"authorization": wrong}):
            answer = await service.client.request(method, path, headers=headers | {"Afterturn-Tenant": "acme"})
            assert problem(answer, 401)["field"] == "Authorization"
            assert answer.headers["www-authenticate"].startswith("Bearer")
    for open_ in ("/health/live", "/health/ready", "/metrics", "/openapi.json"):
        assert (await service.client.get(open_)).status_code == 200


async def test_the_tenant_comes_from_the_key(service: Served, keys: Keys) -> None:
    """Row 1: never from the body; with a key of several the header chooses among them."""
    one, two, all_ = keys.add(), keys.add(tenants=("acme", "other")), keys.add(tenants=(), all_tenants=True)
    ask = service.client.post
    assert (await ask("/v1/recall", headers=one, json={})).status_code == 200
    assert (await ask("/v1/recall", headers=one | {"Afterturn-Tenant": "acme"}, json={})).status_code == 200
    for headers in (one, two):
        answer = await ask("/v1/recall", headers=headers | {"Afterturn-Tenant": "somebody"}, json={})
        assert problem(answer, 403)["field"] == "Afterturn-Tenant"
    for headers in (two, all_):
        assert problem(await ask("/v1/recall", headers=headers, json={}), 422)["field"] == "Afterturn-Tenant"
        assert (await ask("/v1/recall", headers=headers | {"Afterturn-Tenant": "other"}, json={})).status_code == 200
    assert problem(await ask("/v1/recall", headers=one, json={"tenant": "other"}), 422)["field"] == "tenant"
    assert problem(await ask("/v1/turns", headers=one, json=TURN | {"tenant": "other"}), 422)["field"] == "tenant"


async def test_a_right_that_is_not_given_is_refused(service: Served, keys: Keys) -> None:
    reader, writer = keys.add(rights=("read",)), keys.add(rights=("write",))
    assert "write" in problem(await service.client.post("/v1/turns", headers=reader, json=TURN), 403)["problem"]
    assert "read" in problem(await service.client.post("/v1/recall", headers=writer, json={}), 403)["problem"]
    assert (await service.client.post("/v1/turns", headers=writer, json=TURN)).status_code == 202


async def test_a_fixed_scope_is_added_and_never_left(service: Served, keys: Keys) -> None:
    """Row 7: another value is refused, before anything is read or written."""
    ada = keys.add(scope={"user": "ada"})
    for path, body in (("/v1/recall", {}), ("/v1/turns", TURN)):
        for fine in ({}, {"scope": {"user": "ada"}}, {"scope": {"agent": "x"}}):
            assert (await service.client.post(path, headers=ada, json=body | fine)).is_success
        answer = await service.client.post(path, headers=ada, json=body | {"scope": {"user": "ben"}})
        assert problem(answer, 403)["field"] == "scope.user"
        assert "ben" not in answer.text


async def test_a_revoked_key_is_refused_at_the_next_request(service: Served, keys: Keys) -> None:
    key = keys.add()
    assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 200
    keys.records.clear()
    keys.save()
    assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 401


async def test_a_broken_file_of_keys_is_told_in_a_metric(service: Served, keys: Keys) -> None:
    key = keys.add()
    assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 200
    keys.path.write_text("{")
    assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 200
    assert "afterturn_recall_keys_stale 1.0" in (await service.client.get("/metrics")).text
    keys.save()
    assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 200
    assert "afterturn_recall_keys_stale 0.0" in (await service.client.get("/metrics")).text


async def test_secrets_are_in_no_log_metric_or_answer(
    service: Served, keys: Keys, caplog: pytest.LogCaptureFixture
) -> None:
    """A canary in content and in keys."""
    caplog.set_level(logging.DEBUG)
    key = keys.add()
    secret = key["authorization"].rpartition("_")[2]
    told = ""
    canary = {"messages": [{"role": "user", "content": "canary-content"}]}
    for headers in (key, {"authorization": f"Bearer x{secret}"}, {"authorization": f"Bearer aft_x_{secret}"}):
        for body in (TURN | canary, TURN | {"role": "canary-content"}, {"text": "canary-content", "limit": -1}):
            for path in ("/v1/turns", "/v1/recall"):
                told += (await service.client.post(path, headers=headers, json=body)).text
    told += (await service.client.get("/metrics")).text + caplog.text
    assert secret not in told
    assert "canary-content" not in told


async def test_a_quota_is_each_principals(http_environment: dict[str, str], keys: Keys) -> None:
    ann, ben = keys.add(), keys.add()
    access = AccessSettings(keys_file=keys.path)
    async with served(http_environment, access, quota_per_minute=0.5, quota_burst=2) as service:
        await until(lambda: ready(service), tick=0.05)
        for _ in range(2):
            assert (await service.client.post("/v1/recall", headers=ann, json={})).status_code == 200
        answer = await service.client.post("/v1/recall", headers=ann, json={})
        assert problem(answer, 429)
        assert 60 < int(answer.headers["retry-after"]) <= 120
        assert (await service.client.post("/v1/recall", headers=ben, json={})).status_code == 200


async def test_tokens_are_taken_beside_keys(http_environment: dict[str, str], keys: Keys, tenant: str) -> None:
    """Row 2 over HTTP: a failed look-up is a 503 for that request, and the next one asks again."""
    key = keys.add(tenants=(tenant,))
    async with identity_provider() as provider:
        access = AccessSettings.model_validate(
            {
                "keys_file": keys.path,
                "jwt_jwks_url": provider.url,
                "jwt_issuer": ISSUER,
                "jwt_audience": AUDIENCE,
                "jwt_scope_claims": {"user": "sub"},
            }
        )
        async with served(http_environment, access) as service:
            await until(lambda: ready(service), tick=0.05)
            provider.broken = True
            token = provider.token(tenant=tenant, scope="afterturn:read")
            bearer = {"authorization": f"Bearer {token}"}
            answer = await service.client.post("/v1/recall", headers=bearer, json={})
            assert problem(answer, 503)
            assert answer.headers["retry-after"]
            assert token not in answer.text
            provider.broken = False
            assert (await service.client.post("/v1/recall", headers=bearer, json={})).status_code == 200
            assert problem(await service.client.post("/v1/turns", headers=bearer, json=TURN), 403)
            other = {"scope": {"user": "ben"}}
            assert problem(await service.client.post("/v1/recall", headers=bearer, json=other), 403)
            assert (await service.client.post("/v1/recall", headers=key, json={})).status_code == 200
            assert provider.asked == 2


async def test_only_with_authentication_it_may_be_reached_from_elsewhere(
    http_environment: dict[str, str], keys: Keys
) -> None:
    key = keys.add()
    async with served(http_environment, AccessSettings(keys_file=keys.path), host="0.0.0.0") as service:
        await until(lambda: ready(service), tick=0.05)
        headers = key | {"host": "memory.example.com"}
        assert (await service.client.post("/v1/recall", headers=headers, json={})).status_code == 200
    with pytest.raises(BadSettings, match="AFTERTURN_RECALL_HOST"):
        async with served(http_environment, host="0.0.0.0"):
            raise AssertionError("it listens")


async def test_answers_say_what_browsers_must_not_do(service: Served, keys: Keys) -> None:
    key = keys.add()
    for answer in (
        await service.client.post("/v1/recall", headers=key, json={}),
        await service.client.post("/v1/recall", json={}),
        await service.client.get("/nowhere"),
    ):
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["cache-control"] == "no-store"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "access-control-allow-origin" not in answer.headers


async def test_pages_of_listed_origins_may_ask(http_environment: dict[str, str], keys: Keys) -> None:
    async with served(
        http_environment, AccessSettings(keys_file=keys.path), cors_origins="https://app.example.com"
    ) as service:
        for origin, allowed in (("https://app.example.com", True), ("https://evil.example.com", False)):
            asked = {"origin": origin, "access-control-request-method": "POST"}
            answer = await service.client.options("/v1/recall", headers=asked)
            assert ("access-control-allow-origin" in answer.headers) is allowed
            assert "access-control-allow-credentials" not in answer.headers


async def test_beyond_a_bounded_queue_requests_are_refused_at_once(
    http_environment: dict[str, str], tenant: str
) -> None:
    """50 clients: as many as may are answered, the others are told to come again, none piles up."""
    headers = {"Afterturn-Tenant": tenant}
    async with served(http_environment, concurrency=2, queue=3, after_wait=2) as service:
        await until(lambda: ready(service), tick=0.05)
        accepted = (await service.client.post("/v1/turns", headers=headers, json=TURN)).json()
        body = {"text": "Kyoto", "after": accepted["token"]}  # no recorder runs: each holds its place for 2 s
        asked = [service.client.post("/v1/recall", headers=headers, json=body) for _ in range(50)]
        statuses = [answer.status_code for answer in await asyncio.gather(*asked)]
        assert statuses.count(200) == 5
        assert statuses.count(503) == 45
        refused = await asyncio.gather(
            *(service.client.post("/v1/recall", headers=headers, json=body) for _ in range(8))
        )
        assert all(answer.headers["retry-after"] == "1" for answer in refused if answer.status_code == 503)
        metrics = (await service.client.get("/metrics")).text
        assert "afterturn_recall_in_flight 0.0" in metrics
        assert "afterturn_recall_busy_total 48.0" in metrics
        assert (await service.client.post("/v1/recall", headers=headers, json={})).status_code == 200
