"""The collection behind its alias: made by ``afterturn init``, compared by every service before it starts."""

from __future__ import annotations

from collections.abc import Sequence

from afterturn.consumers.store import schema
from afterturn.consumers.store.client import StoreClient
from afterturn.consumers.store.doctor import collection_info, require_version, target
from afterturn.consumers.store.errors import INIT, NoCollection, StoreRefused, WrongDimension, WrongStore
from afterturn.consumers.store.schema import Difference
from afterturn.schemas.settings import FoldSettings

__all__ = ("check", "create_or_check", "refuse", "require", "target")

_CONFLICT = 409


async def create_or_check(client: StoreClient, settings: FoldSettings) -> list[Difference]:
    """Make the collection, its indexes and its alias where they are missing; of what is there nothing is changed.

    Two processes may do it at once, and one that was cut off may be run again. Returns what differs: a service may
    start on an empty list only (``require`` says so with an error).

    Raises:
        StoreAway: Qdrant does not answer: retry.
        WrongDimension: the collection behind the alias holds vectors of another size.
        OldServer, WrongStore: the server is too old, refuses the credentials, or uses the alias's name otherwise.
    """
    await require_version(client)
    name = await target(client)
    if name is None:
        name = schema.collection_name(settings, client.alias)
        await _create(client, name, settings)
    await _make_indexes(client, name)
    found = await _compared(client, name, settings)
    if not found:
        await _make_alias(client, name)
    return found


async def check(client: StoreClient, settings: FoldSettings) -> list[Difference]:
    """Compare the collection behind the alias with these settings; nothing is changed.

    Raises:
        StoreAway: Qdrant does not answer: retry.
        NoCollection: nothing goes by the alias; the error names the command that makes it.
        WrongDimension: the collection holds vectors of another size.
        OldServer, WrongStore: the server is too old, or refuses the credentials.
    """
    await require_version(client)
    name = await target(client)
    if name is None:
        raise NoCollection(client.alias)
    return await _compared(client, name, settings)


async def _compared(client: StoreClient, name: str, settings: FoldSettings) -> list[Difference]:
    info = await collection_info(client, name)
    if to := schema.moving_to(info):
        prefix = str(to.get("topic", "")).removesuffix(".turns")
        raise WrongStore(
            f"The collection {name} is being moved to another partition count, and that was not finished.",
            command_that_helps=f"afterturn topics repartition --partitions {to.get('partitions')} --prefix {prefix}",
        )
    theirs = schema.dimension_of(info)
    if theirs is not None and theirs != settings.dimension:
        raise WrongDimension(name, settings.dimension, theirs)
    return schema.differences(info, settings)


async def require(client: StoreClient, settings: FoldSettings) -> None:
    """What a service does before it starts: compare, and stop at any difference.

    Raises:
        StoreAway: Qdrant does not answer: retry.
        WrongStore: also where anything differs; the error names each field with both values.
    """
    refuse(client.alias, await check(client, settings))


def refuse(alias: str, found: Sequence[Difference]) -> None:
    """Stop at any difference.

    Raises:
        WrongStore: there is one; the text names the first five.
    """
    if found:
        told = "; ".join(map(str, found[:5]))
        more = f" (and {len(found) - 5} more)" if len(found) > 5 else ""
        raise WrongStore(
            f"The collection behind {alias} was made with other settings: {told}{more}. Set them back, or make another "
            "collection under another QDRANT_ALIAS.",
            command_that_helps=INIT,
        )


async def _create(client: StoreClient, name: str, settings: FoldSettings) -> None:
    try:
        async with client.call("creating the collection") as api:
            await api.create_collection(name, **schema.creation(settings))
    except StoreRefused as refused:  # another process has just made it: it is compared like any other
        if refused.status != _CONFLICT:
            raise


async def _make_indexes(client: StoreClient, name: str) -> None:
    missing = schema.missing_indexes(await collection_info(client, name))
    made = schema.indexes() if missing else {}
    for field in missing:
        async with client.call(f"indexing {field}") as api:
            await api.create_payload_index(name, field, made[field], wait=True)


async def _make_alias(client: StoreClient, name: str) -> None:
    from qdrant_client import models

    alias = models.CreateAlias(collection_name=name, alias_name=client.alias)
    try:
        async with client.call("naming the collection") as api:
            await api.update_collection_aliases([models.CreateAliasOperation(create_alias=alias)])
    except StoreRefused as refused:
        raise WrongStore(
            f"The store does not take {client.alias} as an alias ({refused.why}): set another QDRANT_ALIAS."
        ) from None
