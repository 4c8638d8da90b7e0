"""Recall over HTTP, as a process: what is sent wrongly is refused by name, and nothing is a 500."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx
import orjson
import pytest
from support.recalls import RecallProcess

from afterturn.consumers.recall.web.app import ROUTES

URL = {"recall": "/v1/recall", "turns": "/v1/turns"}
TENANT = {"Afterturn-Tenant": "acme"}
JSON = {"content-type": "application/json"}
TURN: dict[str, Any] = {
    "thread": "talk",
    "turn_id": "1",
    "occurred_at": "2026-03-01T12:00:00Z",
    "messages": [{"role": "user", "author": "Ada", "content": "I booked the train to Kyoto."}],
}
MESSAGE = TURN["messages"][0]


def turn(**fields: Any) -> bytes:
    return orjson.dumps(TURN | fields)


def said(**fields: Any) -> bytes:
    return turn(messages=[MESSAGE | fields])


RECALL_ROWS: list[tuple[str, bytes, int, str]] = [
    ("no JSON", b"{", 422, ""),
    ("empty", b"", 422, ""),
    ("a list", b"[]", 422, ""),
    ("null", b"null", 422, ""),
    ("not UTF-8", b'{"text": "\xff\xfe"}', 422, ""),
    ("nested beyond reason", b'{"text": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 422, ""),
    ("an unknown field", b'{"texts": "x"}', 422, "texts"),
    ("a tenant", b'{"tenant": "other"}', 422, "tenant"),
    ("a number for a text", b'{"text": 1}', 422, "text"),
    ("a text beyond the bound", orjson.dumps({"text": "x" * 100_001}), 422, "text"),
    ("a list of nothing for a text", b'{"text": []}', 422, "text"),
    ("an operator for a value", b'{"scope": {"user": {"$ne": ""}}}', 422, "scope.user"),
    ("an empty scope value", b'{"scope": {"user": ""}}', 422, "scope.user"),
    ("an unknown dimension", b'{"scope": {"team": "x"}}', 422, "scope.team"),
    ("a control character", b'{"scope": {"user": "a\\u0007b"}}', 422, "scope.user"),
    ("an unknown role", b'{"roles": ["boss"]}', 422, "roles.0"),
    ("an unknown kind", b'{"kinds": ["fact"]}', 422, "kinds.0"),
    ("a limit of 0", b'{"limit": 0}', 422, "limit"),
    ("a limit beyond the bound", b'{"limit": 1001}', 422, "limit"),
    ("a limit as text", b'{"limit": "5"}', 422, "limit"),
    ("a fraction of a token", b'{"max_tokens": 1.5}', 422, "max_tokens"),
    ("tokens below 0", b'{"max_tokens": -1}', 422, "max_tokens"),
    ("NaN", b'{"min_importance": NaN}', 422, "min_importance"),
    ("infinity", b'{"min_importance": 1e999}', 422, "min_importance"),
    ("an importance of 7", b'{"min_importance": 7}', 422, "min_importance"),
    ("the year 0", b'{"since": "0000-01-01T00:00:00Z"}', 422, "since"),
    ("the year 10,000", b'{"until": "10000-01-01T00:00:00Z"}', 422, "until"),
    ("a time before all years", b'{"since": "-999999d"}', 422, "since"),
    ("words for a time", b'{"since": "yesterday"}', 422, "since"),
    ("a wrong day", b'{"as_of": "2026-02-30T00:00:00Z"}', 422, "as_of"),
    ("a token that is none", b'{"after": "soon"}', 422, "after"),
    ("a token of elsewhere", b'{"after": "7-1-1-00000000-0000-0000-0000-000000000000"}', 422, "after"),
    ("an unknown profile", b'{"profile": "magic"}', 422, "profile"),
    ("an unknown format", b'{"format": "xml"}', 422, "format"),
    ("an unknown order", b'{"order": "oldest"}', 422, "order"),
    ("an order of a question", b'{"text": "x", "order": "newest"}', 422, "order"),
    ("a cursor that is none", b'{"cursor": "x"}', 422, "cursor"),
    ("a filter of nothing", b'{"filter": {}}', 422, "filter"),
    (
        "a filter on no field",
        b'{"filter": {"and": [{"field": "x", "op": "eq", "value": 1}]}}',
        422,
        "filter.and.0.field",
    ),
    ("a filter on the tenant", b'{"filter": {"field": "tenant", "op": "eq", "value": "x"}}', 422, "filter.field"),
    (
        "a filter of a time before all years",
        b'{"filter": {"field": "occurred_at", "op": "gt", "value": "-999999d"}}',
        422,
        "filter.value",
    ),
    (
        "a filter nested beyond reason",
        b'{"filter": ' + b'{"not": ' * 150 + b'{"field": "role", "op": "exists", "value": true}' + b"}" * 150 + b"}",
        422,
        "filter",
    ),
    ("too many tags", orjson.dumps({"tags_any": ["t"] * 65}), 422, "tags_any"),
    ("3 MB and more", orjson.dumps({"text": "x" * 3_100_000}), 413, ""),
]
FINE_ROWS: list[tuple[str, bytes]] = [
    ("nothing at all", b"{}"),
    ("half an emoji", b'{"text": "hi \\ud83d"}'),
    ("NUL", b'{"text": "a\\u0000b"}'),
    ("a name in many forms", '{"scope": {"user": "Ame\u0301lie"}}'.encode()),
    ("an integer for an identifier", b'{"scope": {"user": 1}}'),
    ("years ago in words", '{"text": "十万年前"}'.encode()),
    ("reserved words", b'{"text": "the and or not", "scope": {"workspace": "main"}}'),
    ("lists of nothing", b'{"threads": [], "roles": [], "tags_any": [], "seen": []}'),
    ("since after until", b'{"text": "x", "since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}'),
    ("the first and the last year", b'{"since": "0001-01-01T00:00:00Z", "until": "9999-12-31T23:59:59Z"}'),
    ("a comma in a tag", b'{"tags_all": ["Paris, France"]}'),
    ("ids that are none", b'{"text": "x", "seen": ["nobody", "\'; drop table"]}'),
    ("all bounds at their ends", b'{"text": "x", "limit": 1000, "max_tokens": 100000, "min_importance": 1}'),
    ("a text at the bound", orjson.dumps({"text": "word " * 20_000})),
]
TURN_ROWS: list[tuple[str, bytes, int, str]] = [
    ("no JSON", b"{", 422, ""),
    ("an unknown field", turn(colour="red"), 422, "colour"),
    ("an unknown field of a message", said(colour="red"), 422, "messages.0.colour"),
    ("another tenant", turn(tenant="other"), 422, "tenant"),
    ("no thread", orjson.dumps({k: v for k, v in TURN.items() if k != "thread"}), 422, "thread"),
    ("an empty thread", turn(thread=""), 422, "thread"),
    ("no messages", orjson.dumps({k: v for k, v in TURN.items() if k != "messages"}), 422, "messages"),
    ("no message", turn(messages=[]), 422, "messages"),
    ("only blank messages", turn(messages=[MESSAGE | {"content": c} for c in ("", "  ", "\u200b")]), 422, "messages"),
    ("an unknown role", said(role="boss"), 422, "messages.0.role"),
    ("an importance of 7", said(importance=7), 422, "messages.0.importance"),
    ("an importance of NaN", turn().replace(b'"role"', b'"importance": NaN, "role"'), 422, "messages.0.importance"),
    ("257 messages", turn(messages=[MESSAGE] * 257), 422, "messages"),
    ("the year 0", turn(occurred_at="0000-01-01T00:00:00Z"), 422, "occurred_at"),
    ("the year 10,000", turn(occurred_at="10000-01-01T00:00:00Z"), 422, "occurred_at"),
    ("a number for a time", turn(occurred_at=1_700_000_000), 422, "occurred_at"),
    ("data too deep", turn(data={"a": {"b": {"c": {"d": {"e": {"f": {"g": {"h": {"i": 1}}}}}}}}}), 422, "data"),
    ("a wide integer", turn().replace(b'"thread"', b'"data": {"n": 99999999999999999999}, "thread"'), 422, "data"),
    ("2 MB and more in one message", said(content="x" * 2_100_000), 413, ""),
    ("3 MB and more", said(content="x" * 3_100_000), 413, ""),
]


@pytest.fixture(scope="module")
def client(service: RecallProcess) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=service.url, headers=TENANT, timeout=30) as connected:
        yield connected


def refused(answer: httpx.Response, status: int, field: str) -> None:
    """The answer names the field, and repeats nothing of what was sent."""
    assert answer.status_code == status, answer.text
    error = answer.json()["error"]
    assert set(error) == {"field", "problem"}
    assert error["field"] == field
    assert error["problem"]


@pytest.mark.parametrize(("body", "status", "field"), [row[1:] for row in RECALL_ROWS], ids=[r[0] for r in RECALL_ROWS])
def test_bad_queries_are_refused_by_field(client: httpx.Client, body: bytes, status: int, field: str) -> None:
    refused(client.post("/v1/recall", content=body, headers=JSON), status, field)


@pytest.mark.parametrize("body", [row[1] for row in FINE_ROWS], ids=[row[0] for row in FINE_ROWS])
def test_odd_queries_are_answered(client: httpx.Client, body: bytes) -> None:
    answer = client.post("/v1/recall", content=body, headers=JSON)
    assert answer.status_code == 200, answer.text
    nothing = {"memories": [], "text": "", "tokens": 0, "degraded": [], "limits": [], "took_ms": 0}
    told = {name: value for name, value in answer.json().items() if name != "usage"}
    assert told | {"took_ms": 0} == nothing


@pytest.mark.parametrize(("body", "status", "field"), [row[1:] for row in TURN_ROWS], ids=[row[0] for row in TURN_ROWS])
def test_bad_turns_are_refused_by_field(client: httpx.Client, body: bytes, status: int, field: str) -> None:
    refused(client.post("/v1/turns", content=body, headers=JSON), status, field)


def test_a_fault_names_no_value(client: httpx.Client) -> None:
    answer = client.post("/v1/turns", content=said(role="hunter2"), headers=JSON)
    assert "hunter2" not in answer.text


@pytest.mark.parametrize("route", URL)
@pytest.mark.parametrize(
    "value", [None, b"", b"\xff", b"x" * 257, b"a\xc2\x85b"], ids=["missing", "empty", "bytes", "long", "control"]
)
def test_the_tenant_comes_from_its_header(service: RecallProcess, route: str, value: bytes | None) -> None:
    headers = [(b"content-type", b"application/json"), *([] if value is None else [(b"Afterturn-Tenant", value)])]
    body = turn() if route == "turns" else b"{}"
    refused(httpx.post(service.url + URL[route], content=body, headers=headers), 422, "Afterturn-Tenant")


def test_two_tenants_are_none(service: RecallProcess) -> None:
    answer = httpx.post(f"{service.url}/v1/recall", content=b"{}", headers=[("Afterturn-Tenant", "a")] * 2)
    refused(answer, 422, "Afterturn-Tenant")


def test_a_tenant_may_have_any_letters(service: RecallProcess) -> None:
    headers = [(b"Afterturn-Tenant", "株式会社".encode())]
    assert httpx.post(f"{service.url}/v1/recall", content=b"{}", headers=headers).status_code == 200


@pytest.mark.parametrize("route", URL)
def test_bodies_are_plain_json(client: httpx.Client, route: str) -> None:
    body = turn() if route == "turns" else b"{}"
    for headers in (
        {"content-encoding": "gzip"},
        {"content-type": "text/plain"},
        {"content-type": "application/x-www-form-urlencoded"},
    ):
        refused(client.post(URL[route], content=body, headers=headers), 415, "")
    for headers in ({}, {"content-type": "application/json; charset=utf-8"}, {"content-encoding": "identity"}):
        assert client.post(URL[route], content=body, headers=headers).is_success


def test_a_body_in_chunks_is_read_as_far_as_it_may_be(client: httpx.Client) -> None:
    def chunks(count: int) -> Iterator[bytes]:
        yield b'{"text": "'
        for _ in range(count):
            yield b"x" * 1_000
        yield b'"}'

    assert client.post("/v1/recall", content=chunks(5), headers=JSON).status_code == 200
    try:
        answer = client.post("/v1/recall", content=chunks(5_000), headers=JSON)
    except httpx.TransportError:
        return  # refused and closed while it was being sent
    refused(answer, 413, "")


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/v1/recall", 405),
        ("HEAD", "/v1/recall", 405),
        ("PUT", "/v1/turns", 405),
        ("POST", "/v1/nothing", 404),
        ("GET", "/", 404),
        ("POST", "/health/live", 405),
        ("HEAD", "/health/live", 200),
        ("GET", "/health/live", 200),
        ("GET", "/health/ready", 200),
        ("GET", "/metrics", 200),
    ],
)
def test_every_path_answers_what_it_is(client: httpx.Client, method: str, path: str, status: int) -> None:
    answer = client.request(method, path)
    assert answer.status_code == status
    if status >= 400 and method != "HEAD":
        assert answer.json()["error"]["field"] == ""


def test_metrics_name_no_tenant_and_no_path_of_a_stranger(client: httpx.Client) -> None:
    client.post("/v1/recall", content=b"{}", headers={"Afterturn-Tenant": "somebody-special"})
    client.get("/some/strange/path")
    text = client.get("/metrics").text
    assert 'afterturn_recall_requests_total{route="/v1/recall",status="200"}' in text
    assert 'route="other",status="404"' in text
    assert "somebody-special" not in text
    assert "strange" not in text


def test_a_turn_is_accepted_with_a_token(client: httpx.Client) -> None:
    """I-04: a retry gives a token of the same receipt."""
    tokens = []
    for body in (turn(), turn(tenant="acme")):
        answer = client.post("/v1/turns", content=body, headers=JSON)
        assert answer.status_code == 202, answer.text
        accepted = answer.json()
        assert accepted["status"] == "accepted"
        assert accepted["event_id"]
        tokens.append(accepted["token"])
    assert tokens[0] != tokens[1]
    assert tokens[0].split("-", 3)[3][:36] == tokens[1].split("-", 3)[3][:36]


def test_the_document_describes_what_is_there(client: httpx.Client) -> None:
    document = client.get("/openapi.json").json()
    described = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    served = {(method, path.replace(":path", "")) for method, path, _ in ROUTES}
    assert described == served | {("GET", path) for path in ("/health/live", "/health/ready", "/metrics")}
    schemas = document["components"]["schemas"]
    assert {"Query", "Answer", "TurnOverHttp", "WriteStatus", "Problem"} <= set(schemas)
    assert "tenant" not in schemas["TurnOverHttp"]["required"]
    for path in URL.values():
        body = document["paths"][path]["post"]["requestBody"]["content"]["application/json"]
        assert client.post(path, json=body["example"]).is_success
