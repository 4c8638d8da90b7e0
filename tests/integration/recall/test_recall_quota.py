"""A tenant over its quota is told when to come again; others, and what is no request of a tenant, go on."""

from __future__ import annotations

from support.log import until
from support.recall_service import Served, served

TURN = {
    "thread": "t",
    "turn_id": "1",
    "occurred_at": "2026-03-01T12:00:00Z",
    "messages": [{"role": "user", "content": "I booked the train to Kyoto."}],
}


async def ready(service: Served) -> None:
    async def nothing_missing() -> bool:
        return not await service.missing()

    await until(nothing_missing, tick=0.05)


def refused(metrics: str) -> list[str]:
    return [line for line in metrics.splitlines() if line.startswith("afterturn_recall_over_quota_total")]


async def test_a_tenant_over_its_quota_is_refused_with_the_time_to_wait(
    http_environment: dict[str, str], tenant: str
) -> None:
    async with served(http_environment, quota_per_minute=0.5, quota_burst=3) as service:
        await ready(service)
        ann, ben = {"Afterturn-Tenant": tenant}, {"Afterturn-Tenant": f"{tenant}-other"}
        for _ in range(2):
            assert (await service.client.post("/v1/recall", headers=ann, json={})).status_code == 200
        assert (await service.client.post("/v1/turns", headers=ann, json=TURN)).status_code == 202
        for url, body in (("/v1/recall", {}), ("/v1/turns", TURN)):
            answer = await service.client.post(url, headers=ann, json=body)
            assert answer.status_code == 429
            assert 60 < int(answer.headers["retry-after"]) <= 120
            assert "over its quota" in answer.json()["error"]["problem"]
        assert (await service.client.post("/v1/recall", headers=ben, json={})).status_code == 200
        metrics = (await service.client.get("/metrics")).text
        assert refused(metrics) == ["afterturn_recall_over_quota_total 2.0"]
        assert tenant not in metrics
        assert 'route="/v1/turns",status="429"' in metrics


async def test_without_a_quota_nobody_is_refused(http_environment: dict[str, str], tenant: str) -> None:
    async with served(http_environment) as service:
        await ready(service)
        for _ in range(30):
            answer = await service.client.post("/v1/recall", headers={"Afterturn-Tenant": tenant}, json={})
            assert answer.status_code == 200


async def test_the_document_names_the_status(http_environment: dict[str, str]) -> None:
    async with served(http_environment) as service:
        document = (await service.client.get("/openapi.json")).json()
    for path in ("/v1/recall", "/v1/turns"):
        assert "429" in document["paths"][path]["post"]["responses"]
