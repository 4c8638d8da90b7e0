"""Memory as tools of the Model Context Protocol, asked by the SDK's own client over both transports."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import httpx2
import mcp_types as types
import pytest
import pytest_asyncio
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from support.api import Keys, ready
from support.commandline import clean_environment
from support.kafka import KafkaBroker
from support.log import until
from support.recall_service import Served, served
from support.recorders import service_environment
from support.recording import Recording, recording

from afterturn.consumers.recall.access.settings import AccessSettings

pytestmark = pytest.mark.asyncio(loop_scope="module")
TOOLS = ["recall", "remember", "forget", "memory_status"]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def recorder(kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Recording]:
    async with recording(kafka, f"mcp-{uuid4().hex[:8]}", tmp_path_factory.mktemp("mcp")) as made:
        yield made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    made = Keys(tmp_path_factory.mktemp("keys") / "keys.json")
    made.save()
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(kafka: KafkaBroker, recorder: Recording, keys: Keys) -> AsyncIterator[Served]:
    prefix = recorder.service.topic_prefix
    environment = service_environment(kafka.bootstrap, recorder.store.url, prefix, partitions="1")
    access = AccessSettings(keys_file=keys.path)
    async with served(environment, access, mcp=True, topic="the garden", write_wait=30) as running:
        await until(lambda: ready(running), tick=0.05)
        yield running


@asynccontextmanager
async def over_http(service: Served, headers: dict[str, str]) -> AsyncIterator[Client]:
    async with httpx2.AsyncClient(headers=headers, timeout=60) as http:
        transport = streamable_http_client(f"{service.client.base_url}/mcp".replace("//mcp", "/mcp"), http_client=http)
        async with Client(transport) as client:
            yield client


@asynccontextmanager
async def over_stdio(service: Served, headers: dict[str, str], *options: str) -> AsyncIterator[Client]:
    environment = clean_environment() | {
        "AFTERTURN_RECALL_URL": str(service.client.base_url),
        "AFTERTURN_API_KEY": headers["authorization"].removeprefix("Bearer "),
    }
    arguments = ["-m", "afterturn.consumers", "mcp", "--topic", "the garden", *options]
    async with Client(StdioServerParameters(command=sys.executable, args=arguments, env=environment)) as client:
        yield client


def text_of(result: types.CallToolResult | Any) -> str:
    (block,) = result.content
    assert isinstance(block, types.TextContent)
    return block.text


@pytest.mark.parametrize("transport", [over_http, over_stdio])
async def test_what_is_remembered_is_recalled_and_forgotten(service: Served, keys: Keys, transport: Any) -> None:
    tenant = f"t-{uuid4().hex[:8]}"
    async with transport(service, keys.add(tenants=(tenant,))) as client:
        listed = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert list(listed) == TOOLS
        assert "about the garden" in (listed["recall"].description or "")
        assert "No memories stored yet." in (listed["recall"].description or "")
        done = await client.call_tool("remember", {"content": "The fig tree needs cover.", "tags": ["winter"]})
        assert text_of(done) == "It can be recalled now."
        found = await client.call_tool("recall", {"query": "Which tree needs cover?"})
        assert "The fig tree needs cover." in text_of(found)
        assert found.structured_content is not None
        (memory,) = found.structured_content["memories"]
        again = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert "1 memory available." in (again["recall"].description or "")
        assert '"memories": 1' in text_of(await client.call_tool("memory_status", {}))
        gone = await client.call_tool("forget", {"ids": [memory["id"]], "confirm": True})
        assert not gone.is_error, text_of(gone)
        left = await client.call_tool("recall", {"query": "Which tree needs cover?"})
        assert text_of(left).startswith("Nothing is remembered that fits.")


async def test_row_38_what_the_recall_tool_takes(service: Served, keys: Keys) -> None:
    async with over_http(service, keys.add()) as client:
        tools = {tool.name: tool.input_schema for tool in (await client.list_tools()).tools}
    assert {name: sorted(tools[name]["properties"]) for name in TOOLS} == {
        "recall": ["kinds", "limit", "query", "since", "tags", "until"],
        "remember": ["content", "expires_at", "importance", "key", "tags"],
        "forget": ["confirm", "ids", "reason"],
        "memory_status": [],
    }
    assert tools["recall"].get("required") == []


async def test_tools_that_a_key_may_not_use_are_not_there(service: Served, keys: Keys) -> None:
    """I-28: a key that only reads forgets nothing."""
    reader = keys.add(rights=("read",))
    async with over_http(service, reader) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["recall", "memory_status"]
        for tool, arguments in (("remember", {"content": "x"}), ("forget", {"ids": [str(uuid4())]})):
            refused = await client.call_tool(tool, arguments)
            assert refused.is_error
    async with over_stdio(service, keys.add(rights=("write",))) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["remember", "forget"]


async def test_a_scope_binds_every_call(service: Served, keys: Keys) -> None:
    """Row 7: what one user's tools remember, another's don't see."""
    tenant = f"t-{uuid4().hex[:8]}"
    ada, bo = (keys.add(tenants=(tenant,), scope={"user": user}) for user in ("ada", "bo"))
    whole = keys.add(tenants=(tenant,))
    async with over_http(service, ada) as client:
        await client.call_tool("remember", {"content": "Ada's key is under the mat."})
    async with over_http(service, bo) as client:
        assert "mat" not in text_of(await client.call_tool("recall", {"query": "key under the mat"}))
    async with over_stdio(service, whole, "--scope", "user=bo") as client:
        await client.call_tool("remember", {"content": "Bo's key hangs on a hook."})
        assert "mat" not in text_of(await client.call_tool("recall", {"query": "key under the mat"}))
    async with over_http(service, whole) as client:
        found = text_of(await client.call_tool("recall", {"query": "Where is the key?"}))
        assert "mat" in found
        assert "hook" in found


async def test_no_argument_widens_the_scope(service: Served, keys: Keys) -> None:
    """What a tool does not take goes no further: a model could name another user."""
    tenant = f"t-{uuid4().hex[:8]}"
    whole = keys.add(tenants=(tenant,))
    ada = {"scope": {"user": "ada"}}
    async with over_http(service, whole) as client:
        done = await client.call_tool("remember", {"content": "A key is under the mat.", "key": "key"} | ada)
        assert "scope unknown field" in text_of(done)
    async with over_stdio(service, whole, "--scope", "user=ada") as client:
        await client.call_tool("remember", {"content": "A key is under the mat."})
        kept = (await client.call_tool("recall", {"query": "key"})).structured_content
        assert kept is not None
    async with over_stdio(service, whole, "--scope", "user=bo") as client:
        for tool, arguments in (
            ("recall", {"query": "key under the mat"}),
            ("remember", {"content": "Bo was here."}),
            ("forget", {"ids": [kept["memories"][0]["id"]]}),
        ):
            told = text_of(await client.call_tool(tool, arguments | ada))
            assert told.startswith("scope unknown field"), told
        for more in ({"filter": {"threads": ["t"]}}, {"dry_run": True}, {"source": {"type": "user", "id": "x"}}):
            assert "unknown field" in text_of(await client.call_tool("forget", {"ids": []} | more))
    async with over_stdio(service, whole, "--scope", "user=ada") as client:
        assert "mat" in text_of(await client.call_tool("recall", {"query": "key under the mat"}))


@pytest.mark.parametrize("transport", [over_http, over_stdio])
async def test_a_tenant_of_any_characters_is_served(service: Served, keys: Keys, transport: Any) -> None:
    tenant = f"Müller 田中 {uuid4().hex[:8]}"
    options = ("--tenant", tenant) if transport is over_stdio else ()
    named = {} if options else {"afterturn-tenant": tenant.encode()}
    async with transport(service, keys.add(tenants=(tenant, "other")) | named, *options) as client:
        await client.call_tool("remember", {"content": "Tea is served at five."})
        assert "five" in text_of(await client.call_tool("recall", {"query": "tea"}))


@pytest.mark.parametrize("value", [10**30, {"a": [[[[]]]]}, [None], -1, True, "\u0000"])
@pytest.mark.parametrize(("tool", "name"), [("recall", "limit"), ("remember", "tags"), ("forget", "ids")])
async def test_wrong_types_are_explained(service: Served, keys: Keys, tool: str, name: str, value: Any) -> None:
    deep: list[Any] = []
    for _ in range(240):
        deep = [deep]
    async with over_http(service, keys.add()) as client:
        for given in (value, deep):
            told = text_of(
                await client.call_tool(tool, {name: given, "content": "x"} if tool == "remember" else {name: given})
            )
            assert told.startswith((name, "What was given")), told


async def test_a_scope_of_any_characters_is_told_as_it_is(service: Served, keys: Keys) -> None:
    async with over_stdio(service, keys.add(), "--scope", "user=a&scope.agent=b c%/ü") as client:
        told = (await client.call_tool("memory_status", {})).structured_content
    assert told is not None
    assert told["scope"] == {"user": "a&scope.agent=b c%/ü"}


async def test_a_call_over_http_asks_once_who_it_is(service: Served, keys: Keys) -> None:
    async def asked() -> float:
        metrics = (await service.client.get("/metrics")).text
        found = re.search(r'afterturn_recall_requests_total{route="/v1/me",status="200"} (\S+)', metrics)
        return 0.0 if found is None else float(found[1])

    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_status", "arguments": {}}}
    accept = {"accept": "application/json, text/event-stream"}
    before = await asked()
    answer = await service.client.post("/mcp", json=body, headers=keys.add() | accept)
    assert answer.status_code == 200
    assert await asked() == before + 1


@pytest.mark.parametrize(
    ("tool", "arguments", "said"),
    [
        ("recall", {"query": "x", "since": "yesterday"}, "since must be"),
        ("recall", {"query": "x", "until": "-99999999d"}, "until"),
        ("recall", {"query": "x", "limit": 0}, "limit"),
        ("recall", {"query": 7}, "text"),
        ("recall", {"colour": "red"}, "colour unknown field"),
        ("remember", {"content": " "}, "content must not be blank"),
        ("remember", {"content": "x", "importance": 7}, "importance"),
        ("remember", {}, "content"),
        ("forget", {"ids": ["no-id"]}, "ids.0"),
        ("forget", {"ids": []}, "ids"),
    ],
)
async def test_what_a_model_says_wrong_is_explained_to_it(
    service: Served, keys: Keys, tool: str, arguments: dict[str, Any], said: str
) -> None:
    """Row 39: a result that says what to do, and no failure."""
    async with over_http(service, keys.add()) as client:
        result = await client.call_tool(tool, arguments)
    assert said in text_of(result)
    assert not result.is_error


async def test_no_stream_is_held_open_that_would_say_nothing(service: Served, keys: Keys) -> None:
    answer = await service.client.get("/mcp", headers=keys.add() | {"accept": "text/event-stream"})
    assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


async def test_nobody_unknown_is_let_in(service: Served, keys: Keys) -> None:
    wrong = {"authorization": keys.add()["authorization"][:-3] + "xxx"}
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    accept = {"accept": "application/json, text/event-stream"}
    for headers in ({}, wrong):
        answer = await service.client.post("/mcp", json=body, headers=headers | accept)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"].startswith("Bearer")


async def test_a_tenant_that_no_header_can_hold_is_named_at_once() -> None:
    command = [sys.executable, "-m", "afterturn.consumers", "mcp", "--tenant", " blank ends "]
    done = await asyncio.to_thread(subprocess.run, command, env=clean_environment(), capture_output=True, text=True)
    assert done.returncode == 65
    assert "--tenant" in done.stderr


async def test_without_the_service_a_tool_says_so() -> None:
    environment = clean_environment() | {"AFTERTURN_RECALL_URL": "http://127.0.0.1:9"}
    arguments = ["-m", "afterturn.consumers", "mcp", "--tenant", "t"]
    parameters = StdioServerParameters(command=sys.executable, args=arguments, env=environment)
    async with Client(parameters) as client:
        with pytest.raises(Exception, match="Memory is unavailable right now"):
            await client.list_tools()
