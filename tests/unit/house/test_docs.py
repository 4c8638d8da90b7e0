"""What the docs name is there: commands, make targets, settings, files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic_settings import BaseSettings
from typer.main import get_command

from afterturn.consumers.cli.app import app
from afterturn.consumers.recall.access.settings import AccessSettings
from afterturn.consumers.recall.settings import RecallSettings
from afterturn.consumers.recorder.service import RecorderSettings
from afterturn.consumers.settings import ServiceSettings
from afterturn.consumers.store.settings import StoreSettings
from afterturn.consumers.text.openai_client import OpenAISettings
from afterturn.streams.agent import AgentSettings
from afterturn.streams.settings import KafkaSettings

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
SETTINGS: tuple[type[BaseSettings], ...] = (
    KafkaSettings, StoreSettings, ServiceSettings, RecorderSettings, RecallSettings, AccessSettings, OpenAISettings,
    AgentSettings,
)  # fmt: skip
OTHERS = {
    "AFTERTURN_RECALL_URL",
    "AFTERTURN_API_KEY",
    "AFTERTURN_LOG_LEVEL",
    "AFTERTURN_MINILM",
    "AFTERTURN_REQUIRE_REAL_KAFKA",
    "AFTERTURN_FAULTS",
    "AFTERTURN_FAULT_SEED",
}


def blocks(page: Path, language: str) -> Iterator[str]:
    yield from re.findall(rf"```{language}\n(.*?)```", page.read_text(), re.DOTALL)


def commands() -> set[str]:
    names: dict[str, object] = getattr(get_command(app), "commands", {})
    assert names, "the command line has commands"
    return set(names)


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_commands_exist(page: Path) -> None:
    for block in blocks(page, "sh"):
        for name in re.findall(r"(?:^|[\s=])afterturn ([a-z][a-z-]*)", block, re.MULTILINE):
            assert name in commands(), f"{page.name} names afterturn {name}"
    for target in re.findall(r"`make ([a-z]+)", page.read_text()):
        assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE), f"{page.name}: make {target}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_settings_exist(page: Path) -> None:
    known = {
        (s.model_config.get("env_prefix", "") + name).upper() for s in SETTINGS for name in s.model_fields
    } | OTHERS
    for name in re.findall(r"\b(?:AFTERTURN|KAFKA|QDRANT|OPENAI)_[A-Z_]+[A-Z]\b", page.read_text()):
        assert name in known, f"{page.name} names {name}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_and_paths_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), f"{page.name} links to {link}"
    for path in re.findall(r"`((?:tests|consumers|streams|schemas|docs)/[\w./-]+)`", text):
        assert (ROOT / path).exists() or (ROOT / f"{path}.py").exists(), f"{page.name} names {path}"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_compiles(page: Path) -> None:
    for block in blocks(page, "python"):
        compile(block, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
