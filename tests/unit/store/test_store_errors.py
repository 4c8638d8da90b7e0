"""What each answer of a server means for whoever called, and that no content gets into an error."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import orjson
import pytest

from afterturn.consumers.store.client import StoreClient, open_client, opened, refusal
from afterturn.consumers.store.doctor import require_version
from afterturn.consumers.store.errors import NoCollection, OldServer, StoreAway, StoreRefused, WrongStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.streams.errors import BadSettings, Retry, Stop


def said(text: str) -> bytes:
    return orjson.dumps({"status": {"error": text}, "time": 0.0})


@pytest.mark.parametrize(
    ("status", "text", "kind"),
    [
        (500, "Service internal error: task panicked", StoreRefused),
        (500, "Service internal error: No space left on device", StoreAway),
        (507, "", StoreAway),
        (503, "", StoreAway),
        (408, "", StoreAway),
        (429, "Too many requests", StoreAway),
        (401, "", WrongStore),
        (403, "", WrongStore),
        (404, "Not found: Collection `memories` doesn't exist!", NoCollection),
        (404, "Not found: No point with id 5 found", StoreRefused),
        (400, "Wrong input: Vector dimension error: expected dim: 4, got 5", WrongStore),
        (400, "Wrong input: Not existing vector name error: dense", WrongStore),
        (400, 'Bad request: Index required but not found for "x" of one of the following types: [keyword]', WrongStore),
        (400, "Format error in JSON body: NaN", StoreRefused),
        (413, "Payload too large", StoreRefused),
        (422, "Validation error in JSON body", StoreRefused),
        (501, "not supported", WrongStore),
    ],
)
def test_each_status_says_what_to_do(status: int, text: str, kind: type[Exception]) -> None:
    error = refusal("a call", "memories", status, said(text))
    assert type(error) is kind
    assert isinstance(error, Retry) != isinstance(error, Stop)


def test_strings_that_a_server_quotes_are_left_out() -> None:
    text = 'Format error in JSON body: invalid type: string "my \\"secret\\" diary", expected u64 at line 1'
    error = refusal("a call", "memories", 400, said(text))
    assert "diary" not in str(error)
    assert "expected u64" in str(error)
    assert len(str(refusal("a call", "memories", 400, said("x" * 9_999)))) < 500


@pytest.mark.parametrize("content", [b"", b"<html>", b"{}", b'{"status": "error"}', b"[]"])
def test_an_answer_of_another_form_is_no_fault_of_ours(content: bytes) -> None:
    assert "no reason given" in str(refusal("a call", "memories", 400, content))


@asynccontextmanager
async def answering(status: str, body: bytes, *headers: str) -> AsyncIterator[StoreClient]:
    """A client of a server that says the same to everything."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        lines = [f"HTTP/1.1 {status}", f"content-length: {len(body)}", "connection: close", *headers, "", ""]
        writer.write("\r\n".join(lines).encode() + body)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        async with opened(StoreSettings(url=f"http://127.0.0.1:{port}", timeout=5)) as client:
            yield client


async def test_an_old_server_stops_with_both_versions() -> None:
    body = orjson.dumps({"title": "qdrant", "version": "1.18.2"})
    async with answering("200 OK", body) as client:
        with pytest.raises(OldServer, match=r"1\.18\.2.* 1\.19") as stopped:
            await require_version(client)
    assert (stopped.value.found, stopped.value.needed) == ("1.18.2", "1.19")


@pytest.mark.parametrize("status", ["acknowledged", "wait_timeout"])
async def test_a_write_that_is_not_completed_is_no_write(status: str) -> None:
    body = orjson.dumps({"result": {"operation_id": 1, "status": status}, "status": "ok", "time": 0.1})
    async with answering("200 OK", body) as client:
        with pytest.raises(StoreAway, match=status):
            await client.change("a write", "PUT", "", {"points": []})


async def test_a_limited_rate_says_when_to_come_back() -> None:
    async with answering("429 Too Many Requests", said("slower"), "retry-after: 7") as client:
        with pytest.raises(StoreAway) as away:
            await client.post("a read", "", {})
    assert away.value.retry_after == 7


@pytest.mark.parametrize("body", [b"<html>maintenance</html>", b'{"result": '])
async def test_something_else_at_the_address_is_away(body: bytes) -> None:
    async with answering("200 OK", body) as client:
        with pytest.raises(StoreAway):
            await client.post("a read", "", {})


async def test_an_answer_of_another_shape_stops() -> None:
    async with answering("200 OK", b"[1]") as client:
        with pytest.raises(WrongStore):
            await client.post("a read", "", {})


@pytest.mark.parametrize("url", ["http://[::1", "http://127.0.0.1:99999", "http://a b"])
async def test_a_url_that_is_none_names_the_setting(url: str) -> None:
    with pytest.raises(BadSettings, match="QDRANT_URL"):
        open_client(StoreSettings(url=url))


async def test_the_key_is_sent_and_never_told() -> None:
    settings = StoreSettings.model_validate({"url": "http://127.0.0.1:1", "api_key": "sesame"})
    assert "sesame" not in repr(settings)
    async with opened(settings) as client:
        with pytest.raises(StoreAway) as away:
            await client.post("a read", "", {})
    assert "sesame" not in str(away.value)
