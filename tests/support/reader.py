"""Somebody who does what a page says."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from afterturn.consumers.dev.stack import Addresses


class Reader:
    """Somebody who copies a page's examples into a file or a shell, in a folder of their own."""

    def __init__(self, page: Path, stack: Addresses, folder: Path) -> None:
        self._text = page.read_text()
        self._folder = folder
        self._recall, self._kafka = stack.recall.removeprefix("http://"), stack.kafka
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, **stack.environment(), "AFTERTURN_RECALL_URL": stack.recall, "PATH": path}

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
