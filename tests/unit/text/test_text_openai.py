import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr
from support.openai_server import Fault, OpenAIServer, openai_server

from afterturn.consumers.text.embedder import Embedder
from afterturn.consumers.text.errors import EmbedderAway, EmbedderUnusable
from afterturn.consumers.text.openai_client import OpenAISettings
from afterturn.consumers.text.openai_embedder import BATCH_CHARS, BATCH_TEXTS, batches
from afterturn.consumers.text.registry import open_embedder

KEY = "sk-secret-of-the-test"


@pytest.fixture
async def server() -> AsyncIterator[OpenAIServer]:
    async with openai_server() as running:
        yield running


def _settings(server: OpenAIServer, timeout_s: float = 10) -> OpenAISettings:
    return OpenAISettings(base_url=server.base_url, api_key=SecretStr(KEY), timeout_s=timeout_s)


@pytest.fixture
async def embedder(server: OpenAIServer) -> AsyncIterator[Embedder]:
    opened = await open_embedder("openai:local", _settings(server))
    server.seen.clear()
    yield opened
    await opened.close()


async def test_the_dimension_is_asked_once(server: OpenAIServer) -> None:
    server.dimension = 5
    embedder = await open_embedder("openai:some/Model", _settings(server))
    assert (embedder.name, embedder.dimension) == ("openai:some/Model", 5)
    assert embedder.slug.startswith("openai-some-model-")
    await embedder.embed(["a"])
    await embedder.close()
    assert [(seen.model, seen.path, seen.authorization) for seen in server.seen] == [
        ("some/Model", "/v1/embeddings", f"Bearer {KEY}")
    ] * 2


async def test_a_known_model_opens_while_its_endpoint_is_away() -> None:
    nowhere = OpenAISettings(base_url="http://127.0.0.1:1/v1", api_key=None)
    embedder = await open_embedder("openai:text-embedding-3-large", nowhere)
    assert embedder.dimension == 3072
    with pytest.raises(EmbedderAway, match=r"127\.0\.0\.1:1 is away"):
        await embedder.embed(["a"])
    await embedder.close()
    with pytest.raises(EmbedderAway):
        await open_embedder("openai:unknown", nowhere)


async def test_vectors_come_in_the_order_of_the_texts(server: OpenAIServer, embedder: Embedder) -> None:
    def backwards(answer: dict[str, Any]) -> dict[str, Any]:
        return {**answer, "data": answer["data"][::-1]}

    server.change = backwards
    texts = [f"text number {number}" for number in range(10)]
    found = await embedder.embed(texts)
    assert found.vectors == [server.vector(text) for text in texts]
    assert (found.tokens, found.calls, found.unembedded) == (30, 1, 0)
    assert await embedder.embed_query("text number 3") == server.vector("text number 3")


async def test_without_indices_and_usage_the_order_and_an_estimate_count(
    server: OpenAIServer, embedder: Embedder
) -> None:
    server.change = lambda answer: {"data": [{"embedding": item["embedding"]} for item in answer["data"]]}
    found = await embedder.embed(["abcdefgh", "xyz"])
    assert found.vectors == [server.vector("abcdefgh"), server.vector("xyz")]
    assert found.tokens == 3


async def test_many_texts_are_asked_in_batches(server: OpenAIServer, embedder: Embedder) -> None:
    texts = [f"t{number}" for number in range(300)]
    found = await embedder.embed(texts)
    assert found.vectors == [server.vector(text) for text in texts]
    assert [len(seen.texts) for seen in server.seen] == [128, 128, 44]
    assert found.calls == 3


@given(st.lists(st.integers(0, BATCH_CHARS * 2), max_size=400))
def test_batches_hold_every_text_once_within_the_bounds(lengths: list[int]) -> None:
    texts = ["x" * (length // 100) for length in lengths]
    found = list(batches(range(len(texts)), texts))
    assert [index for batch in found for index in batch] == list(range(len(texts)))
    for batch in found:
        assert 0 < len(batch) <= BATCH_TEXTS
        assert len(batch) == 1 or sum(len(texts[index]) for index in batch) <= BATCH_CHARS


async def test_refused_texts_stand_alone(server: OpenAIServer, embedder: Embedder) -> None:
    server.refuses = lambda text: "bad" in text
    texts = [f"bad {number}" if number in {0, 17, 99} else f"good {number}" for number in range(100)]
    found = await embedder.embed(texts)
    assert found.vectors == [None if "bad" in text else server.vector(text) for text in texts]
    assert found.unembedded == 3
    assert found.calls == len(server.seen) < 50


async def test_an_endpoint_that_takes_fewer_texts_gets_fewer(server: OpenAIServer, embedder: Embedder) -> None:
    server.most_texts = 32
    texts = [f"t{number}" for number in range(128)]
    assert (await embedder.embed(texts)).vectors == [server.vector(text) for text in texts]


async def test_one_refused_text_alone_is_the_text_s_fault(server: OpenAIServer, embedder: Embedder) -> None:
    server.refuses = lambda text: text == "bad"
    assert (await embedder.embed(["bad"])).vectors == [None]
    assert await embedder.embed_query("bad") is None


async def test_an_endpoint_that_refuses_a_plain_word_too_stops(server: OpenAIServer, embedder: Embedder) -> None:
    server.refuses = lambda _: True
    with pytest.raises(EmbedderUnusable, match="refuses even a plain word"):
        await embedder.embed(["one", "two"])
    with pytest.raises(EmbedderUnusable, match="refuses even a plain word"):
        await open_embedder("openai:local", _settings(server))


async def test_half_an_emoji_and_nul_are_embedded(server: OpenAIServer, embedder: Embedder) -> None:
    assert await embedder.embed_query("hi \ud83d") == server.vector("hi \ufffd")
    assert await embedder.embed_query("a\0b 👋🔥") == server.vector("ab 👋🔥")


async def test_blank_texts_are_not_asked(server: OpenAIServer, embedder: Embedder) -> None:
    found = await embedder.embed(["", "a", "  "])
    assert [seen.texts for seen in server.seen] == [["a"]]
    assert [vector is None for vector in found.vectors] == [True, False, True]
    assert await embedder.embed_query(" ") is None
    assert len(server.seen) == 1


def _json(body: bytes) -> Fault:
    return Fault(body=body)


@pytest.mark.parametrize(
    "fault",
    [
        *(Fault(status) for status in (408, 409, 429, 500, 502, 503, 529)),
        Fault(503, b"<html>", "text/html"),
        Fault(drop=True),
        Fault(body=b"<html>a proxy's page</html>", content_type="text/html"),
        Fault(body=b"", content_type="text/plain"),
        _json(b""),
        _json(b"{"),
        _json(b"[]"),
        _json(b"null"),
        _json(b'"text"'),
        _json(b"{}"),
        _json(b'{"data": null}'),
        _json(b'{"data": []}'),
        _json(b'{"data": [1]}'),
        _json(b'{"data": [{}]}'),
        _json(b'{"data": [{"embedding": null}]}'),
        _json(b'{"data": [{"embedding": ["x"]}]}'),
        _json(b'{"data": [{"embedding": [null]}]}'),
        _json(b'{"data": [{"embedding": {"a": 1}}]}'),
        _json(b'{"data": [{"embedding": "aGVsbG8="}]}'),
        _json(b'{"data": [{"index": 7, "embedding": [1, 1, 1, 1, 1, 1, 1, 1]}]}'),
        _json(b'{"data": [{"embedding": [1]}, {"embedding": [1]}]}'),
    ],
)
async def test_an_endpoint_that_is_away_or_talks_nonsense_is_tried_again(
    server: OpenAIServer, embedder: Embedder, fault: Fault
) -> None:
    server.faults.append(fault)
    with pytest.raises(EmbedderAway) as raised:
        await embedder.embed(["a private text"])
    assert len(server.seen) == 1
    assert "private" not in str(raised.value)
    assert (await embedder.embed(["a"])).vectors == [server.vector("a")]


async def test_a_slow_endpoint_is_away(server: OpenAIServer) -> None:
    hanging = asyncio.Event()

    async def hang(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await hanging.wait()
        writer.close()

    listening = await asyncio.start_server(hang, "127.0.0.1", 0)
    slow = OpenAIServer(base_url=f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1")
    with pytest.raises(EmbedderAway, match="APITimeoutError"):
        await open_embedder("openai:local", _settings(slow, timeout_s=0.05))
    hanging.set()
    listening.close()
    await listening.wait_closed()
    assert not server.seen


@pytest.mark.parametrize("status", [401, 403, 404])
async def test_a_refused_key_or_model_stops(server: OpenAIServer, embedder: Embedder, status: int) -> None:
    server.faults.append(Fault(status))
    with pytest.raises(EmbedderUnusable, match=f"answers {status}: check OPENAI_API_KEY"):
        await embedder.embed(["a"])
    server.faults.append(Fault(status))
    with pytest.raises(EmbedderUnusable):
        await open_embedder("openai:local", _settings(server))


@pytest.mark.parametrize("dimension", [7, 9, 0])
async def test_another_dimension_stops_the_process(server: OpenAIServer, embedder: Embedder, dimension: int) -> None:
    server.dimension = dimension
    with pytest.raises(EmbedderUnusable, match=f"a vector of {dimension} numbers where 8"):
        await embedder.embed(["a"])


async def test_a_model_without_numbers_cannot_be_opened(server: OpenAIServer) -> None:
    server.dimension = 0
    with pytest.raises(EmbedderUnusable, match="no embedding model"):
        await open_embedder("openai:local", _settings(server))


@pytest.mark.parametrize(
    "numbers", ["[0, 0, 0, 0, 0, 0, 0, 0]", "[NaN, 1, 1, 1, 1, 1, 1, 1]", "[1e999, 1, 1, 1, 1, 1, 1, 1]"]
)
async def test_zeros_and_what_is_no_number_are_refused(server: OpenAIServer, embedder: Embedder, numbers: str) -> None:
    server.faults.append(Fault(body=f'{{"data": [{{"index": 0, "embedding": {numbers}}}]}}'.encode()))
    assert (await embedder.embed(["a"])).vectors == [None]


@pytest.mark.parametrize("spoil", [lambda s: s.faults.append(Fault(401)), lambda s: s.faults.append(Fault(500))])
async def test_neither_key_nor_text_shows_in_errors_and_logs(
    server: OpenAIServer, embedder: Embedder, caplog: pytest.LogCaptureFixture, spoil: Callable[[OpenAIServer], None]
) -> None:
    spoil(server)
    with caplog.at_level(logging.INFO), pytest.raises((EmbedderAway, EmbedderUnusable)) as raised:
        await embedder.embed(["a private text"])
    shown: list[str] = [caplog.text, repr(_settings(server))]
    error: BaseException | None = raised.value
    while error is not None:
        shown += [str(error), repr(error.args)]
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    for text in shown:
        assert KEY not in text
        assert "private" not in text


async def test_credentials_within_the_address_do_not_show() -> None:
    nowhere = OpenAISettings(base_url="http://me:hidden@127.0.0.1:1/v1", api_key=None)
    with pytest.raises(EmbedderAway) as raised:
        await open_embedder("openai:local", nowhere)
    assert "127.0.0.1:1" in str(raised.value)
    assert "hidden" not in str(raised.value)


async def test_without_key_and_address_it_says_which_settings_are_missing() -> None:
    with pytest.raises(EmbedderUnusable, match="OPENAI_API_KEY, or OPENAI_BASE_URL"):
        await open_embedder("openai:text-embedding-3-small", OpenAISettings(base_url=None, api_key=None))


async def test_its_settings_come_from_the_environment(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    embedder = await open_embedder("openai:local")
    await embedder.close()
    assert server.seen[0].authorization == f"Bearer {KEY}"


async def test_without_the_package_the_extra_is_named(server: OpenAIServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(EmbedderUnusable, match=r"pip install 'afterturn\[openai\]'"):
        await open_embedder("openai:local", _settings(server))
