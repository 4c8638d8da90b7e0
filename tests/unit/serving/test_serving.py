"""What every service's HTTP port says of it."""

from __future__ import annotations

import httpx
import pytest
from prometheus_client import CollectorRegistry

from afterturn.consumers.serving import health_app


@pytest.mark.parametrize(
    ("missing", "stuck", "live", "ready"),
    [({}, None, 200, 200), ({"qdrant": "away"}, None, 200, 503), ({}, "the group was not polled", 503, 200)],
)
async def test_what_is_missing_makes_it_wait_and_only_what_is_stuck_is_started_anew(
    missing: dict[str, str], stuck: str | None, live: int, ready: int
) -> None:
    app = health_app(lambda: missing, CollectorRegistry(), lambda: stuck)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as client:
        said = await client.get("/health/live")
        assert said.status_code == live
        assert said.json().get("why") == stuck
        said = await client.get("/health/ready")
        assert said.status_code == ready
        assert said.json()["missing"] == missing
