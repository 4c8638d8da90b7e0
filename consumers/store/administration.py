"""Qdrant's own client, for what administration changes: making the collection, its indexes and its alias.

Importing it takes 70 MB and most of a second, so only what makes a collection does (``afterturn init``, ``dev``):
services compare and work without it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from json import JSONDecodeError

import httpx
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import ResourceExhaustedResponse
from qdrant_client.http.exceptions import ResponseHandlingException, UnexpectedResponse

from afterturn.consumers.store.errors import StoreAway
from afterturn.consumers.store.refusing import foreign, refusal
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.store.wire import KEPT_S
from afterturn.streams.errors import Recoverable, Stop


def open_api(settings: StoreSettings) -> AsyncQdrantClient:
    """Qdrant's client for the running event loop; nothing is sent yet."""
    key = settings.api_key.get_secret_value() if settings.api_key else None
    with warnings.catch_warnings():
        # A key over plain HTTP is the operator's decision: inside one host or a mesh it is usual.
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        return AsyncQdrantClient(
            url=settings.url,
            api_key=key,
            timeout=math.ceil(settings.timeout),
            check_compatibility=False,  # ``doctor`` asks, and refuses: this would ask in a thread, and warn
            headers={"accept-encoding": "identity"},  # compressed answers on kept connections stall for 40 ms
            limits=httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=KEPT_S),
        )


@contextmanager
def translated(operation: str, alias: str) -> Iterator[None]:
    """Qdrant's errors as ours.

    Raises:
        StoreAway, StoreRefused, WrongStore: see ``errors``.
    """
    try:
        yield
    except ResourceExhaustedResponse as error:
        raise StoreAway(operation, "429", retry_after=error.retry_after_s) from None
    except UnexpectedResponse as error:
        raise refusal(operation, alias, error.status_code or 0, error.content) from None
    except ResponseHandlingException as error:
        raise _unanswered(operation, error.source) from None
    except JSONDecodeError as error:
        raise StoreAway(operation, type(error).__name__) from None


def _unanswered(operation: str, source: Exception) -> Recoverable | Stop:
    if isinstance(source, ValidationError):
        return foreign(operation)
    return StoreAway(operation, type(source).__name__)
