"""The process: its data outlives it, one process a folder, and it ends in order."""

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from qdrant_client import AsyncQdrantClient
from qdrant_client import models as m
from support.store import StoreProcess, connect, start_store
from support.store_collection import INDEXES, make_collection, match, point

COMMAND = [sys.executable, "-m", "afterturn.consumers.dev.store"]


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=30, check=False)


async def fill(client: AsyncQdrantClient) -> None:
    await make_collection(client, "memories-v1")
    alias = m.CreateAlias(collection_name="memories-v1", alias_name="memories")
    await client.update_collection_aliases([m.CreateAliasOperation(create_alias=alias)])
    await client.upsert("memories", [point(number) for number in range(10)], wait=True)


@pytest.mark.parametrize("end", [StoreProcess.stop, StoreProcess.kill])
async def test_everything_is_there_after_a_restart(folder: Path, end: object) -> None:
    assert callable(end)
    with start_store(folder) as store:
        async with connect(store.url) as client:
            await fill(client)
            before = await client.get_collection("memories")
            rows, _ = await client.scroll("memories", limit=100, with_vectors=True)

            end(store)
            store.restart()

            after = await client.get_collection("memories")
            again, _ = await client.scroll("memories", limit=100, with_vectors=True)
            assert [(row.id, row.payload) for row in again] == [(row.id, row.payload) for row in rows]
            assert len(again) == 10
            assert after.config == before.config
            assert after.payload_schema.keys() == INDEXES.keys()
            by_index = await client.count("memories", m.Filter(must=[match("tenant", "ann")]))
            assert by_index.count == 10


async def test_a_second_process_on_the_folder_is_refused(folder: Path) -> None:
    with start_store(folder) as store:
        second = run("--data-dir", str(folder))

        assert second.returncode == 1
        assert second.stdout == ""
        assert f"the data folder {folder} is in use by another store process" in second.stderr
        async with connect(store.url) as client:
            assert (await client.get_collections()).collections == []


def test_a_taken_port_is_told(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

        ended = run("--data-dir", str(folder), "--port", str(port))

    assert ended.returncode == 1
    assert ended.stderr.startswith(f"cannot listen on 127.0.0.1:{port}: ")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_when_asked(folder: Path, number: signal.Signals) -> None:
    with subprocess.Popen([*COMMAND, "--data-dir", str(folder)], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("ready http://127.0.0.1:")
        assert int(line.rsplit(":", 1)[1]) > 0

        os.kill(process.pid, number)

        assert process.wait(20) == 0
        assert process.stdout.read() == ""  # the one line is all


async def test_what_was_left_of_a_half_made_collection_is_cleared_away(folder: Path) -> None:
    left = folder / "collections" / ".aside-1" / "shard"
    left.mkdir(parents=True)

    with start_store(folder) as store:
        async with connect(store.url) as client:
            assert (await client.get_collections()).collections == []
            assert not left.parent.exists()
