"""The recipe's executable form, which lies outside the project; tests that need it are skipped where it is absent."""

import os
import runpy
from pathlib import Path
from typing import Any

import pytest

SHARED = Path(os.environ.get("AFTERTURN_SHARED", Path(__file__).parents[3] / "shared"))
REFERENCE = SHARED / "reference" / "recall_recipe.py"
needs_reference = pytest.mark.skipif(
    not REFERENCE.exists(), reason=f"no reference recipe at {REFERENCE}; AFTERTURN_SHARED names another folder"
)


def reference() -> tuple[dict[str, Any], list[dict[int, float]]]:
    """The reference's functions, and the scores it sorts by, call by call."""
    scores: list[dict[int, float]] = []

    def spy(items: Any, key: Any = None) -> list[int]:
        if key is not None:
            scores.append({item: -key(item) for item in items})
        return sorted(items, key=key)

    functions = runpy.run_path(str(REFERENCE))
    functions["fuse"].__globals__["sorted"] = spy
    return functions, scores
