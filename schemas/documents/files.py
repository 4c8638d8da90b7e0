"""The documents as files: one way to write them, one way to see whether they are up to date."""

from __future__ import annotations

import json
from pathlib import Path

from afterturn.schemas.documents.asyncapi import asyncapi
from afterturn.schemas.documents.json_schema import json_schemas


def write(folder: Path) -> None:
    """Write every document into the folder, and remove those of types that are gone; what isn't generated stays."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = _texts()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    for stale in _generated(folder) - set(texts):
        (folder / stale).unlink()


def check(folder: Path) -> list[str]:
    """The names of documents that are missing, differ from the models or are of types that are gone; sorted."""
    texts = _texts()
    return sorted(name for name in texts.keys() | _generated(folder) if _read(folder / name) != texts.get(name))


def _texts() -> dict[str, str]:
    documents = {f"{name}.json": schema for name, schema in json_schemas().items()} | {"asyncapi.json": asyncapi()}
    return {name: json.dumps(document, indent=2, ensure_ascii=False) + "\n" for name, document in documents.items()}


def _generated(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*.json")}


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.exists() else None
