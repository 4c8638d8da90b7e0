"""The rooms hold: imports point downwards, each client has one importer, modules and functions stay readable."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
ROOMS = ("schemas", "streams", "consumers")
BELOW = {"schemas": {"schemas"}, "streams": {"schemas", "streams"}, "consumers": {"schemas", "streams", "consumers"}}
ONE_IMPORTER = {
    "aiokafka": "streams/kafka/",
    "qdrant_client": "consumers/store/",
    "aiohttp": "consumers/store/",
    "qdrant_edge": ("consumers/dev/store/", "consumers/text/lexical.py"),
    "tokenizers": "consumers/text/",
    "fastembed": "consumers/text/",
    "openai": "consumers/text/",
    "fastapi": "consumers/recall/",
}
MAX_MODULE, MAX_FUNCTION, MAX_PARAMETERS = 300, 40, 8
SOURCES = sorted(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imported(path: Path) -> Iterator[str]:
    """Every module a file imports, wherever in it."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield node.module or ""


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_imports_point_downwards(path: Path) -> None:
    room = relative(path).split("/")[0]
    for name in imported(path):
        parts = name.split(".")
        if parts[0] == "afterturn":
            assert parts[1] in BELOW[room], f"{relative(path)} imports {name}"


@pytest.mark.parametrize(("client", "home"), ONE_IMPORTER.items())
def test_each_client_is_imported_in_one_place(client: str, home: str | tuple[str, ...]) -> None:
    importers = {relative(path) for path in SOURCES if any(n.split(".")[0] == client for n in imported(path))}
    assert importers, f"nothing imports {client} any more"
    assert all(each.startswith(home) for each in importers), importers


def test_the_light_client_imports_nothing_heavy() -> None:
    """An agent's imports bring no Qdrant, FastAPI, numpy or embedder with them."""
    script = (
        "import sys, afterturn.streams, afterturn.schemas.commands, afterturn.consumers.cli.app\n"
        "print([m for m in ('qdrant_client','qdrant_edge','aiohttp','fastapi','uvicorn','numpy','wordllama') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd="/")
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_modules_and_functions_stay_readable(path: Path) -> None:
    text = path.read_text()
    assert sum(1 for line in text.splitlines() if line.strip()) <= MAX_MODULE
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= MAX_FUNCTION, f"{relative(path)}:{node.lineno} {node.name} has {length} lines"
            if node.name == "__init__":
                count = len(node.args.args) + len(node.args.kwonlyargs) - 1
                assert count < MAX_PARAMETERS, f"{relative(path)}:{node.lineno} takes {count} parameters"


@pytest.mark.parametrize("path", SOURCES, ids=relative)
def test_nothing_catches_everything(path: Path) -> None:
    """A stop must reach the process's edge: no handler catches Exception and goes on."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.ExceptHandler):
            names = {n.id for n in ast.walk(node.type) if isinstance(n, ast.Name)} if node.type else {"everything"}
            if names & {"Exception", "BaseException", "everything", "Stop"}:
                last = node.body[-1]
                assert isinstance(last, ast.Raise), f"{relative(path)}:{node.lineno} catches {names}"


def test_every_package_is_listed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    listed = set(project["packages"])
    found = {
        ".".join((name, *path.parent.relative_to(ROOT / folder).parts))
        for name, folder in project["package-dir"].items()
        for path in (ROOT / folder).rglob("__init__.py")
    }
    assert found == listed


def test_type_checkers_see_the_rooms() -> None:
    for room in ROOMS:
        link = ROOT / ".typing" / "afterturn" / room
        assert link.is_symlink()
        assert link.readlink() == Path("../..") / room
        assert (ROOT / room / "py.typed").exists()


def test_no_lock_names_an_index() -> None:
    for lock in (ROOT / "requirements").glob("*.txt"):
        assert "//" not in lock.read_text(), lock
        assert "--hash=sha256:" in lock.read_text(), lock
