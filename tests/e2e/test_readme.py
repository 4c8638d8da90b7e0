"""What README and docs/from-an-agent.md show is run as it stands there, with the ports of a real stack put in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support.reader import Reader

from afterturn.consumers.dev.stack import Addresses
from afterturn.streams.partitioner import Partitioner, partition_for

ROOT = Path(__file__).resolve().parents[2]
README, FROM_AN_AGENT = ROOT / "README.md", ROOT / "docs" / "from-an-agent.md"
DEAD_LETTERS = ROOT / "docs" / "dead-letters.md"


def test_the_readme(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(README, stack, tmp_path)
    (block,) = reader.blocks("python")
    first, again = reader.python(block), reader.python(block)
    assert "user: We fly to Oviedo on the 12th." in first
    assert again.count("user: We fly to Oviedo on the 12th.") == 1, "a turn is recorded once"
    (block,) = reader.blocks("sh", "curl")
    accepted, answer = reader.answers(block)
    assert accepted["status"] == "visible"
    assert "user: We fly to Oviedo on the 12th." in answer["text"]


def test_from_an_agent(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(FROM_AN_AGENT, stack, tmp_path)
    turning, unasked, publishing, subscribing = reader.blocks("python")
    assert reader.python(turning) == "I know nothing yet. published\n"
    assert "Description: Memories about the trip." in reader.python(unasked)
    assert re.fullmatch(r"\d+-\d+-\d+-[0-9a-f-]{36}\n", reader.python(publishing))

    lines, _answer = reader.blocks("json")
    (tmp_path / "turns.jsonl").write_text(lines)
    (block,) = reader.blocks("sh", "turns.jsonl")
    assert "2 turns published and recallable" in reader.shell(block)

    (block,) = reader.blocks("sh", "curl")
    (answer,) = reader.answers(block)
    assert answer["degraded"] == []
    for said in (
        "Ada: We fly to Oviedo",
        "Ada: Bo joins us",
        "The hotel must have a lift.",
        "Ada: We stay at the Gran",
    ):
        assert said in answer["text"]

    events = reader.python(subscribing).splitlines()
    assert sum(" ada memory.recorded.v1" in line for line in events) >= 4


def test_dead_letters(stack: Addresses, tmp_path: Path) -> None:
    """A publisher with another partitioner, and what the page says helps."""
    tenant = next(n for i in range(100) if (n := f"astray-{i}") and _partition(n, "crc32") != _partition(n, "murmur2"))
    astray = published_elsewhere(tenant)
    reader = Reader(DEAD_LETTERS, stack, tmp_path)
    assert reader.python(astray).startswith("0-")
    listing, replaying = reader.blocks("sh")
    deadline = time.monotonic() + 30
    while tenant not in reader.shell(listing):
        assert time.monotonic() < deadline
    said = reader.shell(replaying)
    assert "1 dead letter would be replayed" in said
    assert "1 dead letter replayed" in said
    recorded = ["afterturn", "events", "--tenant", tenant, "--type", "memory.recorded"]
    while "added 1" not in reader.run(*recorded):
        assert time.monotonic() < deadline


def test_repartition_is_refused_while_the_stack_records(stack: Addresses, tmp_path: Path) -> None:
    (block,) = Reader(ROOT / "docs" / "repartition.md", stack, tmp_path).blocks("sh")
    dry, _ = block.splitlines()
    environment = {**os.environ, **stack.environment(), "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", dry], capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 1
    assert "missing: the group" in done.stderr


def _partition(tenant: str, partitioner: Partitioner) -> int:
    return partition_for(tenant.encode(), 12, partitioner)


def published_elsewhere(tenant: str) -> str:
    """A program that publishes a turn as librdkafka's clients do by default."""
    turn = {
        "tenant": tenant,
        "thread": "t",
        "turn_id": "1",
        "occurred_at": "2026-05-08T13:56:00Z",
        "messages": [{"role": "user", "content": "The boat is called Nightjar."}],
    }
    return (
        "import asyncio\nfrom afterturn.streams import TurnPublisher\n"
        f"async def main():\n    async with TurnPublisher(partitioner='crc32') as p:\n"
        f"        print(await p.publish({turn!r}))\nasyncio.run(main())"
    )


def test_the_answer_that_is_shown_is_one(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(FROM_AN_AGENT, stack, tmp_path)
    shown = json.loads(reader.blocks("json")[1])
    (block,) = reader.blocks("sh", "curl")
    (given,) = reader.answers(block)
    assert shown.keys() == given.keys()
    authored = next(memory for memory in given["memories"] if "author" in memory)
    assert shown["memories"][0].keys() == authored.keys()


@pytest.mark.parametrize("page", sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]), ids=lambda p: p.name)
def test_every_curl_that_posts_says_that_it_posts_json(page: Path) -> None:
    for call in re.findall(r"\bcurl (?:[^\n\\]|\\\n|\\.)*", page.read_text()):
        assert " -d " not in call or "-H 'content-type: application/json'" in call, call
