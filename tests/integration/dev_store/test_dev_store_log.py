"""The engine's log never holds a condition: replaying it would decide anew, on another state."""

from pathlib import Path

from qdrant_client import models as m
from support.store import connect, start_store
from support.store_collection import bare, make_collection, match, within


def logged(folder: Path, word: str) -> bool:
    return any(word.encode() in file.read_bytes() for file in folder.glob("collections/*/shard/wal/open-*"))


async def test_conditions_are_decided_before_the_log(folder: Path) -> None:
    marked = m.Filter(must=[within("condition_on_rev", lt=5)], must_not=[match("condition_on_status", "erased")])
    with start_store(folder, "--flush-every", "3600") as store:
        async with connect(store.url) as client:
            await make_collection(client, "memories", None, {})
            await client.upsert("memories", [bare(1, payload_field=1), bare(2, payload_field=2)], wait=True)
            await client.upsert("memories", [bare(1, payload_field=3)], update_filter=marked, wait=True)
            await client.upsert("memories", [bare(3, payload_field=3)], update_filter=marked, wait=True)
            await client.set_payload("memories", {"payload_field": 4}, points=marked, wait=True)
            await client.delete("memories", m.FilterSelector(filter=marked), wait=True)
        store.kill()

    assert logged(folder, "payload_field")
    assert not logged(folder, "condition_on_")
