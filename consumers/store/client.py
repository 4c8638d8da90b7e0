"""The open client, and the one place where its errors are translated.

What runs for every batch and every question, and what a service compares before it starts, is sent as JSON by aiohttp
(``wire``): building and parsing the models of Qdrant's own client costs more time than the store takes to answer, and
importing it a third of a service's memory. What makes a collection goes through that client (``administration``).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from json import JSONDecodeError
from typing import TYPE_CHECKING, Any

import aiohttp
import orjson
from yarl import URL

from afterturn.consumers.store.errors import StoreAway
from afterturn.consumers.store.refusing import foreign, refusal
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.wire import Answer, Still, Wire
from afterturn.streams.errors import BadSettings, Recoverable, Stop

if TYPE_CHECKING:
    from qdrant_client import AsyncQdrantClient

__all__ = ("StoreClient", "open_client", "opened", "refusal")

_DURABLE = "?wait=true&ordering=strong"
_HOST = re.compile(r"[A-Za-z0-9._:%-]+")
_OK = 200


class StoreClient:
    """An open connection to the store, for one event loop, and the alias its collection goes by.

    ``alias`` is the collection's name in every request.
    """

    def __init__(self, settings: StoreSettings, wire: Wire) -> None:
        self.alias = settings.alias
        self._settings = settings
        self._wire = wire
        self._api: AsyncQdrantClient | None = None

    @property
    def api(self) -> AsyncQdrantClient:
        """Qdrant's own client, imported and opened by the first use; use it inside ``call`` only."""
        if self._api is None:
            from afterturn.consumers.store.administration import open_api

            self._api = open_api(self._settings)
        return self._api

    @asynccontextmanager
    async def call(self, operation: str) -> AsyncIterator[AsyncQdrantClient]:
        """Qdrant's own client for one call, within the timeout, its errors translated.

        Raises:
            StoreAway, StoreRefused, WrongStore: see ``errors``.
        """
        from afterturn.consumers.store.administration import translated

        api = self.api
        async with self._in_time(operation):
            with translated(operation, self.alias):
                yield api

    async def get(self, operation: str, path: str) -> dict[str, Any]:
        """Read something about the server or its collections; the answer, or its result where it has one.

        Raises:
            StoreAway, StoreRefused, WrongStore: see ``errors``.
        """
        answer = await self._sent(operation, "GET", path, b"", again=True)
        found = answer.get("result", answer)
        if not isinstance(found, dict):
            raise foreign(operation)
        return found

    async def post(self, operation: str, path: str, body: object) -> Any:  # noqa: ANN401 - any JSON
        """Send a read on the collection's points and return its result as JSON values.

        Raises:
            StoreAway, StoreRefused, WrongStore: see ``errors``.
        """
        return await self._on_points(operation, "POST", path, body, again=True)

    async def ask(self, operation: str, path: str, body: object) -> Any:  # noqa: ANN401 - any JSON
        """Send a read on the collection itself and return its result as JSON values. Raises as ``post`` does."""
        return await self._result(operation, "POST", f"/collections/{self.alias}{path}", body, again=True)

    async def change(self, operation: str, method: str, path: str, body: object, still: Still = None) -> None:
        """Send a write and return once it is applied and durable. ``still`` is asked as long as it is being sent.

        Raises:
            StoreAway: also where it was taken but not completed in time.
            StoreRefused, WrongStore: see ``errors``.
        """
        result = await self._on_points(operation, method, path + _DURABLE, body, again=False, still=still)
        if result.get("status") != "completed":
            raise StoreAway(operation, str(result.get("status")))

    async def close(self) -> None:
        """Close every connection; calls that are on their way fail."""
        await self._wire.close()
        if self._api is not None:
            await self._api.close()

    async def _on_points(
        self, operation: str, method: str, path: str, body: object, *, again: bool, still: Still = None
    ) -> Any:  # noqa: ANN401
        where = f"/collections/{self.alias}/points{path}"
        return await self._result(operation, method, where, body, again=again, still=still)

    async def _result(
        self, operation: str, method: str, where: str, body: object, *, again: bool, still: Still = None
    ) -> Any:  # noqa: ANN401
        answer = await self._sent(operation, method, where, orjson.dumps(body), again=again, still=still)
        if "result" not in answer:
            raise foreign(operation)
        return answer["result"]

    async def _sent(
        self, operation: str, method: str, path: str, body: bytes, *, again: bool, still: Still = None
    ) -> dict[str, Any]:
        async with self._in_time(operation):
            answer = await self._wire.send(method, path, body, again=again, still=still)
            if answer.status != _OK:
                raise _refused(operation, self.alias, answer)
            found = orjson.loads(answer.content)
            if not isinstance(found, dict):
                raise foreign(operation)
            return found

    @asynccontextmanager
    async def _in_time(self, operation: str) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout(self._settings.timeout):
                yield
        except TimeoutError:
            raise StoreAway(operation, "TimeoutError") from None
        except (aiohttp.ClientError, JSONDecodeError) as error:
            raise StoreAway(operation, type(error).__name__) from None


def open_client(settings: StoreSettings) -> StoreClient:
    """A client for the running event loop; nothing is sent yet. Close it in the same loop.

    Raises:
        BadSettings: ``QDRANT_URL`` is no URL.
    """
    key = settings.api_key.get_secret_value() if settings.api_key else None
    if key and not (key.isascii() and key.isprintable()):
        raise BadSettings("QDRANT_API_KEY", "it holds characters a header cannot carry")
    try:
        if not _HOST.fullmatch(URL(settings.url).raw_host or ""):
            raise BadSettings("QDRANT_URL", "it names no host")
        wire = Wire(settings.url, {"api-key": key} if key else {})
    except ValueError as error:
        raise BadSettings("QDRANT_URL", f"it is no URL ({type(error).__name__})") from None
    return StoreClient(settings, wire)


@asynccontextmanager
async def opened(settings: StoreSettings) -> AsyncIterator[StoreClient]:
    """A client that is closed at the end of the block."""
    client = open_client(settings)
    try:
        yield client
    finally:
        await client.close()


def _refused(operation: str, alias: str, answer: Answer) -> Recoverable | Stop:
    after = answer.headers.get("retry-after", "")
    if after.isdecimal():
        return StoreAway(operation, str(answer.status), retry_after=int(after))
    return refusal(operation, alias, answer.status, answer.content)
