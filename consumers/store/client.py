"""The open client, and the one place where its errors are translated.

Administration goes through Qdrant's client; what runs for every batch and every question is sent as JSON by aiohttp
(``wire``): building and parsing the client's models costs more time than the store takes to answer.
"""

from __future__ import annotations

import asyncio
import math
import re
import warnings
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from json import JSONDecodeError
from typing import Any

import aiohttp
import httpx
import orjson
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from afterturn.consumers.store.errors import INIT, NoCollection, StoreAway, StoreRefused, WrongStore
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.wire import Answer, Wire
from afterturn.streams.errors import BadSettings, Recoverable, Stop

_KEEPALIVE_S = 3  # below every server's own, so that a request never meets a connection that is being closed
_MAX_WHY = 300
_AWAY = frozenset({408, 429, 500, 502, 503, 504})
_NOT_OURS = re.compile(r"dimension error|not existing vector name|index required|no appropriate index", re.IGNORECASE)
_QUOTED = re.compile(r'string "(?:[^"\\]|\\.)*"?')
_DURABLE = "?wait=true&ordering=strong"
_OK = 200


class StoreClient:
    """An open connection to the store, for one event loop, and the alias its collection goes by.

    Attributes:
        api: Qdrant's own client; use it inside ``call`` only.
        alias: the collection's name in every request.
    """

    def __init__(self, api: AsyncQdrantClient, wire: Wire, alias: str, timeout: float) -> None:
        self.api = api
        self._wire = wire
        self.alias = alias
        self._timeout = timeout

    @asynccontextmanager
    async def call(self, operation: str) -> AsyncIterator[AsyncQdrantClient]:
        """Qdrant's client for one call, within the timeout, its errors translated.

        Raises:
            StoreAway, StoreRefused, WrongStore: see ``errors``.
        """
        try:
            with _translated(operation, self.alias):
                async with asyncio.timeout(self._timeout):
                    yield self.api
        except TimeoutError:
            raise StoreAway(operation, "TimeoutError") from None

    async def post(self, operation: str, path: str, body: object) -> Any:  # noqa: ANN401 - any JSON
        """Send a read on the collection's points and return its result as JSON values.

        Raises:
            StoreAway, StoreRefused, WrongStore: see ``errors``.
        """
        return await self._send(operation, "POST", path, body, again=True)

    async def change(self, operation: str, method: str, path: str, body: object) -> None:
        """Send a write and return once it is applied and durable.

        Raises:
            StoreAway: also where it was taken but not completed in time.
            StoreRefused, WrongStore: see ``errors``.
        """
        result = await self._send(operation, method, path + _DURABLE, body, again=False)
        if result.get("status") != "completed":
            raise StoreAway(operation, str(result.get("status")))

    async def _send(self, operation: str, method: str, path: str, body: object, *, again: bool) -> Any:  # noqa: ANN401
        where = f"/collections/{self.alias}/points{path}"
        async with self.call(operation):
            answer = await self._wire.send(method, where, orjson.dumps(body), again=again)
            if answer.status != _OK:
                raise _refused(operation, self.alias, answer)
            return _result(operation, answer)

    async def close(self) -> None:
        """Close every connection; calls that are on their way fail."""
        await self._wire.close()
        await self.api.close()


def open_client(settings: StoreSettings) -> StoreClient:
    """A client for the running event loop; nothing is sent yet. Close it in the same loop.

    Raises:
        BadSettings: ``QDRANT_URL`` is no URL.
    """
    key = settings.api_key.get_secret_value() if settings.api_key else None
    if key and not (key.isascii() and key.isprintable()):
        raise BadSettings("QDRANT_API_KEY", "it holds characters a header cannot carry")
    with warnings.catch_warnings():
        # A key over plain HTTP is the operator's decision: inside one host or a mesh it is usual.
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        try:
            api = AsyncQdrantClient(
                url=settings.url,
                api_key=key,
                timeout=math.ceil(settings.timeout),
                check_compatibility=False,  # ``doctor`` asks, and refuses: this would ask in a thread, and warn
                headers={"accept-encoding": "identity"},  # compressed answers on kept connections stall for 40 ms
                limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=_KEEPALIVE_S),
            )
        except ValueError as error:
            raise BadSettings("QDRANT_URL", f"it is no URL ({type(error).__name__})") from None
    return StoreClient(api, Wire(settings.url, {"api-key": key} if key else {}), settings.alias, settings.timeout)


@asynccontextmanager
async def opened(settings: StoreSettings) -> AsyncIterator[StoreClient]:
    """A client that is closed at the end of the block."""
    client = open_client(settings)
    try:
        yield client
    finally:
        await client.close()


@contextmanager
def _translated(operation: str, alias: str) -> Iterator[None]:
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise StoreAway(operation, "429", retry_after=error.retry_after_s) from None
    except UnexpectedResponse as error:
        raise refusal(operation, alias, error.status_code or 0, error.content) from None
    except ResponseHandlingException as error:
        raise _unanswered(operation, error.source) from None
    except (aiohttp.ClientError, JSONDecodeError) as error:
        raise StoreAway(operation, type(error).__name__) from None


def _result(operation: str, answer: Answer) -> Any:  # noqa: ANN401 - any JSON
    body = orjson.loads(answer.content)
    if not isinstance(body, dict) or "result" not in body:
        raise _foreign(operation)
    return body["result"]


def _refused(operation: str, alias: str, answer: Answer) -> Recoverable | Stop:
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return StoreAway(operation, str(answer.status), retry_after=int(after))
    return refusal(operation, alias, answer.status, answer.content)


def _unanswered(operation: str, source: Exception) -> Recoverable | Stop:
    if isinstance(source, httpx.UnsupportedProtocol):
        return BadSettings("QDRANT_URL", "it must begin with http:// or https://")
    if isinstance(source, ValidationError):
        return _foreign(operation)
    return StoreAway(operation, type(source).__name__)


def _foreign(operation: str) -> WrongStore:
    return WrongStore(f"The answer to {operation} is not one of a Qdrant this client knows: compare the versions.")


def refusal(operation: str, alias: str, status: int, content: bytes) -> Recoverable | Stop:
    """What an answer with an error status means for whoever called. Pure."""
    if status in _AWAY:
        return StoreAway(operation, str(status))
    if status in (401, 403):
        return WrongStore(f"Qdrant does not allow these credentials {operation} ({status}): check QDRANT_API_KEY.")
    why = _reason(content)
    if status == 404 and "No point with id" not in why:
        return NoCollection(alias)
    if status == 501:
        return WrongStore(f"This store does not know the call {operation}: {why}")
    if _NOT_OURS.search(why):
        return WrongStore(f"The collection {alias} is not as it was made ({operation}): {why}", command_that_helps=INIT)
    return StoreRefused(operation, status, why)


def _reason(content: bytes) -> str:
    """The server's reason, without the strings of ours that it may quote."""
    try:
        why = str(orjson.loads(content)["status"]["error"])
    except (JSONDecodeError, KeyError, TypeError):
        return "no reason given"
    return _QUOTED.sub("a string", why)[:_MAX_WHY]
