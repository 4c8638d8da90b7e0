"""The data folder: its collections and the aliases that name them."""

from __future__ import annotations

import shutil
from pathlib import Path
from uuid import uuid4

from afterturn.consumers.dev.store.collection import Collection
from afterturn.consumers.dev.store.errors import Refused, malformed, no_collection, unsupported
from afterturn.consumers.dev.store.fields import Table, needed, rows, table, text
from afterturn.consumers.dev.store.files import FolderLock, read_json, sync_folder, write_json
from afterturn.consumers.dev.store.schema import Schema

_ASIDE = ".aside-"  # a collection being made or removed: never opened, cleared away at the next start
_FORBIDDEN = frozenset('<>:"/\\|?*\0\x1f')


class Catalog:
    """All collections, opened; one process holds the folder."""

    def __init__(self, folder: Path) -> None:
        self._lock = FolderLock(folder)
        self._folder = folder / "collections"
        self._folder.mkdir(exist_ok=True)
        for left in self._folder.glob(f"{_ASIDE}*"):
            shutil.rmtree(left)
        self._aliases_file = folder / "aliases.json"
        self.aliases: dict[str, str] = read_json(self._aliases_file) if self._aliases_file.exists() else {}
        folders = sorted(item for item in self._folder.iterdir() if item.is_dir())
        self.collections = {item.name: Collection.open(item) for item in folders}

    def close(self) -> None:
        """Flush and close every collection, then let go of the folder."""
        for collection in self.collections.values():
            collection.close()
        self._lock.release()

    def flush(self) -> None:
        """Flush what was written since the last time."""
        for collection in self.collections.values():
            collection.flush()

    def find(self, name: str) -> Collection:
        """The collection of this name or alias."""
        found = self.collections.get(self.aliases.get(name, name))
        if found is None:
            raise no_collection(name)
        return found

    def exists(self, name: str) -> bool:
        """Whether a collection has this name or alias."""
        return self.aliases.get(name, name) in self.collections

    def create(self, name: str, schema: Schema) -> None:
        """Make a collection: whole or not at all."""
        if name in self.collections:
            raise Refused(409, f"Wrong input: Collection `{name}` already exists!")
        if name in self.aliases:
            raise Refused(409, f"Wrong input: Can't create collection {name}: an alias has this name")
        if not name or len(name) > 255 or name.startswith(".") or not _FORBIDDEN.isdisjoint(name):
            raise Refused(422, "Validation error in path: [collection name: contains characters that are not allowed]")
        aside = self._aside()
        Collection.create(aside, schema)
        aside.rename(self._folder / name)
        sync_folder(self._folder)
        self.collections[name] = Collection.open(self._folder / name)

    def delete(self, name: str) -> bool:
        """Remove a collection and its aliases; false where there is none."""
        if name not in self.collections:
            return False
        kept = {alias: target for alias, target in self.aliases.items() if target != name}
        if kept != self.aliases:
            self._set_aliases(kept)
        self.collections.pop(name).close()
        aside = self._aside()
        (self._folder / name).rename(aside)
        sync_folder(self._folder)
        shutil.rmtree(aside)
        return True

    def change_aliases(self, body: object) -> None:
        """Apply alias actions, all or none."""
        aliases = dict(self.aliases)
        for action in rows(needed(table(body, ("actions",), "request"), "actions", "request"), "actions"):
            self._change(aliases, action)
        self._set_aliases(aliases)

    def _change(self, aliases: dict[str, str], action: object) -> None:
        if not isinstance(action, dict) or len(action) != 1:
            raise malformed("an alias action is an object with one field, its name")
        match next(iter(action.items())):
            case "create_alias", body:
                alias, target = _names(body, ("alias_name", "collection_name"))
                if target not in self.collections:
                    raise no_collection(target)
                if alias in self.collections:
                    raise Refused(409, f"Wrong input: Collection `{alias}` already exists!")
                aliases[alias] = target
            case "delete_alias", body:
                (alias,) = _names(body, ("alias_name",))
                aliases.pop(alias, None)
            case "rename_alias", body:
                old, new = _names(body, ("old_alias_name", "new_alias_name"))
                if old not in aliases:
                    raise Refused(404, f"Not found: Alias {old} does not exists!")
                if new in self.collections:
                    raise Refused(409, f"Wrong input: Collection `{new}` already exists!")
                aliases[new] = aliases.pop(old)
            case kind, _:
                raise unsupported(f"the alias action {kind}")

    def _set_aliases(self, aliases: dict[str, str]) -> None:
        write_json(self._aliases_file, aliases)
        self.aliases = aliases

    def _aside(self) -> Path:
        return self._folder / f"{_ASIDE}{uuid4().hex}"


def _names(body: object, fields: tuple[str, ...]) -> list[str]:
    source: Table = table(body, fields, "alias action")
    return [text(needed(source, field, "alias action"), field) for field in fields]
