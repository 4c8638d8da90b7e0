"""What an operator wants to know of the store: its version, and the collection as it stands."""

from __future__ import annotations

import importlib.metadata
import re
from dataclasses import dataclass
from typing import Any

from afterturn.consumers.store import schema
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.errors import OldServer

MINIMUM = (1, 19)
"""The first server that resolves conditional writes to ids before it logs them."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What runs: the server's name and version, and the client's."""

    title: str
    server: str
    client: str

    @property
    def new_enough(self) -> bool:
        """Whether the server is at least ``MINIMUM``."""
        return version_of(self.server) >= MINIMUM


def version_of(text: str) -> tuple[int, int]:
    """Major and minor of a version; (0, 0) where it says none."""
    found = re.match(r"v?(\d+)\.(\d+)", text)
    return (int(found[1]), int(found[2])) if found else (0, 0)


async def versions(client: StoreClient) -> Versions:
    """Who answers at the address.

    Raises:
        StoreAway, WrongStore: see ``errors``.
    """
    async with client.call("reading the version") as api:
        info = await api.info()
    return Versions(info.title, info.version, importlib.metadata.version("qdrant-client"))


async def require_version(client: StoreClient) -> None:
    """Stop at a server that is too old.

    Raises:
        OldServer: it is; both versions are in the error.
        StoreAway, WrongStore: see ``errors``.
    """
    found = await versions(client)
    if not found.new_enough:
        raise OldServer(found.server, ".".join(map(str, MINIMUM)))


async def describe(client: StoreClient) -> dict[str, Any]:
    """The collection behind the alias as it stands: JSON values, no content.

    Raises:
        NoCollection: nothing goes by the alias.
        StoreAway, WrongStore: see ``errors``.
    """
    async with client.call("reading the collection") as api:
        found, info = await api.get_aliases(), await api.get_collection(client.alias)
    return {
        "alias": client.alias,
        "collection": next((a.collection_name for a in found.aliases if a.alias_name == client.alias), client.alias),
        "status": info.status.value,
        "points": info.points_count,
        "segments": info.segments_count,
        "dimension": schema.dimension_of(info),
        "indexes": {name: index.data_type.value for name, index in sorted(info.payload_schema.items())},
        "missing_indexes": schema.missing_indexes(info),
        "settings": info.config.metadata,
    }
