"""Nothing between a record and the process's edge catches a stop: read from the source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[3]
BROAD = {"Stop", "AfterturnError", "Exception", "BaseException"}
# The edges: what ends a process, or answers for it.
EDGES = ("consumers/cli/", "consumers/__main__.py")
# It collects the errors of callbacks to raise them from the next poll: the library would log them away.
PASSES_ON = ("streams/kafka/groups.py",)


def broad_handlers(source: str) -> Iterator[int]:
    """The lines of handlers that would catch a stop and do not end by raising."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ExceptHandler) and _broad(node.type) and not _raises(node.body):
            yield node.lineno
        if isinstance(node, ast.Call) and _name(node.func) == "suppress" and any(map(_broad, node.args)):
            yield node.lineno


def _broad(kind: ast.expr | None) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(map(_broad, kind.elts))
    return kind is None or _name(kind) in BROAD


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _raises(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def sources() -> list[str]:
    found = (path.relative_to(REPOSITORY).as_posix() for room in ("streams", "consumers") for path in modules(room))
    return sorted(path for path in found if not path.startswith(EDGES) and path not in PASSES_ON)


def modules(room: str) -> Iterator[Path]:
    return (REPOSITORY / room).rglob("*.py")


@pytest.mark.parametrize("path", sources())
def test_nothing_catches_a_stop(path: str) -> None:
    lines = list(broad_handlers((REPOSITORY / path).read_text(encoding="utf-8")))
    assert not lines, f"{path}, lines {lines}: name the branch to catch (Retry, DeadLetter, Reopen), or raise again"


@pytest.mark.parametrize(
    "clause",
    [
        "except Exception",
        "except BaseException",
        "except Stop",
        "except errors.Stop",
        "except (ValueError, Stop)",
        "except",
    ],
)
def test_the_reader_finds_them(clause: str) -> None:
    assert list(broad_handlers(f"try:\n    x()\n{clause}:\n    pass\n")) == [3]
    assert list(broad_handlers(f"try:\n    x()\n{clause}:\n    close()\n    raise\n")) == []


def test_the_reader_finds_suppress() -> None:
    assert list(broad_handlers("with contextlib.suppress(Stop):\n    x()\n")) == [1]
    assert list(broad_handlers("with contextlib.suppress(OSError):\n    x()\n")) == []
