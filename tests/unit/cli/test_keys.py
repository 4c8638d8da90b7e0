"""``afterturn keys``: a key is shown once, its file never holds it, and what is wrong is named."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import orjson
import pytest
from typer.testing import CliRunner

from afterturn.consumers.cli.app import app
from afterturn.consumers.recall.access.keyring import load
from afterturn.consumers.recall.access.keys import identify
from afterturn.consumers.recall.access.principals import Unauthenticated
from afterturn.schemas.errors import ContractError

NOW = datetime.now(UTC)


def run(path: Path, *arguments: str) -> str:
    done = CliRunner().invoke(app, ["keys", arguments[0], "--file", str(path), *arguments[1:]], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def refused(path: Path, *arguments: str) -> ContractError:
    with pytest.raises(ContractError) as raised:
        run(path, *arguments)
    return raised.value


def test_a_key_is_made_listed_and_revoked(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    scoped = ("--scope", "user=ada", "--right", "read", "--expires", "90d", "--name", "the agent")
    made = orjson.loads(run(path, "create", "--tenant", "acme", *scoped, "--json"))
    key = made["key"]
    plain = run(path, "create", "--all-tenants").strip()
    keys = load(path).by_id()
    assert identify(keys, key, NOW).scope.user == "ada"
    assert identify(keys, plain, NOW).tenants is None
    with pytest.raises(Unauthenticated):
        identify(keys, key, NOW + timedelta(days=91))
    listed = run(path, "list") + run(path, "list", "--json") + path.read_text()
    assert "the agent" in listed
    for secret in (key, plain):
        assert secret.split("_", 2)[2] not in listed
    run(path, "revoke", made["id"])
    with pytest.raises(Unauthenticated):
        identify(load(path).by_id(), key, NOW)
    assert identify(load(path).by_id(), plain, NOW).rights == {"read", "write"}


@pytest.mark.parametrize(
    ("arguments", "place"),
    [
        (("create",), "--tenant"),
        (("create", "--tenant", "a", "--all-tenants"), "--tenant"),
        (("create", "--tenant", ""), "--tenant"),
        (("create", "--tenant", "a", "--right", "boss"), "--right"),
        (("create", "--tenant", "a", "--scope", "user"), "--scope"),
        (("create", "--tenant", "a", "--scope", "team=x"), "--scope"),
        (("create", "--tenant", "a", "--expires", "soon"), "--expires"),
        (("create", "--tenant", "a", "--expires", "2001-01-01"), "--expires"),
        (("create", "--tenant", "a", "--expires", "-7d"), "--expires"),
        (("revoke", "unknown"), "ID"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_written(tmp_path: Path, arguments: tuple[str, ...], place: str) -> None:
    path = tmp_path / "keys.json"
    assert refused(path, *arguments).place == place
    assert not path.exists()


def test_a_file_that_is_none_of_keys_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    path.write_text("{")
    assert refused(path, "create", "--tenant", "a").place == "--file"
    assert path.read_text() == "{"


def test_a_folder_is_no_file_of_keys(tmp_path: Path) -> None:
    for folder in (tmp_path, Path("/")):
        assert refused(folder, "create", "--tenant", "a").place == "--file"
    assert not list(tmp_path.iterdir())


AT_ONCE = """
import sys
from typer.testing import CliRunner
from afterturn.consumers.cli.app import app
print("ready", flush=True)
sys.stdin.readline()
for n in range(8):
    for more in (["--name", f"{sys.argv[2]}-{n}"], ["--name", "short-lived", "--json"]):
        done = CliRunner().invoke(app, ["keys", "create", "--file", sys.argv[1], "--tenant", "a", *more])
        assert done.exit_code == 0, done.output
    made = done.stdout.split('"id":"')[1].split('"')[0]
    done = CliRunner().invoke(app, ["keys", "revoke", "--file", sys.argv[1], made])
    assert done.exit_code == 0, done.output
"""


def test_of_two_at_once_neither_loses_the_others_change(tmp_path: Path) -> None:
    path = tmp_path / "keys.json"
    command = [sys.executable, "-c", AT_ONCE, str(path)]
    pipe = subprocess.PIPE
    both = [subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True) for name in ("one", "other")]
    for each in both:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in both:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in both:
        each.communicate(timeout=120)
    assert [each.returncode for each in both] == [0, 0]
    names = sorted(key.name or "" for key in load(path).keys)
    assert names == sorted(f"{name}-{n}" for name in ("one", "other") for n in range(8))
