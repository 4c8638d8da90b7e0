"""The pages on HTTP and on who may: their commands are run as they stand."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

from support.reader import Reader

from afterturn.consumers.dev.stack import Addresses
from afterturn.consumers.recall.web.app import ROUTES

ROOT = Path(__file__).resolve().parents[2]
OVER_HTTP, ACCESS = ROOT / "docs" / "over-http.md", ROOT / "docs" / "access.md"


def test_over_http(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(OVER_HTTP, stack, tmp_path)
    writing, browsing, reviewing, conversation, following, removing = reader.blocks("sh", "curl")
    written = reader.answers(writing)
    assert [(answer["status"], answer["event"]) for answer in written] == [("visible", "memory.recorded")] * 2
    by_tag, recorded, stats, tenants = reader.answers(browsing)
    assert [memory["text"] for memory in by_tag["memories"]] == ["Lin is allergic to peanuts."]
    assert [memory["id"] for memory in recorded["memories"]] == [written[1]["id"]]
    assert stats["memories"] == 2
    assert "lin" in {row["tenant"] for row in tenants["tenants"]}
    (reviewed,) = reader.answers(reviewing)
    assert (reviewed["event"], reviewed["counts"]["activated"]) == ("memory.reviewed", 1)
    _, thread = reader.answers(conversation)
    assert [message["text"] for message in thread["messages"]] == ["The keys are with Rui."]
    assert reader.shell(following).startswith("retry: ")
    would, forgot, configured, erased = reader.answers(removing)
    assert (would["would_forget"], would["of"]) == (1, 4)
    assert (forgot["counts"]["forgotten"], configured["status"], erased["counts"]["erased"]) == (1, "visible", 3)


def test_every_route_has_its_line() -> None:
    text = OVER_HTTP.read_text().replace("/pin`, `/unpin`", "/pin`, `/v1/memories/{id}/unpin`")
    text = text.replace("/approve`, `/reject`", "/approve`, `/v1/memories/{id}/reject`")
    for _, path, _ in ROUTES:
        assert f"{path.replace(':path', '')}`" in text, path


def test_keys_are_made_as_the_page_says(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n(.*?keys create.*?)```", ACCESS.read_text(), re.DOTALL)
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", block],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
        cwd=tmp_path,
    )
    keys = json.loads((tmp_path / "keys.json").read_text())["keys"]
    assert [key["rights"] for key in keys] == [["read", "write"], ["read"], ["read", "admin"]]
    assert len(re.findall(r"^aft_", done.stdout, re.MULTILINE)) == 3
    assert "support agent" in done.stdout
