"""What a service leaves out: libraries that cost more memory than the work, and copies of what is in a file."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from afterturn.consumers.text import wordllama_embedder

HEAVY = ("qdrant_client", "grpc", "wordllama", "requests", "fastembed", "openai", "noida_db")


@pytest.mark.parametrize("service", ["recorder.service", "recall.server"])
def test_a_service_starts_without_what_it_does_not_need(service: str) -> None:
    script = (
        f"import sys, afterturn.consumers.{service}\n"
        "from afterturn.consumers.text.wordllama_embedder import WordLlamaEmbedder; WordLlamaEmbedder()\n"
        f"print([m for m in {HEAVY!r} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "[]"


def test_the_embedders_matrix_stays_in_its_file() -> None:
    rows = wordllama_embedder._load().rows
    assert rows.dtype == np.float16
    assert not rows.flags.owndata
    assert isinstance(rows.base, np.memmap)
