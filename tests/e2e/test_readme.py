"""What README and docs/from-an-agent.md show is run as it stands there, with the ports of a real stack put in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from afterturn.consumers.dev.stack import Addresses
from afterturn.streams.partitioner import Partitioner, partition_for

ROOT = Path(__file__).resolve().parents[2]
README, FROM_AN_AGENT = ROOT / "README.md", ROOT / "docs" / "from-an-agent.md"
DEAD_LETTERS = ROOT / "docs" / "dead-letters.md"


class Reader:
    """Somebody who copies a page's examples into a file or a shell, in a folder of their own."""

    def __init__(self, page: Path, stack: Addresses, folder: Path) -> None:
        self._text = page.read_text()
        self._folder = folder
        self._recall, self._kafka = stack.recall.removeprefix("http://"), stack.kafka
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, **stack.environment(), "PATH": path}

    def blocks(self, language: str, naming: str = "") -> list[str]:
        """The page's blocks in a language that name something, with this stack's ports."""
        found = re.findall(rf"```{language}\n(.*?)```", self._text, re.DOTALL)
        ported = (re.sub(r"(?:localhost|127\.0\.0\.1):8080", self._recall, block) for block in found)
        return [block.replace("localhost:9092", self._kafka) for block in ported if naming in block]

    def run(self, *command: str) -> str:
        """What a command says; it must end well."""
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env=self._environment, cwd=self._folder, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def python(self, block: str) -> str:
        return self.run(sys.executable, "-c", block)

    def shell(self, block: str) -> str:
        return self.run("bash", "-euo", "pipefail", "-c", block)

    def answers(self, block: str) -> list[dict[str, Any]]:
        """What the curls of a block are answered, in JSON."""
        return list(_documents(self.shell(block)))


def _documents(text: str) -> Iterator[dict[str, Any]]:
    decoder = json.JSONDecoder()
    while text := text.lstrip():
        document, end = decoder.raw_decode(text)
        assert "error" not in document, document
        yield document
        text = text[end:]


def test_the_readme(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(README, stack, tmp_path)
    (block,) = reader.blocks("python")
    first, again = reader.python(block), reader.python(block)
    assert "Ada: We fly to Oviedo on the 12th." in first
    assert "memory.recorded.v1" in first
    assert "memory.skipped.v1" in again
    assert "duplicate" in again
    assert again.count("We fly to Oviedo") == 1
    (block,) = reader.blocks("sh", "curl")
    accepted, answer = reader.answers(block)
    assert accepted["status"] == "accepted"
    assert "Ada: We fly to Oviedo on the 12th." in answer["text"]


def test_from_an_agent(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(FROM_AN_AGENT, stack, tmp_path)
    publishing, subscribing = reader.blocks("python")
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
