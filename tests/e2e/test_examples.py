"""The example agents run as they are, twice: what the first run told, the second knows."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from afterturn.consumers.dev.stack import Addresses

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, stack: Addresses, folder: Path) -> str:
    environment = {**os.environ, **stack.environment(), "AFTERTURN_RECALL_URL": stack.recall, "TMPDIR": str(folder)}
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name)],
        capture_output=True, text=True, check=False, env=environment, cwd=folder, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize(
    ("name", "first", "then"),
    [
        ("chat.py", "Agent: As you said: user: We fly to Oviedo on the 12th.", "As you said: "),
        ("blocking.py", "Agent: user: My bicycle is green.", "My bicycle is green."),
        ("tool.py", "Memories about the garden.", "1. "),
    ],
)
def test_an_example_runs_as_it_stands(stack: Addresses, tmp_path: Path, name: str, first: str, then: str) -> None:
    assert first in run(name, stack, tmp_path)
    assert then in run(name, stack, tmp_path)


def test_every_example_is_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text()
    assert all(f"[{each.name}]({each.name})" in listed for each in EXAMPLES.glob("*.py"))
