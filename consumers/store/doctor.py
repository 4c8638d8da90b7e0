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
    info = await client.get("reading the version", "/")
    title, version = str(info.get("title", "")), str(info.get("version", ""))
    return Versions(title, version, importlib.metadata.version("qdrant-client"))


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
    name = await target(client) or client.alias
    info = await collection_info(client, name)
    return {
        "alias": client.alias,
        "collection": name,
        "status": info.get("status"),
        "points": info.get("points_count"),
        "segments": info.get("segments_count"),
        "dimension": schema.dimension_of(info),
        "indexes": {name: index.get("data_type") for name, index in sorted(schema.payload_schema(info).items())},
        "missing_indexes": schema.missing_indexes(info),
        "settings": schema.part(info, "config").get("metadata"),
    }


async def target(client: StoreClient) -> str | None:
    """The collection the alias stands for, None where there is no such alias.

    Raises:
        StoreAway, WrongStore: see ``errors``.
    """
    found = await client.get("reading aliases", "/aliases")
    names = {each["alias_name"]: str(each["collection_name"]) for each in found.get("aliases", ())}
    return names.get(client.alias)


async def collection_info(client: StoreClient, name: str) -> schema.Info:
    """The collection as the server tells it.

    Raises:
        NoCollection: there is none of this name.
        StoreAway, WrongStore: see ``errors``.
    """
    return await client.get("reading the collection", f"/collections/{name}")
