"""`afterturn` as a user runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class CommandLine:
    """`afterturn`, as a user runs it, with the variables that lead to a stack."""

    environment: Mapping[str, str]

    def run(self, *arguments: str, stdin: str = "", timeout: float = 120) -> subprocess.CompletedProcess[str]:
        """Run a command to its end."""
        return subprocess.run(
            self.command(*arguments),
            input=stdin,
            capture_output=True,
            text=True,
            timeout=timeout,
            check=False,
            env=dict(self.environment),
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start a command that goes on."""
        return subprocess.Popen(
            self.command(*arguments),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=dict(self.environment),
        )

    @staticmethod
    def command(*arguments: str) -> list[str]:
        """The command line itself."""
        return [sys.executable, "-m", "afterturn.consumers", *arguments]


def clean_environment() -> dict[str, str]:
    """The environment without what could lead elsewhere; wide output, no colours."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("KAFKA_", "QDRANT_", "AFTERTURN_"))}
    return kept | {"COLUMNS": "160", "NO_COLOR": "1", "TERM": "dumb"}
