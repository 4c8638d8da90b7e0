"""The page on consolidation: its commands are run as they stand."""

from __future__ import annotations

import json
from pathlib import Path

from support.reader import Reader

from afterturn.consumers.dev.stack import Addresses

PAGE = Path(__file__).resolve().parents[2] / "docs" / "consolidate.md"


def test_consolidate(stack: Addresses, tmp_path: Path) -> None:
    reader = Reader(PAGE, stack, tmp_path)
    (block,) = reader.blocks("sh", "consolidate")
    *_, last = reader.shell(block).strip().splitlines()
    assert all(row["published"] == 0 for row in json.loads(last)), "nothing is old enough"
